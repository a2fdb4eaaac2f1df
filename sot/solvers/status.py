"""Words that solvers, kernels and reports share."""

from __future__ import annotations

FREE, LOWER, UPPER, EQUAL = 0, -1, 1, 2  # status of a row or a column in the working set
OPTIMAL, CAPPED, NOT_FINITE = 0, 1, 2  # how a solve ended
OUTCOMES = {OPTIMAL: "optimal", CAPPED: "iteration cap or time budget reached", NOT_FINITE: "not finite"}
