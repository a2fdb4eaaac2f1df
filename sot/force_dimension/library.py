"""The functions of the vendor's library that are used, with their C types; failures become RobotErrors."""

from __future__ import annotations

import ctypes
from ctypes import POINTER, byref, c_char_p, c_double, c_int, c_ubyte, c_uint
from pathlib import Path
from typing import Any

from sot.errors import RobotError
from sot.force_dimension.lookup import load_library

TIME_GUARD = 1  # asked again too soon: the answer is the one before
SATURATED = 2  # a motor gives all it has, which is less than what was asked
TICK = 125e-6  # s, unit of the watchdog
MOST_TICKS = 255  # it is one byte

_ID = ctypes.c_byte  # `char`, −1 for the device that was opened last: signed, whatever the compiler thinks of char
_NUMBERS = (POINTER(c_double),) * 3

# name → (what it returns, what it takes)
FUNCTIONS: dict[str, tuple[Any, tuple[Any, ...]]] = {
    "dhdOpen": (c_int, ()),
    "dhdOpenID": (c_int, (_ID,)),
    "dhdClose": (c_int, (_ID,)),
    "dhdStop": (c_int, (_ID,)),
    "dhdGetSystemName": (c_char_p, (_ID,)),
    "dhdEnableForce": (c_int, (c_ubyte, _ID)),
    "dhdGetPosition": (c_int, (*_NUMBERS, _ID)),
    "dhdGetLinearVelocity": (c_int, (*_NUMBERS, _ID)),
    "dhdSetForce": (c_int, (c_double, c_double, c_double, _ID)),
    "dhdSetMaxForce": (c_int, (c_double, _ID)),
    "dhdGetButtonMask": (c_uint, (_ID,)),
    "dhdEnableExpertMode": (c_int, ()),
    "dhdDisableExpertMode": (c_int, ()),
    "dhdSetWatchdog": (c_int, (c_ubyte, _ID)),
    "dhdErrorGetLastStr": (c_char_p, ()),
}


class Library:
    """The vendor's functions, by their C names without `dhd`, for whichever device an ID names.

    Every method raises a RobotError with the function and the library's own words if the library says −1.
    """

    def __init__(self, path: str | Path | None = None) -> None:
        """
        Args:
            path: The library; by default it is looked for.
        """
        self._c = load_library(path)
        missing = [name for name in FUNCTIONS if not hasattr(self._c, name)]
        if missing:
            raise RobotError(
                f"the Force Dimension library {self._c._name} has no function {', '.join(missing)}: it is another "
                f"library, or too old (SDK 3.7 has no dhdSetMaxForce yet); install the vendor's current SDK"
            )
        for name, (result, arguments) in FUNCTIONS.items():
            function = getattr(self._c, name)
            function.restype, function.argtypes = result, arguments

    def call(self, name: str, *arguments: Any) -> int:
        """Call a function that returns a code; −1 and less is an error, anything else comes back."""
        code = int(getattr(self._c, name)(*arguments))
        if code < 0:
            raise RobotError(f"Force Dimension: {name} failed: {self.last_error()}")
        return code

    def last_error(self) -> str:
        """What the library says about its last error in this thread."""
        text = self._c.dhdErrorGetLastStr()
        return text.decode(errors="replace") if text else "the library gives no reason"

    def vector(self, name: str, device: int) -> tuple[int, list[float]]:
        """A function that fills in x, y and z: its code and the three numbers."""
        x, y, z = c_double(), c_double(), c_double()
        code = self.call(name, byref(x), byref(y), byref(z), device)
        return code, [x.value, y.value, z.value]

    def open(self, device: int | None) -> int:
        """Open a device by its number, or the first one there is; the ID by which it is known from then on."""
        return self.call("dhdOpen") if device is None else self.call("dhdOpenID", device)

    def system_name(self, device: int) -> str:
        """What kind of device it is."""
        text = self._c.dhdGetSystemName(device)
        return text.decode(errors="replace") if text else "unknown device"

    def buttons(self, device: int) -> int:
        """Mask of the buttons that are pressed. It has no error code."""
        return int(self._c.dhdGetButtonMask(device))

    def set_watchdog(self, seconds: float, device: int) -> None:
        """Time without a force after which the device goes limp by itself, rounded down to 125 µs; 0: never.

        The vendor lists it among the functions for experts, so that mode is on while it is called.
        """
        ticks = int(seconds / TICK + 1e-6)
        self.call("dhdEnableExpertMode")
        try:
            self.call("dhdSetWatchdog", ticks, device)
        finally:
            self.call("dhdDisableExpertMode")
