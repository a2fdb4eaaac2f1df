"""The readable form of `sot.kernels.distance` and `sot.kernels.collision`: the same numbers in plain numpy, slowly.

It is the reference in tests, and what runs where compiled code is not wanted.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from sot.kernels.corners import ASIDE, LITTLE, SHORT
from sot.viability import approach

TOLERANCE, CAP = 1e-11, 100


@dataclass(frozen=True)
class Nearest:
    """The smooth distance of two sets of points along the direction that makes it largest.

    Attributes:
        gap: Distance, m.
        normal: Unit vector from the first to the second, shape (3,).
        x: Mean of the first points that are nearest, shape (3,).
        y: Mean of the second points that are nearest, shape (3,).
        spread: Sum of the covariances of both by the same weights, m², shape (3, 3).
    """

    gap: float
    normal: np.ndarray
    x: np.ndarray
    y: np.ndarray
    spread: np.ndarray

    @property
    def across(self) -> np.ndarray:
        """Part of y − x across the normal: 0 at the maximum."""
        w = self.y - self.x
        return w - (w @ self.normal) * self.normal


def support(points: np.ndarray, n: np.ndarray, tau: float) -> tuple[float, np.ndarray, np.ndarray]:
    """τ log Σ exp(n·x/τ), and mean and covariance of the points weighted by exp(n·x/τ)."""
    heights = points @ n
    weights = np.exp((heights - heights.max()) / tau)
    total = weights.sum()
    weights /= total
    mean = weights @ points
    away = points - mean
    return heights.max() + tau * np.log(total), mean, (away.T * weights) @ away


def along(first: np.ndarray, second: np.ndarray, n: np.ndarray, tau: float) -> Nearest:
    """Gap of two sets of points along a direction."""
    (a, x, C_a), (b, y, C_b) = support(first, n, tau), support(second, -n, tau)
    return Nearest(-a - b, n, x, y, C_a + C_b)


def between(first: np.ndarray, second: np.ndarray, tau: float, start: np.ndarray | None = None) -> Nearest:
    """The largest gap of two sets of points.

    Args:
        first: Shape (k, 3), m.
        second: Shape (l, 3), m.
        tau: Smoothing, m.
        start: Direction to start from; by default several are tried.
    """
    if start is not None:
        return climb(along(first, second, start, tau), first, second, tau)
    towards = second.mean(axis=0) - first.mean(axis=0)
    norm = np.linalg.norm(towards)
    best = _cool(towards / norm if norm > 1e-9 else np.array([0.0, 0.0, 1.0]), first, second, tau)
    if best.gap > 0.0:
        return best
    others = [_cool(n, first, second, tau) for n in (*np.eye(3), *-np.eye(3))]
    return max([best, *others], key=lambda found: found.gap)


def _cool(n: np.ndarray, first: np.ndarray, second: np.ndarray, tau: float) -> Nearest:
    """With a τ as large as the points are far apart there are no corners to get caught on."""
    level = max(float(np.ptp(np.vstack([first, second]), axis=0).max()), tau)
    while level > tau:
        n = climb(along(first, second, n, level), first, second, level, cap=10).normal
        level *= 0.3
    return climb(along(first, second, n, tau), first, second, tau)


def climb(now: Nearest, first: np.ndarray, second: np.ndarray, tau: float, cap: int = CAP) -> Nearest:
    """Newton on the sphere: (P C P / τ + (n·w) P) δ = P w with w = y − x, n ← (n + δ)/‖n + δ‖, steps halved."""
    for _ in range(cap):
        uphill, n = now.across, now.normal
        if np.linalg.norm(uphill) <= TOLERANCE:
            break
        P = np.eye(3) - np.outer(n, n)
        values, vectors = np.linalg.eigh(P @ now.spread @ P / tau + (n @ (now.y - now.x)) * P)
        values = np.maximum(values, 0.1 * abs(n @ (now.y - now.x)) + 1e-9)  # overlapping points: still uphill
        step = P @ (vectors @ ((vectors.T @ uphill) / values))
        step /= max(1.0, float(np.linalg.norm(step)))
        better = _line(now, step, first, second, tau)
        if better is None:
            break
        now = better
    return now


def _line(now: Nearest, step: np.ndarray, first: np.ndarray, second: np.ndarray, tau: float) -> Nearest | None:
    slope = now.across @ step
    for k in range(40):
        n = now.normal + 0.5**k * step
        found = along(first, second, n / np.linalg.norm(n), tau)
        if found.gap >= now.gap + 1e-4 * 0.5**k * slope - 1e-14:
            return found
    return None


def to_plane(points: np.ndarray, origin: np.ndarray, up: np.ndarray, tau: float) -> Nearest:
    """Gap of points above a plane; y is the foot of x on the plane."""
    height, x, C = support(points, -up, tau)
    return Nearest(-up @ origin - height, -up, x, x + (up @ (origin - x)) * up, C)


def exact(found: Nearest, first: np.ndarray, second: np.ndarray) -> Nearest:
    """The same direction with the gap of the points themselves: never more than their distance."""
    return replace(found, gap=float((second @ found.normal).min() - (first @ found.normal).max()))


def corners(
    found: Nearest, first: np.ndarray, second: np.ndarray, axis: np.ndarray, wide: float
) -> tuple[np.ndarray, np.ndarray]:
    """Corners of the face on which two bodies come to lie on each other.

    With covariances of all points that are not much farther away than the nearest (by about `wide`), in the plane
    across n, F = 2 C_A (C_A + C_B)⁻¹ C_B is large where both extend; against a plane F = C_A. Columns of √F are half
    the sides of the face. Heights above it go with the place across n by a slope, from the same covariances.

    Args:
        found: Where the two are nearest.
        first: Points of the first, shape (k, 3), m.
        second: Points of the second, shape (l, 3), m; none for a plane.
        axis: Unit vector across n by which the sides are told apart.
        wide: m.

    Returns:
        Where each corner is from x and y, and the gap there, infinite if there is none, m, shape (4, 4); and the axis
        for the next tick.
    """
    n = found.normal
    basis = np.array([axis, np.cross(n, axis)])
    F, slope = _face(first, n, basis, wide)
    if len(second):
        C_b, slope_b = _face(second, -n, basis, wide)
        slope = slope + slope_b  # heights of the second are counted along −n
        F, C_b = F + ASIDE**2 * np.eye(2), C_b + ASIDE**2 * np.eye(2)
        F = 2.0 * F @ np.linalg.solve(F + C_b, C_b)
        F = 0.5 * (F + F.T)
    e = _steered(F)
    a, b = _sides(F, e)
    spare = max(n @ (found.y - found.x) - found.gap, 0.0)
    ends = [[sign * _part(side, -slope @ (sign * side), spare) * side for sign in (1, -1)] for side in (a, b)]
    places: list[np.ndarray] = []
    for p in (ends[0][0] + ends[1][0], ends[0][1] + ends[1][0], ends[0][0] + ends[1][1], ends[0][1] + ends[1][1]):
        place = np.array([*(p @ basis), found.gap + max(-slope @ p, 0.0)])
        if any(np.array_equal(place[:3], other[:3]) for other in places):
            place[3] = np.inf  # there is one already
        places.append(place)
    return np.array(places), e @ basis


def _face(points: np.ndarray, n: np.ndarray, basis: np.ndarray, wide: float) -> tuple[np.ndarray, np.ndarray]:
    """Covariance across n of the points that are far along n, and how their heights go with their place."""
    C = support(points, n, wide)[2]
    across = basis @ C @ basis.T
    little = (LITTLE * np.trace(across) + 1e-18) * np.eye(2)
    return across, np.linalg.solve(across + little, basis @ C @ n)


def _steered(F: np.ndarray) -> np.ndarray:
    """First column of F¹⁶, of length 1: along the longer side of the face, unless both are alike; then as before."""
    if not (np.trace(F) > 1e-12):
        return np.array([1.0, 0.0])
    power = np.linalg.matrix_power(F / np.trace(F), 16)
    norm = float(np.linalg.norm(power[0]))
    return power[0] / norm if norm > 1e-3 * np.trace(power) else np.array([1.0, 0.0])


def _sides(F: np.ndarray, e: np.ndarray) -> np.ndarray:
    """Half the sides of a face: √F e and √F times what is across e."""
    values, vectors = np.linalg.eigh(F)
    S = (vectors * np.sqrt(np.maximum(values, 0.0))) @ vectors.T
    return np.array([S @ e, S @ [-e[1], e[0]]])


def _part(side: np.ndarray, rise: float, spare: float) -> float:
    """Part of half a side that counts: as far as the bodies are no nearer there than they are, and less a few mm."""
    size = float(np.linalg.norm(side))
    part = 1.0 if rise >= -spare else spare / -rise
    return max(part - SHORT / size, 0.0) if size > 0.0 else 0.0


def least_speed(delta: float, width: float, rate: float, recovery: float) -> float:
    """The bound −φ on ḋ at δ above the margin.

        φ = λ δ / (1 − (δ/Δ)²)      for 0 ≤ δ < Δ: infinite where the pair comes within influence
        φ = −min(−λ δ, recovery)    for δ < 0: back out

    Args:
        delta: Distance above the margin, m.
        width: Width Δ of the zone from the margin to where the influence begins, m.
        rate: λ in discrete time, 1/s.
        recovery: Largest speed with which bodies that are too close are driven apart, m/s.
    """
    if delta >= width:
        return -np.inf
    if delta > 0.0:
        return -rate * delta / (1.0 - (delta / width) ** 2)
    return min(-rate * delta, recovery)


def most_change(delta: float, speed: float, dt: float, deceleration: float, rate: float, recovery: float) -> float:
    """Largest change of the speed at which two bodies come nearer, m/s²; see `sot.collision.barrier`.

    Args:
        delta: Distance above the margin after the tick if the speed stays, m.
        speed: At which they come nearer, m/s; negative if they part.
        dt: Length of a tick, s.
        deceleration: With which they brake, m/s².
        rate: λ, 1/s.
        recovery: Largest speed with which bodies that are too close are driven apart, m/s.
    """
    distances = delta + dt * speed * np.array([2.0, 1.0])
    curve = approach(distances, np.full(2, deceleration), np.full(2, rate), dt)
    before, now = np.maximum(curve, -recovery)
    along, left = (now - before) / dt, before - speed
    if left >= 0.0:
        return along - np.expm1(-rate * dt) / dt * left
    towards, room = max(speed, 0.0), delta + dt * speed
    late = towards / dt if room <= 0.5 * dt * towards else 0.5 * towards**2 / room  # what it takes to stop in time
    return max(along + left / dt, -2.0 * deceleration - late)


def braking_way(speed: float, deceleration: float, rate: float) -> float:
    """Distance in which a speed is braked, the damper's last part included, m.

    Args:
        speed: m/s.
        deceleration: a, m/s².
        rate: λ of the damper, 1/s.
    """
    slow = min(speed, deceleration / rate)
    return slow / rate + (speed**2 - slow**2) / (2.0 * deceleration)
