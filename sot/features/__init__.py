"""What can be measured on a robot. Each feature gives s(q), its Jacobian and its drift."""

from sot.features.com import CenterOfMass
from sot.features.direction import Direction, Gaze
from sot.features.distance import LineDistance, PointDistance
from sot.features.frame import FrameOrientation, FramePose, FramePosition
from sot.features.generic import Generic
from sot.features.image import ImagePoint
from sot.features.joints import JointLimitDistance, JointPosture
from sot.features.manipulability import Manipulability

__all__ = [
    "CenterOfMass",
    "Direction",
    "FrameOrientation",
    "FramePose",
    "FramePosition",
    "Gaze",
    "Generic",
    "ImagePoint",
    "JointLimitDistance",
    "JointPosture",
    "LineDistance",
    "Manipulability",
    "PointDistance",
]
