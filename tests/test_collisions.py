"""The collision constraint in closed loop: distances that are kept, motions without chatter, and what it tells."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pytest
from plugins import model_of

import sot
from sot.collision import drawing
from sot.collision.distances import Distances
from sot.collision.plain import PlainDistances
from sot.collision.robot import collision_model
from sot.collision.shape import Body, CollisionModel, ball, box, capsule
from sot.config import load_run, parse_run
from sot.config.dump import dump
from sot.entry import Tick
from sot.errors import ConfigError, SotError, TaskError
from sot.kernels.distance import CORNERS
from sot.lie import SE3, exp3
from sot.robots import Kinematic, load
from sot.sketch import ALARM, CALM, WARNING, Line, Solid
from sot.tasks import Collisions, JointLimits, Pose, Position, Posture

TICKS = int(os.environ.get("SOT_TICKS", "3000"))  # of the random motions of each robot
MARGIN = 0.01


@dataclass
class Motion:
    """What happened in a run: velocities, true smallest distances and capped ticks."""

    v: np.ndarray  # (ticks, nv), rad/s or m/s
    q: np.ndarray  # (ticks, nq)
    distance: np.ndarray  # (ticks,), m
    capped: np.ndarray  # (ticks,), whether the solver ran out of iterations
    controller: sot.Controller

    def chatter(self, spare: np.ndarray | None = None) -> np.ndarray:
        """By how much any joint goes forth and back again within two ticks, rad/s, shape (ticks − 2,).

        A kink in a velocity, where a limit begins to act, does not count; a command that cannot make up its mind does.
        """
        steps = np.diff(self.v, axis=0)
        back = np.where(steps[1:] * steps[:-1] < 0.0, np.minimum(abs(steps[1:]), abs(steps[:-1])), 0.0).max(axis=1)
        unsure = np.convolve(self.capped, np.ones(3), "valid") > 0
        back[unsure if spare is None else unsure | spare[2:]] = 0.0
        return back


def drive(
    robot: sot.Description,
    stack: sot.Stack,
    collisions: Collisions,
    ticks: int,
    dt: float = 1e-3,
    q: np.ndarray | None = None,
    before: Callable[[int, sot.State], None] = lambda k, state: None,
    **options: object,
) -> Motion:
    """Run a stack on a robot that does what it is told; distances are those of the survey, not of the rows."""
    controller = sot.Controller(robot, stack, dt=dt, **options)
    model = controller.model
    state = sot.State(0.0, (robot.home if q is None else q).copy(), np.zeros(model.nv))
    v, qs, distance, capped = [], [], [], []
    for k in range(ticks):
        before(k, state)
        seen = controller.counters.capped
        command = controller.step(state)
        distance.append(MARGIN - collisions_below(collisions, controller, state.time, dt))
        capped.append(controller.counters.capped > seen)
        v.append(command.v.copy())
        qs.append(state.q)
        state = sot.State((k + 1) * dt, model.integrate(state.q, dt * command.v), command.v.copy())
    return Motion(np.array(v), np.array(qs), np.array(distance), np.array(capped), controller)


def collisions_below(collisions: Collisions, controller: sot.Controller, time: float, dt: float) -> float:
    """How far the nearest pair is below the margin; negative above it, up to 5 cm."""
    collisions._place(time, dt)
    nearest = collisions._survey.measure(controller.model, MARGIN + 0.05).min(initial=MARGIN + 0.05)
    return MARGIN - min(float(nearest), MARGIN + 0.05)


# -- far and wide: random targets --------------------------------------------------------------------------------

HANDS = {
    "panda": ["panda_hand_tcp"],
    "talos": ["gripper_left_base_link", "gripper_right_base_link"],
    "g1": ["left_rubber_hand", "right_rubber_hand"],
}
FEET = {
    "panda": [],
    "talos": ["left_sole_link", "right_sole_link"],
    "g1": ["left_ankle_roll_link", "right_ankle_roll_link"],
}
POSTS = {"panda": [0.45, 0.25, 0.4], "talos": [0.5, 0.0, 1.0], "g1": [0.3, 0.0, 0.9]}
INSIDE = {"panda": [0.0, 0.0, 0.35], "talos": [0.0, 0.0, 1.1], "g1": [0.0, 0.0, 0.95]}
CHANGE = 0.5  # s between two targets


def roam(name: str, ticks: int, dt: float, seed: int, guarded: bool = True, **options: object) -> Motion:
    """Hands go for random targets: near home, in a post, and inside the robot's own body."""
    robot = load(name)
    post = sot.Obstacle("post", box=[0.1, 0.1, 0.8], at=POSTS[name])
    collisions = Collisions(margin=MARGIN, obstacles=[post])
    hands = [Position(frame, gain=5.0) for frame in HANDS[name]]
    hard = [JointLimits(), collisions] if guarded else [JointLimits()]
    feet = [[Pose(frame) for frame in FEET[name]]] if FEET[name] else []
    # A little posture on the hands' own level: a strict task that cannot be reached has no unique best motion.
    stack = sot.Stack(hard, *feet, [*hands, Posture(gain=1.0, weight=1e-2)])
    model, rng = model_of(name), np.random.default_rng(seed)
    model.update(robot.home, np.zeros(model.nv))
    homes = [model.placement(model.frame(frame)).translation.copy() for frame in HANDS[name]]
    if not guarded:
        collisions.setup(model)

    def new_targets(k: int, state: sot.State) -> None:
        if k % round(CHANGE / dt) == 0:
            for hand, home in zip(hands, homes, strict=True):
                where, spread = ((home, 0.3), (POSTS[name], 0.05), (INSIDE[name], 0.1))[rng.integers(3)]
                hand.reference = np.asarray(where) + spread * rng.normal(size=3)

    return drive(robot, stack, collisions, ticks, dt, before=new_targets, **options)


@pytest.mark.parametrize("name", HANDS)
def test_random_targets_bring_nothing_too_close(name) -> None:
    """At 1 kHz the margin is kept to a hundredth of a millimetre, and joints do not chatter.

    Ticks in which the solver ran out of iterations are left out of the chatter, and must be few.
    """
    motion = roam(name, TICKS, 1e-3, seed=1)
    assert motion.distance.min() >= MARGIN - 1e-5
    assert (motion.distance < MARGIN + 0.005).mean() >= 0.02, "it never came close: the test says nothing"
    spare = np.arange(TICKS) % round(CHANGE / 1e-3) < 4  # a new target is a jump of its own
    assert np.quantile(motion.chatter(spare), 0.999) <= 0.5
    assert motion.capped.mean() <= 0.002
    assert motion.controller.counters.infeasible == 0


@pytest.mark.parametrize("name", HANDS)
def test_at_200_hz_too(name) -> None:
    """The rows aim one smoothing above the margin, which is more than the longer ticks lose."""
    assert roam(name, 400, 5e-3, seed=2).distance.min() >= MARGIN - 1e-4


def test_without_the_constraint_they_collide() -> None:
    assert roam("panda", 1500, 1e-3, seed=1, guarded=False).distance.min() < -0.02


def test_the_survey_is_right() -> None:
    """Distances that the tests above rely on, against coal."""
    from sot.collision import coal_door

    model, rng = model_of("panda"), np.random.default_rng(3)
    collisions = Collisions(obstacles=[sot.Obstacle("post", box=[0.1, 0.1, 0.8], at=POSTS["panda"])])
    bodies = {body.name: body for body in collision_model(model.robot).bodies}
    post = box([0.1, 0.1, 0.8]).moved(SE3(np.eye(3), np.array(POSTS["panda"])))
    still = np.eye(3)[None], np.zeros((1, 3))
    for _ in range(5):
        model.update(model.random_configuration(rng), np.zeros(model.nv))
        for pair in collisions.nearest(model, 8):
            hulls = [bodies[n].hull.moved(model.data.oMi[bodies[n].joint]) if n in bodies else post for n in pair.names]
            solids = [coal_door.Solid(hull) for hull in hulls]
            true = coal_door.Gauge(*solids)(*(solid.transforms(*still)[0] for solid in solids))
            assert pair.distance <= true + 1e-6 and (true < 0.0 or pair.distance >= true - 2e-6)


# -- flat on each other ------------------------------------------------------------------------------------------


def press(dt: float, kind: type[Distances] | None = None, smoothing: float = 1e-3, hull=None, tilt=(0.0, 0.02, 0.0)):
    """A tool 40 cm wide, nearly level, is pressed on a table by a task that only knows its middle."""
    robot, model = load("panda"), model_of("panda")
    q = robot.home.copy()
    q[:7] = [0.0, 0.0, 0.0, -np.pi / 2, 0.0, np.pi / 2, 0.0]
    model.update(q, np.zeros(model.nv))
    joint, hand = model.joint("panda_joint7").index, robot.hands[0]
    middle = model.placement(model.frame(hand)).translation.copy()
    level = model.data.oMi[joint].inverse() * SE3(exp3(np.array(tilt)), middle)
    hull = hull or capsule([-0.2, 0.0, 0.0], [0.2, 0.0, 0.0], 0.02)
    table = sot.Obstacle("table", plane=[0.0, 0.0, 1.0], at=middle - np.array([0.0, 0.0, 0.1]))
    collisions = Collisions(
        model=CollisionModel((Body("tool", joint, hull.moved(level)),), ()), obstacles=[table], smoothing=smoothing
    )
    task = Position(hand, gain=5.0, reference=middle - np.array([0.0, 0.0, 0.3]))
    stack = sot.Stack([JointLimits(), collisions], [task, Posture(weight=1e-3)])
    if kind is not None:
        collisions.setup(model)
        collisions._watch.__class__ = kind
        setup, collisions.setup = collisions.setup, lambda model: None  # keep what was put in
        del setup
    return drive(robot, stack, collisions, round(1.0 / dt), dt, q=q)


@pytest.mark.parametrize("hull", [None, box([0.4, 0.2, 0.04]), box([0.2, 0.2, 0.04])], ids=["capsule", "box", "square"])
@pytest.mark.parametrize("dt", [1e-3, 5e-3])
def test_a_body_comes_to_lie_flat(dt, hull) -> None:
    """Both ends, or all four corners, come down to the margin; the command settles."""
    motion = press(dt, hull=hull, tilt=(0.03, 0.05, 0.0))
    assert motion.distance.min() >= MARGIN - 1e-5 and motion.distance[-1] <= MARGIN + 0.005
    assert motion.chatter()[3:].max() <= (0.3 if dt == 1e-3 else 0.5)
    assert motion.chatter()[-round(0.2 / dt) :].max() <= 1e-3


class OneRow(Distances):
    """Rows at the nearest points alone, as if there were no corners."""

    def update(self, model, dt: float) -> int:
        count = super().update(model, dt)
        plain = PlainDistances._row
        for slot, pair in enumerate(self.slots):
            rows = slice(CORNERS * slot, CORNERS * slot + CORNERS)
            self.A[rows], self.lower[rows] = 0.0, -np.inf
            if pair >= 0:
                here = np.array([0.0, 0.0, 0.0, self.distances[pair]])
                zone = self.damper.influence - self.damper.margin
                self.A[CORNERS * slot], self.lower[CORNERS * slot] = plain(self, model, int(pair), here, zone)
        return count

    _placement, _point_jacobian = PlainDistances._placement, PlainDistances._point_jacobian


def test_corners_are_needed() -> None:
    """With one row per pair the tool rocks from end to end at full speed, and goes through the table."""
    motion = press(1e-3, kind=OneRow)
    assert motion.distance.min() < 0.0 and motion.chatter()[3:].max() > 2.0


def test_smoothing_is_needed() -> None:
    """Next to nothing of it, and the nearest point jumps from end to end, corners or not."""
    motion = press(5e-3, smoothing=1e-6)
    assert motion.chatter()[3:].max() > 2.0


# -- the law -----------------------------------------------------------------------------------------------------


def gripper(obstacles: list[sot.Obstacle], **options: object) -> Collisions:
    """Only Panda's hand, against obstacles."""
    return Collisions(margin=MARGIN, obstacles=obstacles, self_collision=False, only=["panda_hand"], **options)


def tip_ball() -> CollisionModel:
    """A ball at Panda's fingers and nothing else: one pair, one row."""
    return CollisionModel((Body("tip", model_of("panda").joint("panda_joint7").index, ball(0.05, [0, 0, 0.2])),), ())


def hand_at_home(name: str = "panda") -> np.ndarray:
    model = model_of(name)
    model.update(model.robot.home, np.zeros(model.nv))
    return model.placement(model.frame(model.robot.hands[0])).translation.copy()


@pytest.mark.parametrize("dt", [1e-3, 5e-3])
def test_the_last_centimetres_take_their_time(dt) -> None:
    """Pressed against a wall, the distance above margin and smoothing decays at the rate, whatever dt is."""
    rate, tip = 20.0, hand_at_home()
    wall = sot.Obstacle("wall", plane=[-1.0, 0.0, 0.0], at=tip + np.array([0.3, 0.0, 0.0]))
    collisions = Collisions(margin=MARGIN, obstacles=[wall], rate=rate, model=tip_ball())
    hand = Position("panda_hand_tcp", gain=10.0, reference=tip + np.array([0.6, 0.0, 0.0]))
    stack = sot.Stack([JointLimits(), collisions], [hand, Posture(weight=1e-3)])
    smooth: list[float] = []

    def look(k: int, state: sot.State) -> None:
        if k:
            smooth.append(float(collisions._watch.distances.min()))

    drive(load("panda"), stack, collisions, round(0.8 / dt), dt, before=look)
    above = np.array(smooth) - MARGIN - collisions.smoothing
    span = (above < 0.01) & (above > 1e-3)
    rates = -np.diff(np.log(above[span])) / dt
    assert span.sum() * dt > 0.08 and np.median(np.abs(rates - rate)) <= 0.05 * rate
    assert above.min() > -1e-4


def test_two_rates_give_the_same_motion() -> None:
    """200 Hz and 1 kHz: the same path past an obstacle, within a few mrad."""
    tip = hand_at_home()
    motions = []
    for dt in (1e-3, 5e-3):
        post = sot.Obstacle("post", ball=0.08, at=tip + np.array([0.05, 0.25, 0.02]))
        collisions = gripper([post])
        hand = Position("panda_hand_tcp", gain=5.0, reference=sot.move(by=[0.0, 0.5, 0.0], duration=1.0))
        stack = sot.Stack([JointLimits(), collisions], [hand, Posture(weight=1e-2)])
        motion = drive(load("panda"), stack, collisions, round(2.0 / dt), dt)
        assert motion.distance.min() <= MARGIN + 0.01
        motions.append(motion.q[:: round(0.01 / dt)])
    assert np.abs(motions[0] - motions[1]).max() <= 0.02
    assert np.abs(motions[0][-1] - motions[1][-1]).max() <= 2e-3


def test_a_pair_that_comes_within_influence_changes_nothing() -> None:
    """The command with and without the constraint: the same just inside of the influence distance."""
    robot, tip = load("panda"), hand_at_home()
    commands = []
    for offset in (0.0, 1e-7, None):
        wall = sot.Obstacle("wall", plane=[-1.0, 0.0, 0.0], at=tip)
        collisions = gripper([wall])
        model = model_of("panda")
        model.update(robot.home, np.zeros(model.nv))
        collisions.setup(model)
        collisions.rows(model, Tick(0.0, 1e-3, np.zeros(model.nv)))
        gap = float(collisions._watch.memory[0, 9])
        wall.pose = tip + np.array([collisions.influence - gap - (offset or 0.0), 0.0, 0.0])
        hand = Position("panda_hand_tcp", gain=5.0, reference=tip + np.array([0.3, 0.0, 0.0]))
        hard = [JointLimits()] if offset is None else [JointLimits(), collisions]
        controller = sot.Controller(robot, sot.Stack(hard, [hand, Posture(weight=1e-2)]))
        commands.append(controller.step(sot.State(0.0, robot.home, np.zeros(model.nv))).v.copy())
    assert np.abs(commands[0] - commands[2]).max() <= 1e-9
    assert np.abs(commands[1] - commands[2]).max() <= 1e-9 and np.abs(commands[2]).max() > 0.5


def test_bodies_that_overlap_come_apart_slowly() -> None:
    """A start deep inside an obstacle: out of it at the recovery speed at most, and then the margin is kept."""
    robot, tip = load("panda"), hand_at_home()
    for hull in ({"box": [0.3, 0.3, 0.3]}, {"ball": 0.15}, {"capsule": [0.4, 0.1]}):
        collisions = gripper([sot.Obstacle("thing", at=tip + np.array([0.03, 0.02, -0.05]), **hull)], recovery=0.2)
        stack = sot.Stack([JointLimits(), collisions], [Position("panda_hand_tcp"), Posture(weight=1e-2)])
        motion = drive(robot, stack, collisions, 3000)
        assert motion.distance[0] < -0.05 and motion.distance[-1] >= MARGIN - 1e-4
        assert np.diff(motion.distance).max() <= 0.25e-3 and np.isfinite(motion.v).all()


# -- obstacles that move -----------------------------------------------------------------------------------------


def fly_by(known: bool, speed: float = 0.3) -> Motion:
    """A ball flies towards the hand, which wants to stay where it is."""
    robot, tip = load("panda"), hand_at_home()
    start = tip + np.array([0.0, 0.6, 0.03])
    thing = sot.Obstacle("ball", ball=0.1, at=start, velocity=[0.0, -speed if known else 0.0, 0.0])
    collisions = gripper([thing])
    stack = sot.Stack([JointLimits(), collisions], [Position("panda_hand_tcp", gain=2.0), Posture(weight=1e-2)])

    def see(k: int, state: sot.State) -> None:
        if not known:
            thing.pose = start - np.array([0.0, speed * state.time, 0.0])

    return drive(robot, stack, collisions, 2500, before=see)


def test_the_arm_makes_way() -> None:
    """With the known velocity the margin is kept; from poses alone the ball comes closer than that."""
    assert fly_by(known=True).distance.min() >= MARGIN - 1e-4
    assert fly_by(known=False).distance.min() < MARGIN - 2e-3


def test_where_an_obstacle_is() -> None:
    """From where it was put, with its velocity; a new velocity leads on from where it is now; `reset` goes back."""
    thing = sot.Obstacle("thing", box=[0.1, 0.2, 0.3], at=[1.0, 0.0, 0.0], velocity=[0.0, 0.1, 0.0])
    assert np.allclose(thing.placed(100.0, 1e-3)[0].translation, [1.0, 0.0, 0.0])
    pose, speed = thing.placed(102.0, 1e-3)
    assert np.allclose(pose.translation, [1.0, 0.2, 0.0]) and np.allclose(speed, [0, 0.1, 0, 0, 0, 0])
    thing.velocity = [0.0, 0.0, 0.5]
    thing.angular_velocity = [0.0, 0.0, 1.0]
    pose, speed = thing.placed(103.0, 1e-3)
    assert np.allclose(pose.translation, [1.0, 0.2, 0.5]) and np.allclose(
        pose.rotation, exp3(np.array([0.0, 0.0, 1.0]))
    )
    assert np.allclose(speed, [0, 0, 0.5, 0, 0, 1.0]) and thing.moving
    thing.pose = [2.0, 0.0, 0.0]
    assert np.allclose(thing.placed(200.0, 1e-3)[0].translation, [2.0, 0.0, 0.0])
    thing.placed(201.0, 1e-3)
    thing.reset()
    assert np.allclose(thing.pose.translation, [2.0, 0.0, 0.0])
    thing.velocity = thing.angular_velocity = [0.0, 0.0, 0.0]
    assert not thing.moving


def test_a_motion_has_its_velocity() -> None:
    """The mean over the tick to come, by differences of the poses."""
    turn = np.array([0.0, 0.0, 2.0])
    swing = sot.Obstacle("swing", box=[0.1] * 3, motion=lambda t: SE3(exp3(t * turn), np.array([np.sin(t), 0.0, 1.0])))
    pose, speed = swing.placed(0.3, 1e-4)
    assert np.allclose(pose.translation, [np.sin(0.3), 0.0, 1.0])
    assert np.allclose(speed, [np.cos(0.3), 0, 0, 0, 0, 2.0], atol=1e-4)
    spot = sot.Obstacle("spot", ball=0.1, motion=lambda t: [t, 0.0, 0.0], rpy=None)
    assert np.allclose(spot.placed(2.0, 1e-3)[0].translation, [2.0, 0.0, 0.0])


@pytest.mark.parametrize("solver", ["hierarchical", "weighted", "nullspace"])
def test_all_meanings_keep_the_margin(solver) -> None:
    assert roam("panda", 1500, 1e-3, seed=4, solver=solver).distance.min() >= MARGIN - 1e-5


def push_on(solver: str) -> Motion:
    """A start a little closer than the rows want it, and a task that pushes on: one body, one wall, one row."""
    robot, tip = load("panda"), hand_at_home()
    wall = sot.Obstacle("wall", plane=[-1.0, 0.0, 0.0], at=tip)
    collisions = Collisions(margin=MARGIN, obstacles=[wall], model=tip_ball())
    gap = collisions.nearest(model_of("panda"), 1)[0].distance
    wall.pose = tip + np.array([MARGIN + 0.5 * collisions.smoothing - gap, 0.0, 0.0])
    hand = Position("panda_hand_tcp", gain=10.0, reference=tip + np.array([0.2, 0.1, 0.0]))
    return drive(
        robot, sot.Stack([JointLimits(), collisions], [hand, Posture(weight=1e-2)]), collisions, 500, solver=solver
    )


@pytest.mark.parametrize("solver", ["hierarchical", "weighted", "nullspace"])
def test_too_close_already_it_does_not_come_closer(solver) -> None:
    assert push_on(solver).distance.min() >= MARGIN


def test_the_plain_definition_gives_the_same_motion() -> None:
    robot, tip = load("panda"), hand_at_home()
    ends = []
    for compiled in (True, False):
        collisions = gripper([sot.Obstacle("post", box=[0.1, 0.1, 0.6], at=tip + np.array([0.12, 0.0, 0.0]))])
        hand = Position("panda_hand_tcp", gain=5.0, reference=tip + np.array([0.3, 0.1, 0.0]))
        stack = sot.Stack([JointLimits(), collisions], [hand, Posture(weight=1e-2)])
        motion = drive(robot, stack, collisions, 120, 5e-3, compiled=compiled)
        assert type(collisions._watch) is (Distances if compiled else PlainDistances)
        ends.append(motion)
    assert np.abs(ends[0].q - ends[1].q).max() <= 1e-6 and ends[0].distance.min() <= MARGIN + 0.005


def test_on_a_later_level_it_is_soft() -> None:
    """Below the task it gives way to it; above it does not."""
    tip = hand_at_home()
    ends = []
    for soft in (False, True):
        collisions = gripper([sot.Obstacle("post", ball=0.1, at=tip + np.array([0.2, 0.0, 0.0]))])
        hand = Position("panda_hand_tcp", gain=5.0, reference=tip + np.array([0.2, 0.0, 0.0]))
        levels = [[JointLimits()], [hand], [collisions, Posture(weight=1e-2)]]
        if not soft:
            levels = [[JointLimits(), collisions], [hand, Posture(weight=1e-2)]]
        ends.append(drive(load("panda"), sot.Stack(*levels), collisions, 1000).distance.min())
    assert ends[0] >= MARGIN - 1e-5 and ends[1] < 0.0


def test_looking_changes_nothing() -> None:
    """Reports, sketches and the count of violations leave the commands as they are, to the last bit."""
    robot, tip = load("panda"), hand_at_home()
    runs = []
    for curious in (False, True):
        post = sot.Obstacle(
            "post", box=[0.1, 0.1, 0.8], at=tip + np.array([0.15, 0.0, 0.0]), velocity=[-0.05, 0.0, 0.0]
        )
        collisions = Collisions(obstacles=[post])
        hand = Position("panda_hand_tcp", reference=tip + np.array([0.3, 0.0, 0.0]))
        controller = sot.Controller(robot, sot.Stack([JointLimits(), collisions], [hand], [Posture()]), dt=5e-3)
        state, model = sot.State(0.0, robot.home, np.zeros(controller.model.nv)), controller.model
        for k in range(60):
            command = controller.step(state)
            if curious:
                controller.explain()
                controller.report()
                collisions.sketch(model)
                collisions.violation(model, Tick(state.time, 5e-3, command.v), command.v)
                collisions.nearest(model, 5)
            state = sot.State((k + 1) * 5e-3, model.integrate(state.q, 5e-3 * command.v), command.v.copy())
        runs.append(state.q)
    assert np.array_equal(*runs)


def test_a_change_of_the_stack_keeps_slots() -> None:
    """A task that is pushed lays the stack out anew; pairs stay where they are, and the command does not jump."""
    robot, tip = load("panda"), hand_at_home()
    collisions = gripper([sot.Obstacle("post", ball=0.1, at=tip + np.array([0.2, 0.0, 0.0]))])
    hand = Position("panda_hand_tcp", reference=tip + np.array([0.2, 0.0, 0.0]))
    stack = sot.Stack([JointLimits(), collisions], [hand, Posture(weight=1e-2)])

    def change(k: int, state: sot.State) -> None:
        if k == 300:
            before.append(collisions._watch.slots.copy())
            stack.push(Pose("panda_link4", weight=1e-3, name="elbow"), level=1, ramp=0.2)

    before: list[np.ndarray] = []
    motion = drive(robot, stack, collisions, 400, before=change)
    assert np.array_equal(before[0], collisions._watch.slots)
    assert np.abs(np.diff(motion.v[295:310], axis=0)).max() <= 0.05


# -- what it tells -----------------------------------------------------------------------------------------------


def clash() -> tuple[sot.Controller, Collisions]:
    """A hand on level 0 that must go where a wall is."""
    robot, tip = load("panda"), hand_at_home()
    collisions = gripper([sot.Obstacle("wall", plane=[-1.0, 0.0, 0.0], at=tip + np.array([0.05, 0.0, 0.0]))])
    hand = Position("panda_hand_tcp", name="hand", gain=50.0, reference=tip + np.array([0.2, 0.0, 0.0]))
    controller = sot.Controller(robot, sot.Stack([JointLimits(), collisions, hand], [Posture()]))
    controller.step(sot.State(0.0, robot.home, np.zeros(controller.model.nv)))
    return controller, collisions


def test_reports_name_the_pair() -> None:
    controller, _ = clash()
    report = controller.report()
    assert report.infeasible
    blamed = next(clash for clash in report.clashes if clash.entry == "collisions")
    assert "panda_hand – wall" in blamed.text and " mm" in blamed.parts[0] and blamed.unit == "m/s"


def test_facts_are_in_the_explanation() -> None:
    controller, collisions = clash()
    facts = controller.explain().entry("collisions").facts
    assert facts["nearest pair"] == "panda_hand – wall"
    assert np.isclose(facts["distance in m"], collisions.nearest(controller.model, 1)[0].distance)
    assert facts["pairs within influence"] == 1.0 and facts["pairs at their bound"] == 1.0


def test_nearest_pairs_are_data() -> None:
    """Sorted by distance; points lie on the surfaces and the normal joins them."""
    model = model_of("talos")
    model.update(model.robot.home, np.zeros(model.nv))
    pairs = Collisions().nearest(model, 30)
    distances = [pair.distance for pair in pairs]
    assert len(pairs) == 30 and distances == sorted(distances)
    for pair in pairs:
        assert np.abs(pair.points[1] - pair.points[0] - pair.distance * pair.normal).max() <= 1e-4
        assert pair.names[0] in str(pair) and " mm" in str(pair)
    assert all(pair.distance < 0.1 for pair in Collisions(influence=0.1).nearest(model))


def test_violations_are_measured_on_the_robot() -> None:
    """Also where the rows were never asked, and NaN where nothing can be said."""
    robot, model, tip = load("panda"), model_of("panda"), hand_at_home()
    collisions = gripper([sot.Obstacle("ball", ball=0.1, at=tip)])
    collisions.setup(model)
    tick, v = Tick(0.0, 1e-3, np.zeros(model.nv)), np.zeros(model.nv)
    deep = collisions.violation(model, tick, v)
    assert np.isclose(deep, MARGIN - collisions.nearest(model, 1)[0].distance) and deep > 0.1
    q = robot.home.copy()
    q[0] = 2.0
    model.update(q, v)
    assert collisions.violation(model, tick, v) == 0.0
    model.update(np.full(model.nq, np.nan), v)
    assert np.isnan(collisions.violation(model, tick, v))
    model.update(robot.home, v)


def test_sketches() -> None:
    """Lines in the colours of their distances, and obstacles where they are."""
    tip = hand_at_home()
    model = model_of("panda")
    shapes = {"ball": 0.05, "box": [0.1, 0.2, 0.3], "capsule": (0.2, 0.05), "plane": [0, 0, 1]}
    shapes["convex"] = [[0, 0, 0], [0.1, 0, 0], [0, 0.1, 0], [0, 0, 0.1]]
    around = [
        sot.Obstacle(word, at=tip + np.array([0.0, 0.02 * k + 0.2, 0.3]), **{word: value})
        for k, (word, value) in enumerate(shapes.items())
    ]
    drawings = Collisions(obstacles=around).sketch(model)
    solids = {drawing.name: drawing for drawing in drawings if isinstance(drawing, Solid)}
    assert set(solids) == set(shapes) and all(solid.colour[3] < 1.0 for solid in solids.values())
    assert np.allclose(solids["box"].pose[:3, 3], around[1].pose.translation)
    names = [drawing.name for drawing in drawings]
    assert len(set(names)) == len(names)
    pair = Collisions(obstacles=around).nearest(model, 1)[0]
    for distance, colour in ((0.06, CALM), (0.04, WARNING), (0.0105, ALARM), (-0.1, ALARM)):
        line = drawing.line(type(pair)(pair.names, distance, pair.points, pair.normal), 0.01, 0.1)
        assert isinstance(line, Line) and line.colour == colour


def test_drawn_surfaces_are_closed_and_of_the_right_size() -> None:
    """The volume inside the drawn triangles of a capsule is hardly less than that of the capsule."""
    mesh = drawing.surface(capsule([0, 0, -0.1], [0, 0, 0.1], 0.05))
    a, b, c = (mesh.vertices[mesh.faces[:, k]] for k in range(3))
    volume = np.einsum("ij,ij->i", a, np.cross(b, c)).sum() / 6.0
    true = np.pi * 0.05**2 * 0.2 + 4.0 / 3.0 * np.pi * 0.05**3
    assert 0.95 * true <= volume <= true


# -- files and errors --------------------------------------------------------------------------------------------

FILE = """
robot: panda
stack:
  - - joint_limits
    - collisions:
        margin: 0.02
        ignore: [panda_link3, [panda_hand, post]]
        obstacles:
          - {name: post, box: [0.1, 0.1, 0.8], at: [0.4, 0, 0.4], rpy: [0, 0, 0.5]}
          - {name: ball, ball: 0.1, at: [0.5, 0, 1, 0, 0, 0, 1], velocity: [0, 0.1, 0]}
          - {name: floor, plane: [0, 0, 1], ignore: [panda_link1, panda_link2]}
          - {name: rock, convex: [[0, 0, 0], [0.1, 0, 0], [0, 0.1, 0], [0, 0, 0.1]], at: [1, 1, 0]}
          - {name: rod, capsule: [0.3, 0.02], at: [1, -1, 0]}
  - posture
"""


def test_obstacles_in_yaml() -> None:
    """They come as typed objects, and go back to the same text."""
    config = parse_run(FILE, "run.yaml")
    collisions = config.stack["collisions"]
    post, thing, *_ = collisions.obstacles
    assert np.allclose(post.pose.rotation, exp3(np.array([0, 0, 0.5]))) and thing.moving
    model = model_of("panda")
    collisions.setup(model)
    pairs = {frozenset(collisions._watch.pair(i).names) for i in range(len(collisions._watch.memory))}
    assert frozenset(("panda_hand", "post")) not in pairs and frozenset(("panda_hand", "floor")) in pairs
    assert not any("panda_link3" in pair for pair in pairs)
    assert frozenset(("panda_link1", "floor")) not in pairs and frozenset(("panda_link1", "post")) in pairs
    assert not any("panda_link0" in pair and "post" in pair for pair in pairs), "the base does not move"
    again = parse_run(dump(config), "again.yaml").stack["collisions"]
    assert [list(o.at) for o in again.obstacles] == [list(o.at) for o in collisions.obstacles]
    assert dump(parse_run(dump(config), "again.yaml")) == dump(config)


BAD_LINES = {
    "box: [0.1, 0.1]": "3 numbers",
    "ball: -1": "radius",
    "ball: 0.1, box: [1, 1, 1]": "exactly one",
    "at: [0, 0, 0]": "exactly one",
    "ball: 0.1, at: [0, 0]": "pose",
    "ball: 0.1, at: [0, 0, .nan]": "finite",
    "ball: 0.1, colour: red": "colour",
    "plane: [0, 0, 0]": "normal",
    "convex: [[0, 0], [1, 1]]": "points",
    "ball: 0.1, velocity: 3": "list",
    "ball: 0.1, ignore: [panda_lonk1]": "panda_link1",
}


@pytest.mark.parametrize("line", BAD_LINES)
def test_a_wrong_obstacle_in_a_file_is_found(line) -> None:
    text = f"robot: panda\nstack:\n  - collisions:\n      obstacles:\n        - {{name: thing, {line}}}\n"
    with pytest.raises(ConfigError) as caught:
        parse_run(text, "run.yaml")
    assert BAD_LINES[line] in str(caught.value) and "run.yaml:" in str(caught.value)


def test_the_file_of_an_example_is_read(tmp_path) -> None:
    (tmp_path / "run.yaml").write_text(FILE)
    assert load_run(tmp_path / "run.yaml").stack["collisions"].margin == 0.02


TWO = [sot.Obstacle("same", ball=0.1), sot.Obstacle("same", ball=0.2)]
BAD = {
    "influence": (lambda: Collisions(margin=0.1, influence=0.1), "influence"),
    "margin": (lambda: Collisions(margin=-0.1), "margin"),
    "NaN rate": (lambda: Collisions(rate=np.nan), "rate"),
    "smoothing": (lambda: Collisions(smoothing=0.0), "smoothing"),
    "pairs": (lambda: Collisions(pairs=0), "pairs"),
    "names": (lambda: Collisions(obstacles=TWO), "same"),
    "not an obstacle": (lambda: Collisions(obstacles=[{"ball": 1}]), "sot.Obstacle"),
    "only": (lambda: Collisions(only=["panda_lnk*"]), "panda_link1"),
    "ignore": (lambda: Collisions(ignore=[["a", "b", "c"]]), "two"),
    "nothing": (lambda: Collisions(self_collision=False), "no pair"),
    "NaN pose": (lambda: sot.Obstacle("x", ball=0.1, at=[0, np.nan, 0]), "finite"),
    "NaN velocity": (lambda: sot.Obstacle("x", ball=0.1, velocity=[0, np.nan, 0]), "velocity"),
    "two velocities": (lambda: sot.Obstacle("x", ball=1, motion=lambda t: [t, 0, 0], velocity=[1, 0, 0]), "motion"),
    "bad motion": (lambda: sot.Obstacle("x", ball=1, motion=lambda t: [t, np.inf, 0]), "finite"),
    "two orientations": (lambda: sot.Obstacle("x", ball=1, at=[0, 0, 0, 0, 0, 0, 1], rpy=[0, 0, 1]), "twice"),
}


@pytest.mark.parametrize("case", BAD)
def test_what_is_wrong_is_said(case) -> None:
    make, words = BAD[case]
    with pytest.raises(SotError) as caught:
        made = make()
        made.setup(model_of("panda"))
    assert words in str(caught.value), str(caught.value)


def test_a_bad_pose_at_run_time_is_refused_and_the_old_one_kept() -> None:
    thing = sot.Obstacle("thing", ball=0.1, at=[1.0, 2.0, 3.0])
    for bad in ([0, 0, np.nan], [0, 0], "here", np.full((4, 4), np.nan)):
        with pytest.raises(TaskError, match="thing"):
            thing.pose = bad
    with pytest.raises(TaskError, match="velocity"):
        thing.velocity = [np.inf, 0, 0]
    assert np.allclose(thing.pose.translation, [1.0, 2.0, 3.0]) and not thing.moving


def test_a_motion_that_breaks_during_a_run_stops_it() -> None:
    """A pose that is none is an error, not an obstacle that is no longer there."""
    robot = load("panda")
    lost = sot.Obstacle("lost", ball=0.1, motion=lambda t: [2.0, 0.0, 0.0 if t < 0.01 else np.nan])
    controller = sot.Controller(robot, sot.Stack([JointLimits(), Collisions(obstacles=[lost])], [Posture()]))
    with pytest.raises(TaskError, match="lost"):
        sot.run(Kinematic(robot), controller, duration=0.1)


def test_a_state_that_is_not_finite_is_refused() -> None:
    """A stack of collisions alone notices it too."""
    robot = load("panda")
    controller = sot.Controller(robot, sot.Stack([Collisions()], []))
    nv = controller.model.nv
    controller.step(sot.State(0.0, robot.home, np.zeros(nv)))
    with pytest.raises(sot.errors.RobotError):
        controller.step(sot.State(1e-3, np.full(robot.home.size, np.nan), np.zeros(nv)))


def test_only_and_ignore_choose_pairs() -> None:
    model = model_of("talos")
    every, arms = Collisions(), Collisions(only=["arm_left_*"])
    without = Collisions(only="arm_left_*", ignore=[["arm_left_*", "leg_*"]])
    for collisions in (every, arms, without):
        collisions.setup(model)
    counts = [len(collisions._watch.memory) for collisions in (every, arms, without)]
    assert counts[0] > counts[1] > counts[2] > 0
    names = [without._watch.pair(i).names for i in range(counts[2])]
    assert all(any(name.startswith("arm_left") for name in pair) for pair in names)
    assert not any(any(name.startswith("leg") for name in pair) for pair in names)


def test_bodies_on_one_joint_are_no_pair() -> None:
    """Nothing can change their distance."""
    bodies = (Body("a", 3, ball(0.1)), Body("b", 3, ball(0.1, [0.5, 0, 0])), Body("c", 5, ball(0.1)))
    collisions = Collisions(model=CollisionModel(bodies, ((0, 1), (0, 2))))
    collisions.setup(model_of("panda"))
    assert len(collisions._watch.memory) == 1
