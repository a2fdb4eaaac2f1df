"""Contacts that roll."""

from __future__ import annotations

from sot.rolling_contact import RollingContact

__all__ = ["RollingContact"]
