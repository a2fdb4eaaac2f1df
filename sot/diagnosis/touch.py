"""Contacts in words: what forces outside a friction cone would mean."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from scipy.spatial import ConvexHull

MORE = 1.0 + 1e-3  # times a limit: from here on it counts as exceeded
OUTSIDE = 1e-4  # m outside the points, from which on it is said


@dataclass(frozen=True)
class Touch:
    """What a report has to know of a contact.

    Attributes:
        contact: Its name.
        start: Where its forces y begin in x.
        stop: Where they end.
        unit: N per unit of them.
        points: Where it touches, in the axes in which its wrench is written, m.
        normal: Normal of the surface towards the robot.
        push: From y to its wrench, shape (6, r).
        cone: C, with C y ≤ 0 inside the friction cone, shape (k, r).
        edges: Edges of the pyramid inside each point's friction cone; 0 where friction holds nothing, as it slides.
        friction: μ.
        min_force: Smallest normal force, N.
        max_force: Largest normal force, N.
    """

    contact: str
    start: int
    stop: int
    unit: float
    points: tuple[tuple[float, ...], ...]
    normal: tuple[float, ...]
    push: tuple[tuple[float, ...], ...]
    cone: tuple[tuple[float, ...], ...]
    edges: int
    friction: float
    min_force: float
    max_force: float

    def words(self, x: np.ndarray) -> list[str]:
        """What the contact would have to do for its forces in x and cannot; empty if it can do all of it."""
        return [f"{self.contact} {said}" for said in self._said(self.unit * x[self.start : self.stop])]

    def _said(self, y: np.ndarray) -> Iterator[str]:
        force, torque = np.split(np.array(self.push) @ y, [3])
        push, least = float(force @ self.normal), 1e-6 * self.unit
        sideways = self._sideways(force)
        if push < -least:
            yield f"would have to pull {-push:.3g} N"
        elif push < self.min_force / MORE - least:
            yield f"would push with only {max(push, 0.0):.3g} N, and has to push with {self.min_force:.3g} N"
        elif push > self.max_force * MORE:
            yield f"would have to push {push:.3g} N, may push {self.max_force:.3g} N"
        if push <= least:
            if push > -least and sideways > least:
                yield f"would have to hold {sideways:.3g} N sideways with nothing that presses on it"
            return
        slides = sideways / push > self.friction * MORE
        outside = self._outside(force, torque)
        if slides:
            yield f"would slide: needs friction {sideways / push:.3g}, has {self.friction:.3g}"
        if outside > OUTSIDE:
            yield f"would tip: its centre of pressure would be {100.0 * outside:.2g} cm outside"
        if self.edges and not slides and outside <= OUTSIDE and y.size > 3:
            yield from self._turning(y)

    def _sideways(self, force: np.ndarray) -> float:
        """Tangential force as the pyramid measures it: push · μ is the most that it holds in this direction."""
        if not self.edges:
            return 0.0
        angles = 2.0 * np.pi * np.arange(self.edges) / self.edges
        x, y = np.array(self.push)[:3, :2].T @ force  # the first two unknowns are forces along the surface
        return float((x * np.cos(angles) + y * np.sin(angles)).max() / np.cos(np.pi / self.edges))

    def _outside(self, force: np.ndarray, torque: np.ndarray) -> float:
        """How far the centre of pressure, c + n × τ_c / (n · f), is from what lies between the points, m."""
        points, normal = np.array(self.points), np.array(self.normal)
        centre = points.mean(axis=0)
        arm = np.cross(normal, torque - np.cross(centre, force)) / (normal @ force)
        along = np.linalg.svd(normal[None])[2][1:].T  # two axes of the surface
        return _distance((centre + arm) @ along, points @ along)

    def _turning(self, y: np.ndarray) -> Iterator[str]:
        """The torque about the normal against what friction holds with the same forces otherwise."""
        about_normal = np.linalg.lstsq(np.array(self.push), np.array([0.0, 0.0, 0.0, *self.normal]), rcond=None)[0]
        torque, cone = float(about_normal @ y), np.array(self.cone)
        slope, rest = cone @ about_normal, cone @ (y - torque * about_normal)
        limits = (slope * np.sign(torque)) > 1e-9
        holds = max(float(np.min(-rest[limits] / np.abs(slope[limits]), initial=np.inf)), 0.0)
        if abs(torque) > holds * MORE + 1e-6 * self.unit:
            yield f"would turn on the spot: needs {abs(torque):.3g} N·m about its normal, has {holds:.3g} N·m"


def _distance(point: np.ndarray, corners: np.ndarray) -> float:
    """Distance of a point from the convex hull of others in the plane, m; 0 inside."""
    flat = np.linalg.matrix_rank(corners - corners[0], tol=1e-6) < 2
    if not flat and (ConvexHull(corners).equations @ [*point, 1.0] <= 0.0).all():
        return 0.0
    pairs = list(combinations(corners, 2)) or [(corners[0], corners[0])]
    return float(min(_to_segment(point, a, b) for a, b in pairs))  # the hull's edges are among the pairs, and nearest


def _to_segment(point: np.ndarray, a: np.ndarray, b: np.ndarray) -> float:
    along = b - a
    share = np.clip((point - a) @ along / max(along @ along, 1e-18), 0.0, 1.0)
    return float(np.linalg.norm(point - a - share * along))
