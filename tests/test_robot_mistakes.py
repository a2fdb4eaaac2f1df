"""Everything that can be wrong with a robot's files: each an error that names the place, and no noise."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from robot_files import GOOD, MJCF, write

from sot.errors import ModelError, SotError
from sot.robots import load, names

# what is replaced in the good URDF, by what, and what the message must hold
URDF_MISTAKES = {
    "not closed": ("</robot>", "", "not XML"),
    "two names": ('<link name="b">', '<link name="a">', "link 'a': the name is used twice"),
    "no name": ('<link name="b">', "<link>", "'name' is missing"),
    "empty name": ('<link name="b">', '<link name="">', "'name' is missing"),
    "no links": (GOOD, '<robot name="r"></robot>', "has no links"),
    "no joints": (GOOD, '<robot name="r"><link name="a"/></robot>', "no joint that moves"),
    "not a robot": (GOOD, "<html></html>", "<html>: expected <robot>"),
    "mjcf": (GOOD, MJCF, "load it with mjcf="),
    "sdf": (GOOD, '<sdf version="1.6"/>', "SDF files are not supported"),
    "xacro": ('<link name="b">', '<xacro:macro name="x"/><link name="b">', "xacro"),
    "no child": ('<child link="b"/>', "", "joint 'j1': has no <child"),
    "no parent": ('<parent link="a"/>', "", "joint 'j1': has no <parent"),
    "empty child": ('<child link="b"/>', "<child/>", "'link' is missing"),
    "unknown child": ('<child link="b"/>', '<child link="zz"/>', "joint 'j1': child: unknown link 'zz'"),
    "unknown parent": ('<parent link="a"/>', '<parent link="aa"/>', "joint 'j1': parent: unknown link 'aa'"),
    "two parents": ('<child link="c"/>', '<child link="d"/>', "the link 'd' already hangs"),
    "two trees": ('<robot name="arm">', '<robot name="arm"><link name="e"/>', "2 separate trees"),
    "circle": ('<parent link="a"/>', '<parent link="d"/>', "form a circle"),
    "own child": ('<parent link="a"/>', '<parent link="b"/>', "form a circle"),
    "two joints": ('<joint name="j2"', '<joint name="j1"', "joint 'j1': the name is used twice"),
    "joint type": ('type="revolute"', 'type="revolving"', "unknown joint type 'revolving'. Available: revolute"),
    "no joint type": ('type="revolute"', "", "'type' is missing"),
    "no limit": ('<limit lower="-1" upper="2" effort="10" velocity="3"/>', "", "needs <limit"),
    "no effort": ('effort="10"', "", "'effort' is missing"),
    "limits swapped": ('lower="-1"', 'lower="5"', "lower limit 5 is above the upper limit 2"),
    "nan limit": ('upper="2"', 'upper="nan"', "upper='nan' is not finite"),
    "word limit": ('velocity="3"', 'velocity="fast"', "velocity='fast' is not a list of numbers"),
    "negative speed": ('velocity="3"', 'velocity="-3"', "velocity limit is negative"),
    "negative effort": ('effort="10"', 'effort="-1"', "effort limit is negative"),
    "zero axis": ('xyz="0 1 0"', 'xyz="0 0 0"', "the axis is zero"),
    "short axis": ('xyz="0 1 0"', 'xyz="0 1"', "has 2 numbers, expected 3"),
    "nan axis": ('xyz="0 1 0"', 'xyz="0 nan 0"', "is not finite"),
    "no axis": ('<axis xyz="0 1 0"/>', "<axis/>", "'xyz' is missing"),
    "nan origin": ('xyz="0 0 1"', 'xyz="0 0 nan"', "<origin>: xyz='0 0 nan' is not finite"),
    "infinite origin": ('xyz="0 0 1"', 'xyz="0 0 inf"', "is not finite"),
    "word origin": ('xyz="0 0 1"', 'xyz="0 0 ${h}"', "is not a list of numbers"),
    "long origin": ('xyz="0 0 1"', 'xyz="0 0 1 2"', "has 4 numbers, expected 3"),
    "bad turn": ('<origin xyz="0 0 1"/>', '<origin xyz="0 0 1" rpy="0 x 0"/>', "rpy='0 x 0'"),
    "negative mass": ('<mass value="1"/>', '<mass value="-1"/>', "link 'a': the mass is negative"),
    "nan mass": ('<mass value="1"/>', '<mass value="nan"/>', "<mass>: value='nan'"),
    "empty mass": ('<mass value="1"/>', "<mass/>", "'value' is missing"),
    "no mass": ('<mass value="1"/>', "", "<inertial> has no <mass>"),
    "no inertia": ('<inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/>', "", "has no <inertia>"),
    "negative inertia": ('iyy="1"', 'iyy="-1"', "link 'a': the inertia iyy is negative"),
    "half inertia": ('ixy="0" ', "", "'ixy' is missing"),
    "nan inertia": ('ixx="1"', 'ixx="nan"', "ixx='nan'"),
    "unknown leader": ('<mimic joint="j1"', '<mimic joint="j9"', "joint 'j3': <mimic>: unknown joint 'j9'"),
    "no leader": ('<mimic joint="j1"', "<mimic", "'joint' is missing"),
    "follows itself": ('<mimic joint="j1"', '<mimic joint="j3"', "follows itself"),
    "nan ratio": ('multiplier="0.5"', 'multiplier="nan"', "multiplier='nan'"),
    "word offset": ('offset="0.1"', 'offset="a bit"', "offset='a bit'"),
    "follower outside": ('offset="0.1"', 'offset="7"', "home: joint 'j3' is at"),
    "entities": ('<robot name="arm">', '<!DOCTYPE r [<!ENTITY a "b">]><robot name="arm">', "entities"),
    "empty": (GOOD, "", "is empty"),
    "words": (GOOD, "this is not a robot", "not XML"),
    "yaml": (GOOD, "urdf: x.urdf", "not XML"),
    "two roots": ("</robot>", "</robot><robot/>", "not XML"),
    "repeated attribute": ('<link name="b">', '<link name="b" name="c">', "not XML"),
}


@pytest.mark.parametrize("name", URDF_MISTAKES)
def test_mistakes_in_a_urdf(tmp_path: Path, capfd: pytest.CaptureFixture[str], name: str):
    old, new, message = URDF_MISTAKES[name]
    assert old in GOOD
    path = write(tmp_path, "arm.urdf", GOOD.replace(old, new, 1))
    with pytest.raises(ModelError) as caught:
        load(urdf=path)
    assert message in str(caught.value)
    assert str(path) in str(caught.value) or "home: joint" in str(caught.value)
    assert capfd.readouterr() == ("", "")


def mjcf(joint: str = "", inside: str = "", before: str = "") -> str:
    body = f'<body name="a"><joint name="j" {joint}/><geom size="0.1"/>{inside}</body>'
    return f"<mujoco>{before}<worldbody>{body}</worldbody></mujoco>"


MJCF_MISTAKES = {
    "urdf": (GOOD, "load it with urdf="),
    "no world": ("<mujoco/>", "has no <body>"),
    "empty world": ("<mujoco><worldbody/></mujoco>", "has no <body>"),
    "nothing moves": ('<mujoco><worldbody><body name="a"/></worldbody></mujoco>', "no joint that moves"),
    "no name": ("<mujoco><worldbody><body><joint/></body></worldbody></mujoco>", "'name' is missing"),
    "two robots": (mjcf().replace("</worldbody>", '<body name="b"/></worldbody>'), "body 'b': one robot"),
    "joint type": (mjcf('type="pin"'), "unknown joint type 'pin'"),
    "range": (mjcf('range="1 -1"'), "lower limit 1 is above"),
    "axis": (mjcf('axis="0 0 0"'), "the axis is zero"),
    "short axis": (mjcf('axis="0 1"'), "has 2 numbers"),
    "class": (mjcf('class="x"'), "unknown default class 'x'"),
    "twice": (mjcf(inside='<body name="b"><joint name="j"/></body>'), "used twice"),
    "place": (mjcf(inside='<body name="b" pos="0 nan 0"/>'), "pos='0 nan 0'"),
    "mass": (mjcf(inside='<geom mass="-1"/>'), "the mass is negative"),
    "include": (mjcf(before='<include file="x.xml"/>'), "does not follow <include>"),
    "frame": (mjcf(inside='<frame><body name="b"/></frame>'), "<frame>"),
    "words": ("hello", "not XML"),
    "empty": ("\n", "is empty"),
}


@pytest.mark.parametrize("name", MJCF_MISTAKES)
def test_mistakes_in_an_mjcf(tmp_path: Path, capfd: pytest.CaptureFixture[str], name: str):
    text, message = MJCF_MISTAKES[name]
    path = write(tmp_path, "robot.xml", text)
    with pytest.raises(ModelError) as caught:
        load(mjcf=path)
    assert message in str(caught.value) and str(path) in str(caught.value)
    assert capfd.readouterr() == ("", "")


FILE_MISTAKES = {
    "urdf: no.urdf": "no.urdf: no such URDF file",
    "urdf: arm.urdf\nurfd: x": "mine.yaml:2: urfd: unknown key 'urfd'; did you mean 'urdf'",
    "hands: [a]": "give either urdf or mjcf",
    "urdf: arm.urdf\nmjcf: arm.xml": "give either urdf or mjcf",
    "urdf: arm.urdf\nroot: flying": "mine.yaml:2: root: ",
    "urdf: arm.urdf\nhands: [tool]": "hands[0]: unknown frame 'tool'",
    "urdf: arm.urdf\nfeet: [{frame: e}]": "feet[0]: unknown frame 'e'",
    "urdf: arm.urdf\nfeet:\n- {frmae: a}": "mine.yaml:3: feet[0].frmae: unknown key",
    "urdf: arm.urdf\nfeet: [{frame: a, points: [1, 2, 3]}]": "feet[0].points: expected a list of [x, y, z]",
    "urdf: arm.urdf\nfeet: [{frame: a, points: []}]": "feet[0].points",
    "urdf: arm.urdf\nfeet: [{frame: a, radius: -1}]": "feet[0].radius",
    "urdf: arm.urdf\nhome: sitting": "home: unknown posture 'sitting'",
    "urdf: arm.urdf\nhome: {joints: {j7: 1}}": "home.joints: unknown joint 'j7'",
    "urdf: arm.urdf\nhome: {joints: {j1: 3}}": "home: joint 'j1' is at 3, outside [-1, 2]",
    "urdf: arm.urdf\nhome: {joints: {j1: [1, 2]}}": "joint 'j1' takes 1 values, got 2",
    "urdf: arm.urdf\nhome: {joints: {j2: [0.1, 0.1]}}": "not of norm 1",
    "urdf: arm.urdf\nhome: {height: low}": "mine.yaml:2: home.height: expected a number",
    "urdf: arm.urdf\nlock: [x*]": "lock: unknown joint 'x*'",
    "urdf: arm.urdf\nlock: ['*']": "all joints are locked",
    "urdf: arm.urdf\nlock: [j3]": "joint 'j3' follows 'j1'; lock that one too",
    "urdf: arm.urdf\nroot: planar\nlock: ['*']": "cannot be locked; use root: fixed",
    "urdf: arm.urdf\nlimits: {k: {velocity: 1}}": "limits.k: unknown joint 'k'",
    "urdf: arm.urdf\nlimits: {j1: {velocity: -1}}": "limits.j1.velocity: expected numbers ≥ 0",
    "urdf: arm.urdf\nlimits: {j1: {velocity: [1, 2]}}": "limits.j1.velocity: expected one number or 1",
    "urdf: arm.urdf\nlimits: {j1: {position: [1, -1]}}": "limits.j1.position: expected lower < upper",
    "urdf: arm.urdf\nlimits: {j2: {position: [-1, 1]}}": "limits.j2.position",
    "urdf: arm.urdf\nlimits: {j1: {speed: 1}}": "mine.yaml:2: limits.j1.speed: unknown key",
    "urdf: arm.urdf\nactuators: {j1: {gear_ratio: .nan}}": "mine.yaml:2: actuators.j1.gear_ratio",
    "urdf: arm.urdf\nactuators: {m: {gear_ratio: 1}}": "actuators.m: unknown joint",
    "urdf: arm.urdf\ncollision_pairs: srdf": "needs an srdf file",
    "urdf: arm.urdf\nsrdf: none.srdf": "none.srdf: no such SRDF file",
    "urdf: arm.urdf\nsrdf: arm.xml": "this is not an SRDF file",
    "urdf: arm.urdf\nsrdf: bad.srdf": "bad.srdf:1: joint 'j1': value='up'",
    "urdf: arm.urdf\ndata: no-such-package": "pip install no-such-package",
    "urdf: arm.urdf\ndata: pip": "lists no folder",
    "mjcf: arm.urdf": "load it with urdf=",
    "urdf: .": "cannot be read",
    "[]": "mine.yaml:1: expected a mapping",
    "": "mine.yaml: is empty",
}


@pytest.mark.parametrize("text", FILE_MISTAKES)
def test_mistakes_in_a_description_file(tmp_path: Path, capfd: pytest.CaptureFixture[str], text: str):
    write(tmp_path, "arm.urdf", GOOD)
    write(tmp_path, "arm.xml", MJCF)
    srdf = '<robot><group_state name="s"><joint name="j1" value="up"/></group_state></robot>'
    write(tmp_path, "bad.srdf", srdf)
    path = write(tmp_path, "mine.yaml", text)
    with pytest.raises(SotError) as caught:
        load(path)
    assert FILE_MISTAKES[text] in str(caught.value)
    assert str(tmp_path) in str(caught.value) or "all joints" in str(caught.value)
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: load("tallos"), "unknown robot 'tallos'; did you mean 'talos'"),
        (lambda: load("no/such.yaml"), "no such file"),
        (lambda: load("no.urdf"), "no such URDF file"),
        (lambda: load(), "give either urdf or mjcf"),
        (lambda: load(3), "expected a robot's name"),
        (lambda: load("panda", rooot="fixed"), "load(): rooot: unknown key 'rooot'; did you mean 'root'"),
        (lambda: load("panda", root="free"), "load(): root"),
        (lambda: load("panda", hands="tool"), "load(): hands: expected a list"),
        (lambda: load("panda", folder="/no/such/folder"), "is not a folder"),
        (lambda: names("/no/such/folder"), "is not a folder"),
    ],
)
def test_mistakes_in_a_call(call, message: str):
    with pytest.raises(SotError, match=re.escape(message)):
        call()


def test_damaged_urdfs_give_a_robot_or_our_error(tmp_path: Path):
    """Random damage to a good file: never a library's exception, never a crash."""
    rng = np.random.default_rng(3)
    scrap = ["<", ">", '"', "/", "=", "nan", "-", "&", "\0", "é", "1e999", "link", "joint", " "]
    wrong = 0
    for _ in range(300):
        text = GOOD
        for _ in range(rng.integers(1, 4)):
            at = int(rng.integers(len(text)))
            text = text[:at] + str(rng.choice(scrap)) + text[at + int(rng.integers(0, 4)) :]
        try:
            load(urdf=write(tmp_path, "arm.urdf", text))
        except ModelError as error:
            wrong += 1
            assert "arm.urdf" in str(error) or "load()" in str(error)
    assert wrong > 100
