"""Small good robot files for tests to use and to break."""

from __future__ import annotations

from pathlib import Path

LINK = (
    '<link name="{}"><inertial><mass value="1"/>'
    '<inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/></inertial></link>'
)
JOINT = (
    '<joint name="{}" type="{}"><parent link="{}"/><child link="{}"/><origin xyz="0 0 1"/><axis xyz="0 1 0"/>'
    '<limit lower="-1" upper="2" effort="10" velocity="3"/>{}</joint>'
)
GOOD = (
    '<robot name="arm">'
    + "".join(LINK.format(name) for name in "abcd")
    + JOINT.format("j1", "revolute", "a", "b", "")
    + JOINT.format("j2", "continuous", "b", "c", "")
    + JOINT.format("j3", "prismatic", "c", "d", '<mimic joint="j1" multiplier="0.5" offset="0.1"/>')
    + "</robot>"
)
MJCF = """<mujoco model="hopper"><compiler angle="radian"/><worldbody>
<body name="base" pos="0 0 1"><freejoint name="root"/><geom type="box" size=".1 .1 .1" mass="1"/>
<body name="leg" pos="0 0 -.2"><joint name="hip" axis="0 1 0" range="0.2 1" damping="0.1" armature="0.01"/>
<geom type="capsule" size=".05 .1" mass="1"/></body></body></worldbody>
<keyframe><key name="stand" qpos="0 0 1 1 0 0 0 .3"/></keyframe></mujoco>"""


def write(folder: Path, name: str, text: str | bytes) -> Path:
    path = folder / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path
