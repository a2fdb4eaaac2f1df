"""The contacts that a user names, and all of them together at one state."""

from __future__ import annotations

import copy
from collections.abc import Iterable, Mapping
from weakref import WeakKeyDictionary

import numpy as np

from sot.checks import positive
from sot.contact import Contact
from sot.contacts import Contacts
from sot.entry import Tick
from sot.errors import TaskError, unknown
from sot.lie import skew
from sot.model import Model

Touches = Iterable[str | Contact] | Mapping[str, bool] | None
FRICTION = 0.7

# Feet that a model has been asked about by name: their cones take a millisecond each, and do not change.
_named: WeakKeyDictionary[Model, dict[tuple[str, float], Contact]] = WeakKeyDictionary()


def read_contacts(
    model: Model, touches: Touches, friction: float | Mapping[str, float] = FRICTION
) -> dict[str, Contact]:
    """The contacts by their frames, set up.

    Args:
        model: The robot.
        touches: Frames or `Contact`s, or a mapping that says of every foot whether it touches; None is all feet.
        friction: Friction coefficient of limbs that are given by their frames: one, or one for each of them.
    """
    contacts: dict[str, Contact] = {}
    for touch in _listed(model, touches):
        contact = _contact(model, touch, friction)
        if contact.frame in contacts:
            raise TaskError(f"contacts: '{contact.frame}' is there twice")
        contacts[contact.frame] = contact
    if isinstance(friction, Mapping):
        _check_limbs(friction, contacts, "friction")
    return contacts


def _listed(model: Model, touches: Touches) -> list[str | Contact]:
    feet = [foot.frame for foot in model.robot.feet]
    if touches is None:
        return list(feet)
    if isinstance(touches, (str, Contact)):
        return [touches]
    if not isinstance(touches, Mapping):
        return list(touches)
    missing = [foot for foot in feet if foot not in touches]
    if missing:
        raise TaskError(f"contacts: incomplete: nothing is said about {', '.join(map(repr, missing))}")
    for limb, on in touches.items():
        _check_frame(model, limb)
        if not isinstance(on, (bool, np.bool_)):
            raise TaskError(f"contacts: '{limb}': expected True or False, got {on!r}")
    return [limb for limb, on in touches.items() if on]


def _contact(model: Model, touch: str | Contact, friction: float | Mapping[str, float]) -> Contact:
    """A contact that has been set up."""
    if isinstance(touch, Contact):
        _check_frame(model, touch.frame)
        twin = copy.copy(touch)  # the user's own may be at work in a controller
        twin.feature = copy.copy(touch.feature)
        twin.reset()
        twin.setup(model)
        return twin
    if not isinstance(touch, str):
        raise TaskError(f"contacts: expected names of frames or Contact objects, got {touch!r}")
    _check_frame(model, touch)
    given = friction.get(touch, FRICTION) if isinstance(friction, Mapping) else friction
    mu = positive(given, f"friction of '{touch}'")
    known = _named.setdefault(model, {})
    if (touch, mu) not in known:
        contact = Contact(touch, friction=mu)
        contact.setup(model)
        known[touch, mu] = contact
    return known[touch, mu]


def _check_frame(model: Model, frame: object) -> None:
    if frame in model.frames:
        return
    limbs = [*(foot.frame for foot in model.robot.feet), *model.robot.hands]
    others = [name for name in model.frames if name not in limbs]
    raise TaskError(f"contacts: robot '{model.robot.name}': {unknown('frame', frame, [*limbs, *others])}")


def _check_limbs(named: Iterable[str], contacts: Mapping[str, Contact], what: str) -> None:
    for limb in named:
        if limb not in contacts:
            raise TaskError(f"{what}: {unknown('contact', limb, contacts)}")


class Touching:
    """All contacts at the model's state, their forces stacked in y.

    Forces that neither the motion nor a cone decides are those of the smallest Σ kₗ/sₗ ‖fᵢ‖² over the forces fᵢ at all
    points, with kₗ points and the share sₗ of limb l: as if each limb stood on springs that are together as stiff as
    its share. In coordinates z, y = scale · z, that sum is ‖z‖².

    Attributes:
        J: What the contacts hold still, J v = 0, shape (r, nv).
        drift: J̇ v, shape (r,).
        F: Their generalised force is Fᵀ y, shape (r, nv); the same as J, but for friction where one slides.
        scale: From z to y, shape (r, r).
    """

    def __init__(
        self, model: Model, contacts: dict[str, Contact], load_share: Mapping[str, float] | None = None
    ) -> None:
        shares = {} if load_share is None else load_share
        _check_limbs(shares, contacts, "load_share")
        self.model, self.limbs, self.stacked = model, contacts, Contacts()
        for contact in contacts.values():
            self.stacked.add(contact)
        size, nv = self.stacked.size, model.nv
        self.J, self.F, self.drift, self.scale = (np.zeros(s) for s in ((size, nv), (size, nv), size, (size, size)))
        self._from_points: dict[str, np.ndarray] = {}
        for limb, contact in contacts.items():
            place, share = self.place(limb), positive(shares.get(limb, 1.0), f"load_share of '{limb}'")
            C = self._from_points[limb] = _from_points(model, contact)
            k = C.shape[1] // 3  # k Σ‖fᵢ‖² of the best forces that make y is ‖R⁻¹ y‖² with R Rᵀ = C Cᵀ/k
            self.scale[place, place] = np.sqrt(share) * np.linalg.cholesky(C @ C.T / k)
            self._fill(place, contact)

    def _fill(self, place: slice, contact: Contact) -> None:
        contact.begin(self.model, Tick(0.0, 1e-3, self.model.v))  # one that slides looks where it slides to
        self.J[place], self.F[place] = contact.jacobian(self.model), contact.force_jacobian(self.model)
        self.drift[place] = contact.drift(self.model)

    def place(self, limb: str) -> slice:
        """Where a limb's forces stand in y."""
        return self.stacked.place(self.limbs[limb])

    def at_points(self, limb: str, rates: np.ndarray) -> np.ndarray:
        """What J v or J v̇ + J̇v of a limb means at its points: the part that should be zero, m/s or m/s², (k, 3)."""
        return (self._from_points[limb].T @ rates).reshape(-1, 3)

    def points(self) -> np.ndarray:
        """All points that touch, in the world, m, shape (n, 3)."""
        return np.vstack([np.zeros((0, 3)), *(c.touching_points(self.model) for c in self.limbs.values())])

    def wrenches(self, y: np.ndarray) -> dict[str, np.ndarray]:
        """Force and torque of each limb on the robot, in the world's axes about the frame's origin, each (6,)."""
        found = {}
        for limb, contact in self.limbs.items():
            origin = self.model.placement(self.model.frame(limb)).translation
            found[limb] = contact.wrenches_in_world(self.model, origin) @ y[self.place(limb)]
        return found

    def wrench(self, y: np.ndarray, about: np.ndarray) -> np.ndarray:
        """Sum of all wrenches on the robot about a point, in the world, shape (6,)."""
        return self.stacked.wrench_map(self.model, about) @ y


def _from_points(model: Model, contact: Contact) -> np.ndarray:
    """C with y = C (f₁, f₂, …) of forces at the points that touch, shape (r, 3k).

    What they do to the points is dual to that: Cᵀ J v are the velocities of the points.
    """
    points = contact.touching_points(model)
    middle = points.mean(axis=0)
    G = contact.wrenches_in_world(model, middle)  # wrench = G y
    each = np.vstack([np.tile(np.eye(3), len(points)), np.hstack([skew(arm) for arm in points - middle])])
    return np.linalg.pinv(G) @ each
