"""Contacts: frames that stand on something."""

from __future__ import annotations

from sot.contact import Contact

__all__ = ["Contact"]
