"""Closed loops: frames that are joined."""

from __future__ import annotations

from sot.closed_loop import ClosedLoop

__all__ = ["ClosedLoop"]
