"""What a viewer draws of a haptic device: the hand, the force that is rendered, and energy as bars."""

from __future__ import annotations

import numpy as np

from sot.force_task import arrow
from sot.haptic.device import Plant
from sot.haptic.passivity import Energy
from sot.model import Model
from sot.sketch import ALARM, CALM, WARNING, Box, Colour, Drawing, Line, Solid, Sphere

SPAN = 0.16  # m, of the space around a stylus that a picture should show
SKIN: Colour = (0.95, 0.65, 0.10, 0.6)
GLASS: Colour = (0.55, 0.60, 0.65, 0.3)
FINGERTIP = 0.004  # m
BARS, WIDTH, GAP = np.array([0.0, 0.07, -0.04]), 0.008, 0.014  # m: where they stand beside the start, and their size
NOTHING = 1e-9  # m
HEIGHT, FULL = 0.06, 0.05  # a bar of this many metres is this many joules; heights go with the root of the energy


def sketch(plant: Plant, start: np.ndarray, force: np.ndarray, energy: Energy, model: Model) -> list[Drawing]:
    """Drawings at the device's state.

    Args:
        plant: The device in motion.
        start: Where it started, m, shape (3,).
        force: What is rendered, N, shape (3,).
        energy: What the passivity observer has seen.
        model: The stylus.
    """
    limited = float(np.linalg.norm(force)) >= 0.999 * plant.settings.force_limit
    drawings = [arrow(model, "rendered", plant.x, force, ALARM if limited else CALM)]
    return [*drawings, *_hand(plant, model), *_bars(start + BARS, energy)]


def _hand(plant: Plant, model: Model) -> list[Drawing]:
    """Where the hand wants to be, the way there, and how hard it pulls; nothing once it has let go."""
    hand = plant.hand
    if hand is None or not hand.holds(plant.time):
        return []
    target = hand.at(plant.time, plant.x.size)
    pull = arrow(model, "pull", plant.x, hand.stiffness * (target - plant.x), WARNING)
    return [Solid("target", Sphere(FINGERTIP), _placed(target), SKIN), Line("way", plant.x, target, WARNING), pull]


def _bars(foot: np.ndarray, energy: Energy) -> list[Drawing]:
    """Side by side along y: what went into what is rendered, or came out of it; and the debt of the observer."""
    glass = [_bar(f"scale {k}", foot, k, FULL, GLASS, 0.5) for k in (0, 1)]
    return [
        *glass,
        _bar("wall", foot, 0, energy.wall, CALM),
        _bar("given out", foot, 0, -energy.wall, WARNING),
        _bar("debt", foot, 1, energy.debt, ALARM),
    ]


def _bar(name: str, foot: np.ndarray, place: int, joules: float, colour: Colour, thickness: float = 1.0) -> Solid:
    """A bar on the y axis, of next to no size for what is not above zero."""
    height, width = max(HEIGHT * np.sqrt(max(joules, 0.0) / FULL), NOTHING), thickness * WIDTH
    pose = np.diag([width, width, height, 1.0]) if joules > 0.0 else np.diag([NOTHING, NOTHING, NOTHING, 1.0])
    pose[:3, 3] = foot + np.array([0.0, place * GAP, 0.5 * height])
    return Solid(name, Box((1.0, 1.0, 1.0)), pose, colour)


def _placed(point: np.ndarray) -> np.ndarray:
    pose = np.eye(4)
    pose[:3, 3] = point
    return pose
