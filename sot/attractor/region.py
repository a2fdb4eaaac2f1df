"""What a region of attraction is: at every point its nearest point, and which directions are held there."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import fields
from typing import Any, ClassVar, NamedTuple

import numpy as np

from sot.checks import positive, vector
from sot.errors import SotError, SotWarning, unknown
from sot.sketch import Colour, Drawing
from sot.typed_yaml import arguments
from sot.typed_yaml.node import Node

BAND = 1e-3  # m outside of a surface over which damping fades in
GLASS: Colour = (0.25, 0.55, 0.90, 0.25)  # of regions in the viewer
PATCH = 0.3  # m, half of the part of a plane or line that is drawn

KINDS: dict[str, type[Region]] = {}


class NearRank(SotWarning):
    """A basis is all but dependent: a little more, and the region would be of another kind."""


class Hold(NamedTuple):
    """A region, seen from a point p.

    Along axis i the region reaches from p + lower[i] to p + upper[i]: both are the same where the axis is held, both
    infinite where it is free, and one of them where there is only one side.

    Attributes:
        point: p_a, m, shape (3,).
        held: I − P, what is damped of a velocity, shape (3, 3). It is continuous wherever p_a is.
        axes: Orthonormal directions, one a row, shape (3, 3).
        lower: m, shape (3,).
        upper: m, shape (3,).
    """

    point: np.ndarray
    held: np.ndarray
    axes: np.ndarray
    lower: np.ndarray
    upper: np.ndarray

    @property
    def free(self) -> np.ndarray:
        """True for axes along which nothing is asked for."""
        return np.isinf(self.lower) & np.isinf(self.upper)

    @property
    def held_axes(self) -> np.ndarray:
        """True for axes that are held from both sides."""
        return self.lower == self.upper

    @property
    def left(self) -> np.ndarray:
        """True for axes along which p is not in the region, or held."""
        return self.held_axes | (self.lower > 0.0) | (self.upper < 0.0)

    def beside(self, other: Hold) -> Hold:
        """Both at once, for six coordinates: these three and then those of the other."""
        return Hold(
            np.concatenate([self.point, other.point]),
            both(self.held, other.held),
            both(self.axes, other.axes),
            np.concatenate([self.lower, other.lower]),
            np.concatenate([self.upper, other.upper]),
        )


class Region(ABC):
    """A set of points that attracts.

    Attributes:
        stiffness: K that the region itself says, N/m, shape (3, 3); None: any.
        one_sided: It has an inside without force; the force pushes back into it and never away from it.
    """

    kind: ClassVar[str]
    stiffness: ClassVar[np.ndarray | None] = None
    one_sided: ClassVar[bool] = False

    _axes: np.ndarray  # what regions work out once, as far as they need it
    _center: np.ndarray
    _point: np.ndarray
    _normal: np.ndarray
    _half: np.ndarray

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        if "kind" in vars(cls):
            KINDS[cls.kind] = cls

    @abstractmethod
    def at(self, p: np.ndarray) -> Hold:
        """Seen from p, m, shape (3,)."""

    @abstractmethod
    def sketch(self) -> list[Drawing]:
        """What a viewer draws."""

    def nearest(self, points: np.ndarray) -> np.ndarray:
        """p_a of many points, m, shape (n, 3)."""
        return np.array([self.at(p).point for p in points])

    def held(self, points: np.ndarray) -> np.ndarray:
        """I − P at many points, shape (n, 3, 3), or (1, 3, 3) if it is the same at all."""
        return np.array([self.at(p).held for p in points])

    def spans(self) -> np.ndarray:
        """Directions that are held anywhere, orthonormal rows, shape (k, 3)."""
        return np.eye(3)

    def keeps(self, A: np.ndarray) -> bool:
        """Whether A (p_a − p), with a symmetric A, gives out no energy on a closed way: it pulls along p_a − p."""
        S = self.spans()
        across = S @ A @ S.T
        return alike(A @ S.T, S.T @ across) and alike(across, across[0, 0] * np.eye(len(S)))

    @classmethod
    def from_node(cls, node: Node) -> Region:
        """From `kind: {arguments}` in a file."""
        entries = node.mapping(f"a region such as {{plane: {{...}}}}: one of {', '.join(KINDS)}")
        if len(entries) != 1:
            got = ", ".join(entries) or "none"
            raise node.error(f"a region has one key, one of {', '.join(KINDS)}; got {got}")
        ((word, body),) = entries.items()
        if word not in KINDS:
            raise body.error(unknown("region", word, KINDS))
        given = arguments(body, KINDS[word])
        try:
            return KINDS[word](**given)
        except SotError as error:
            raise body.error(str(error)) from None

    @classmethod
    def variants(cls) -> dict[str, type[Region]]:
        """Words of files and what they stand for."""
        return KINDS

    def plain(self) -> dict[str, Any]:
        """As a file has it."""
        values = {f.name: getattr(self, f.name) for f in fields(self) if f.init}  # type: ignore[arg-type]  # a dataclass
        return {self.kind: {k: list(v) if isinstance(v, tuple) else v for k, v in values.items() if v is not None}}

    def _vector(self, name: str) -> np.ndarray:
        """An argument as three numbers; kept as a tuple, so that nobody changes it."""
        given = vector(getattr(self, name), 3, f"{self.kind}: {name}", repeat=False)
        object.__setattr__(self, name, tuple(given.tolist()))
        return given

    def _positive(self, name: str) -> float:
        value = positive(getattr(self, name), f"{self.kind}: {name}")
        object.__setattr__(self, name, value)
        return value

    def _direction(self, name: str) -> np.ndarray:
        given = self._vector(name)
        norm = float(np.linalg.norm(given))
        if not (norm > 1e-9):
            raise SotError(f"{self.kind}: {name}: expected a direction that is not zero, got {given.tolist()}")
        return given / norm


def both(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """Two 3×3 matrices on the diagonal of one, shape (6, 6)."""
    A = np.zeros((6, 6))
    A[:3, :3], A[3:, 3:] = first, second
    return A


def faded(depth: float) -> float:
    """Part of the damping at a depth outside of a surface: from 0 at the surface to 1 at 1 mm, smoothly."""
    x = min(max(depth / BAND, 0.0), 1.0)
    return x * x * (3.0 - 2.0 * x)


def alike(A: np.ndarray, B: np.ndarray) -> bool:
    """Whether two matrices are the same but for rounding."""
    return bool(np.abs(A - B).max(initial=0.0) <= 1e-9 * np.abs(A).max(initial=1e-300))


def around(n: np.ndarray) -> np.ndarray:
    """An orthonormal basis whose first row is n, of length 1; shape (3, 3).

    The reflection that takes x to ∓n, I − w wᵀ/(1 + |n_x|) with w = n ± x: two of its rows are across n.
    """
    x, y, z = n.tolist()
    sign = -1.0 if x < 0.0 else 1.0
    share = 1.0 / (1.0 + abs(x))
    second = (-y, sign * (1.0 - share * y * y), -sign * share * y * z)  # with this sign it is right-handed
    return np.array([(x, y, z), second, (-sign * z, -share * y * z, 1.0 - share * z * z)])


def posed(axes: np.ndarray, at: np.ndarray) -> np.ndarray:
    """Pose whose axes are the rows of a basis, shape (4, 4)."""
    T = np.eye(4)
    T[:3, :3], T[:3, 3] = axes.T, at
    return T
