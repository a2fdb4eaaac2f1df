"""A block on four corners: the simplest robot with a free base, for laws with a closed form."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from sot.description import Description
from sot.robots import load

MASS, HALF, HEIGHT = 3.0, 0.2, 0.1  # kg, m, m: half of its length and width, and its height

URDF = f"""<robot name="block"><link name="block"><inertial><mass value="{MASS}"/>
<inertia ixx="0.0425" iyy="0.0425" izz="0.08" ixy="0" ixz="0" iyz="0"/></inertial></link></robot>"""


def block(folder: Path) -> Description:
    """The block, with its centre at z = HEIGHT / 2."""
    file = folder / "block.urdf"
    file.write_text(URDF, encoding="utf-8")
    corners = [[x, y, -0.5 * HEIGHT] for x in (HALF, -HALF) for y in (HALF, -HALF)]
    return load(str(file), root="free_flyer", feet=[{"frame": "block", "points": corners}])


NOTHING = np.zeros(6)
