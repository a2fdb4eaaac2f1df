"""The error tree: every error a user meets says what is wrong, where, and what is available."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from typing import Any


class SotError(Exception):
    """Base of all errors raised by this package."""


class SotWarning(UserWarning):
    """Something goes on that may not be meant."""


class Uncounted(SotWarning):
    """A force that the bound of a device does not know. No summary tells of it."""


class ConfigError(SotError):
    """A file, an option or an argument is not what it should be."""


class ModelError(SotError):
    """A robot description, frame or joint is wrong or unknown."""


class TaskError(SotError):
    """A task or constraint was given something it cannot work with."""


class SolveError(SotError):
    """A solver or back end cannot be used (never raised for an infeasible tick)."""


class RobotError(SotError):
    """A robot could not be read or written, or its state is not usable.

    Attributes:
        states: The last states of a simulated robot that diverged, oldest first.
    """

    states: tuple[Any, ...] = ()


def unknown(kind: str, name: object, choices: Iterable[str], shown: int = 30) -> str:
    """Sentence for a name that does not exist: what was asked, the closest, and what there is."""
    names = list(choices)
    close = difflib.get_close_matches(str(name), names, n=3, cutoff=0.6)
    hint = f"; did you mean {' or '.join(map(repr, close))}?" if close else ""
    rest = f", … ({len(names)} in all)" if len(names) > shown else ""
    listing = ", ".join(names[:shown]) or "none"
    return f"unknown {kind} {name!r}{hint} Available: {listing}{rest}" if hint else (
        f"unknown {kind} {name!r}. Available: {listing}{rest}"
    )


def missing(package: str, purpose: str, install: str) -> str:
    """Sentence for an optional package that is not installed."""
    return f"{purpose} needs the package '{package}', which is not installed. Install it with: pip install {install}"
