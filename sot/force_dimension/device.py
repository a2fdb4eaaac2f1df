"""One open device: safe from the first call to the last, whoever ends the program."""

from __future__ import annotations

import atexit
import contextlib
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from sot.errors import RobotError
from sot.force_dimension.library import SATURATED, TIME_GUARD, Library

_TAKEN: set[int] = set()  # IDs of devices that this process has open: one writer each


class Device:
    """An open device. Forces stay off until the first one is sent.

    Attributes:
        name: What the vendor calls it.
        codes: How often a function said "too soon" (`time_guard`) or "motor saturated" (`saturated`).
        fault: Why it was closed, if it was not by `close`.
    """

    def __init__(self, library: str | Path | None, number: int | None, max_force: float, watchdog: float) -> None:
        """
        Args:
            library: Path of the vendor's library; by default it is looked for.
            number: Which device; by default the first.
            max_force: Largest force that the vendor's library lets through, N.
            watchdog: Time without a force after which the device goes limp, s; 0: never.
        """
        self._library = Library(library)
        if (0 if number is None else number) in _TAKEN:
            raise RobotError(f"Force Dimension: device {number or 0} is open in this process already; close it first")
        self.codes: Counter[str] = Counter()
        self.fault: RobotError | None = None
        self._id = self._library.open(number)
        self._taken = self._id if number is None else number
        self._open, self._live = True, False
        _TAKEN.add(self._taken)
        atexit.register(self.close)
        try:
            self._prepare(max_force, watchdog)
        except BaseException:
            self.close()
            raise

    def _prepare(self, max_force: float, watchdog: float) -> None:
        self.name = self._library.system_name(self._id)
        self._library.call("dhdEnableForce", 0, self._id)
        self._library.call("dhdSetMaxForce", max_force, self._id)
        self._library.set_watchdog(watchdog, self._id)

    @property
    def is_open(self) -> bool:
        """Whether it can be read and written."""
        return self._open

    @property
    def buttons(self) -> int:
        """Mask of the buttons that are pressed."""
        self._check()
        return self._library.buttons(self._id)

    def measure(self, function: str) -> np.ndarray:
        """Three numbers from the device; if it does not answer it is stopped and closed."""
        self._check()
        with self._closing_on_failure():
            code, values = self._library.vector(function, self._id)
            self._count(code)
            if not np.isfinite(values).all():
                raise RobotError(f"Force Dimension: {function} gave {values}, which is not finite")
        return np.array(values)

    def push(self, force: np.ndarray, wake: bool) -> None:
        """Send a force, N, shape (3,).

        Args:
            force: The force.
            wake: Turn forces on before: they are off at the start, and after the watchdog came.
        """
        self._check()
        with self._closing_on_failure():
            if wake:
                self._live = True  # before the call: if it fails half-way, closing turns them off again
                self._library.call("dhdEnableForce", 1, self._id)
            self._count(self._library.call("dhdSetForce", *force.tolist(), self._id))

    def close(self) -> None:
        """Force zero, motors off, device closed; each is tried, whatever the others do. May be called twice."""
        if not self._open:
            return
        self._open = False
        last = [("dhdSetForce", 0.0, 0.0, 0.0)] if self._live else []
        for name, *arguments in [*last, ("dhdEnableForce", 0), ("dhdStop",), ("dhdClose",)]:
            with contextlib.suppress(RobotError):  # a device that is gone can refuse all of it
                self._library.call(str(name), *arguments, self._id)
        _TAKEN.discard(self._taken)
        atexit.unregister(self.close)

    def _count(self, code: int) -> None:
        name = {TIME_GUARD: "time_guard", SATURATED: "saturated"}.get(code)
        if name is not None:
            self.codes[name] += 1

    def _check(self) -> None:
        if not self._open:
            cause = "" if self.fault is None else f" since: {self.fault}"
            raise RobotError(f"Force Dimension: the device is closed{cause}") from self.fault

    @contextlib.contextmanager
    def _closing_on_failure(self) -> Iterator[None]:
        try:
            yield
        except RobotError as error:
            self.fault = RobotError(f"{error}; the device was stopped and closed")
            self.close()
            raise self.fault from error
        except BaseException:
            self.close()
            raise
