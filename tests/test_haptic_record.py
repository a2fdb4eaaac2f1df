"""What a run of a haptic device leaves behind: columns, files, texts, pictures, and what a viewer draws of it."""

from __future__ import annotations

import base64
import re
import sys

import numpy as np
import pytest
from stylus import T, push

import sot
from sot.errors import ConfigError
from sot.haptic import Device, Hand, Record
from sot.model import Model
from sot.robots import Finger, Haptic
from sot.sketch import ALARM, CALM, Line, Solid
from sot.tasks import Wall

K, N = 2000.0, np.array([0.0, 0.6, 0.8])


def pressed(seconds: float = 0.25, **device) -> tuple[Haptic, Record]:
    """A hand presses 1 cm into a slanted wall, and lets go at 0.2 s."""
    press = Hand((-0.01 * N).tolist(), stiffness=300.0, damping=20.0, release=0.2)
    stylus = Haptic(Device(**{"damping": 3.0, "quantum": 0.0, **device}), hand=press, position=(0.005 * N).tolist())
    wall = Wall("stylus", normal=N, stiffness=K, damping=1.0, name="floor")
    controller = sot.Controller(stylus.robot, sot.Stack([], [wall]), output="torque", dt=T)
    record = Record(stylus)
    sot.run(stylus, controller, seconds, observers=[record])
    return stylus, record


@pytest.fixture(scope="module")
def press() -> tuple[Haptic, Record]:
    return pressed()


def test_rows_are_the_ends_of_periods(press):
    stylus, record = press
    assert len(record) == 500
    np.testing.assert_allclose(record.time, T * np.arange(1, 501), atol=1e-12)
    np.testing.assert_array_equal(record.position[-1], stylus.truth().q)
    np.testing.assert_array_equal(record.velocity[-1], stylus.truth().v)
    np.testing.assert_array_equal(record.force[-1], stylus.force)
    np.testing.assert_allclose(np.diff(record.position, axis=0) / T, 0.5 * (record.velocity[1:] + record.velocity[:-1]),
                               atol=2e-3)  # fmt: skip
    assert np.isfinite(record.target[:399]).all() and np.isnan(record.target[401:]).all()


def test_energies_are_those_of_independent_sums(press):
    """Motor: Σ F·Δx. Hand: ∫ (k (x* − x) − d v)·v dt by trapezoids. Wall: what the motor took. Kinetic: ½ m v²."""
    _, record = press
    works, steps = record.works, np.diff(record.position, axis=0, prepend=[0.005 * N])
    np.testing.assert_allclose(works["motor"], np.cumsum((record.force * steps).sum(axis=1)), atol=1e-9)
    np.testing.assert_allclose(record.energy["wall"][1:], -works["motor"][:-1], atol=1e-9)  # seen a period later
    np.testing.assert_allclose(works["kinetic"], 0.1 * (record.velocity**2).sum(axis=1), atol=1e-12)
    lost = np.cumsum(3.0 * T * (record.velocity**2).sum(axis=1))  # by rectangles
    np.testing.assert_allclose(works["lost"], lost, atol=0.01 * lost.max())
    held = record.time < 0.2 - T / 2
    pull = 300.0 * (-0.01 * N - record.position[held]) - 20.0 * record.velocity[held]
    power = np.append(0.0, (pull * record.velocity[held]).sum(axis=1))
    expected = np.cumsum(0.5 * T * (power[1:] + power[:-1]))
    np.testing.assert_allclose(works["hand"][held], expected, atol=0.01 * expected.max())


def test_distances_are_depths(press):
    _, record = press
    depth = np.maximum(-record.position @ N, 0.0)
    np.testing.assert_allclose(record.away["floor"], depth, atol=1e-12)
    rest = depth[np.searchsorted(record.time, 0.199)]
    assert rest == pytest.approx(0.01 * 300.0 / (300.0 + K), rel=2e-3)  # what is left of the swing


def test_entries_that_come_and_go_have_gaps():
    stylus = Haptic(Device(damping=5.0))
    first, second = Wall("stylus", damping=1.0, name="first"), Wall("stylus", damping=1.0, name="second")
    stack = sot.Stack([], [first])
    controller, record = sot.Controller(stylus.robot, stack, output="torque", dt=T), Record(stylus)
    other = sot.Controller(Haptic(name="other").robot, sot.Stack([Wall("other")]), output="torque", dt=T)
    record(stylus.read(), controller.step(stylus.read()), other)  # another robot's tick
    assert len(record) == 0 and "nothing has happened" in record.summary()
    sot.run(stylus, controller, 3 * T, observers=[record])
    stack.push(second, level=1, ramp=0.0)
    stack.remove("first", ramp=0.0)
    sot.run(stylus, controller, 2 * T, observers=[record])
    gone, new = record.away["first"], record.away["second"]
    assert np.isfinite(gone).tolist() == [True] * 3 + [False] * 2
    assert np.isfinite(new).tolist() == [False] * 3 + [True] * 2


def test_what_is_saved_can_be_read_again(press, tmp_path):
    _, record = press
    table = np.genfromtxt(record.save(tmp_path / "press.csv"), delimiter=",", names=True)
    arrays = np.load(record.save(tmp_path / "press.npz"))
    assert set(table.dtype.names) == set(arrays.files) >= {"time", "x", "fz", "hand", "debt", "away_floor"}
    np.testing.assert_array_equal(arrays["z"], record.position[:, 2])
    np.testing.assert_allclose(table["wall"], record.energy["wall"], rtol=1e-8)
    with pytest.raises(ConfigError, match=r"press.txt: a record ends with .csv or .npz"):
        record.save(tmp_path / "press.txt")
    with pytest.raises(ConfigError, match="there is no folder"):
        record.save(tmp_path / "nowhere" / "press.csv")


def test_the_summary_and_the_plot(press, tmp_path, monkeypatch):
    stylus, record = press
    text = record.summary()
    for part in ("stylus: 500 periods of 0.5 ms, up to 0.25 s", "region    floor: ", "works     motor -", "debt up to"):
        assert part in text
    assert f"at most {np.linalg.norm(record.force, axis=1).max():.3g} N" in text
    pytest.importorskip("matplotlib")
    assert record.plot(tmp_path / "a.png").read_bytes().startswith(b"\x89PNG")
    with pytest.raises(ConfigError, match="there is no folder"):
        record.plot(tmp_path / "nowhere" / "a.png")
    with pytest.raises(ConfigError, match="the record of 'stylus' has no periods yet"):
        Record(stylus).plot(tmp_path / "b.png")
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(ConfigError, match=r"a plot of a haptic device needs the package 'matplotlib'.*'sot\[log\]'"):
        record.plot(tmp_path / "c.png")
    with pytest.raises(ConfigError, match=r"expected a sot.robots.Haptic, got a Finger"):
        Record(Finger())


def drawings(stylus: Haptic) -> dict[str, Line | Solid]:
    model = Model(stylus.robot)
    state = stylus.truth()
    model.update(state.q, state.v)
    return {drawing.name: drawing for drawing in stylus.sketch(model)}


def test_a_viewer_sees_hand_force_and_energy():
    stylus, record = pressed(0.19)
    found, f = drawings(stylus), stylus.force
    arrow = found["rendered"]
    np.testing.assert_allclose(arrow.start, stylus.truth().q)
    np.testing.assert_allclose(arrow.end - arrow.start, 0.01 * f, rtol=1e-12)  # 10 cm for 10 N
    pull = found["pull"].end - found["pull"].start
    np.testing.assert_allclose(pull, -0.01 * f, atol=5e-5)  # at rest they are equal and opposite
    np.testing.assert_allclose(found["target"].pose[:3, 3], -0.01 * N)
    bar = found["wall"].pose
    assert found["wall"].colour == CALM and found["debt"].colour == ALARM
    assert bar[2, 2] == pytest.approx(0.06 * np.sqrt(record.energy["wall"][-1] / 0.05))
    for name in ("debt", "given out"):
        assert found[name].pose[0, 0] == 1e-9  # nothing to be seen
    stylus, _ = pressed(0.21)
    assert not {"target", "way", "pull"} & drawings(stylus).keys()  # the hand has let go


def test_a_debt_and_a_limited_force_are_red():
    """An undamped wall ten times as stiff as a passive one makes energy, and is stronger than the device."""
    stylus, record = pressed(0.05, damping=0.1, bound="off", force_limit=1.5)
    assert record.energy["debt"].max() > 0.0
    worst = int(record.energy["debt"].argmax())
    stylus, _ = pressed(T * (worst + 1), damping=0.1, bound="off", force_limit=1.5)
    found = drawings(stylus)
    assert found["debt"].pose[2, 2] == pytest.approx(0.06 * np.sqrt(record.energy["debt"].max() / 0.05))
    stylus, _ = pressed(0.19, force_limit=1.5)
    assert drawings(stylus)["rendered"].colour == ALARM


def test_a_page_looks_at_some_centimetres_and_has_no_floor(tmp_path):
    pytest.importorskip("meshcat")
    umsgpack = pytest.importorskip("umsgpack")
    stylus = Haptic(Device(damping=3.0), hand=Hand([0.0, 0.0, -0.01]))
    controller = sot.Controller(stylus.robot, sot.Stack([Wall("stylus", damping=1.0)]), output="torque", dt=T)
    with sot.Viewer(stylus.robot) as viewer:
        sot.run(stylus, controller, 0.01, viewer=viewer, realtime=False)
        page = viewer.save(tmp_path / "stylus.html").read_text(encoding="utf-8")
    found = re.findall(r'fetch\("data:application/octet-binary;base64,([^"]*)"\)', page)
    messages = [umsgpack.unpackb(base64.b64decode(data)) for data in found]
    properties = {(m["path"], m["property"]): m["value"] for m in messages if m["type"] == "set_property"}
    (camera,) = (value for (path, key), value in properties.items() if path.startswith("/Cam") and key == "position")
    assert 0.2 < np.linalg.norm(camera) < 0.6  # m
    assert properties["/scene/floor", "visible"] is False
    drawn = {m["path"] for m in messages if m["type"] == "set_object"}
    assert sum("_ball" in path for path in drawn) == 1  # x and y only make way for z
    for name in ("target", "wall", "debt"):
        assert any(f"stylus_device/{name}" in path for path in drawn), name


def test_where_nobody_holds_the_stylus_no_hand_works():
    """What the motors did is all lost or still moving: works are integrated to rounding."""
    stylus = Haptic(Device(damping=3.0, friction=0.2, quantum=0.0))
    for k in range(400):
        stylus.write(push(*(3.0 * np.sin(0.05 * k * np.arange(1, 4)))))
    works = stylus.works
    assert works.motor > 1e-2
    assert abs(works.hand) < 1e-11 * works.motor


def test_of_two_devices_with_one_name_each_record_has_its_own():
    styluses = [Haptic(Device(damping=3.0)) for _ in range(2)]
    walls = [Wall("stylus", point=[0, 0, 0.01 * k], stiffness=500.0, damping=1.0, name=f"wall{k}") for k in range(2)]
    pairs = [
        (one, sot.Controller(one.robot, sot.Stack([], [wall]), output="torque", dt=T))
        for one, wall in zip(styluses, walls, strict=True)
    ]
    records = [Record(one) for one in styluses]
    sot.run_together(pairs, 0.01, observers=records)
    for k, record in enumerate(records):
        np.testing.assert_allclose(np.diff(record.time), T)
        assert len(record) == 20 and list(record.away) == [f"wall{k}"]
