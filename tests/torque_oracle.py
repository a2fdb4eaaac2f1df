"""What pinocchio and nonnegative least squares say about a command at torque level, without asking the code under test.

A contact is known here by its frame, its points in that frame, its normal and its friction, as the user gave them; and
by the wrench that `Controller.contact_forces` tells.
"""

from __future__ import annotations

import numpy as np
import pinocchio as pin
from scipy.optimize import linprog, nnls

from sot import wrench_cone
from sot.state import State
from sot.tasks import Contact

G = 9.81


def weight(robot):
    return robot.mass * G


def points_of(robot, contact):
    """Where a contact touches, in its frame: what the user said, or the robot's foot, or the frame's origin."""
    if contact.points is not None:
        return np.atleast_2d(contact.points)
    feet = {foot.frame: foot.points for foot in robot.feet}
    return np.atleast_2d(feet.get(contact.frame, np.zeros((1, 3))))


def contacts_of(controller):
    return [entry for entry in controller.stack if isinstance(entry, Contact)]


class Look:
    """A command seen by pinocchio: nothing is asked of the solver but the command and the forces that are told.

    Args:
        controller: It made the command.
        state: For this state.
        command: The command.
        contacts: Those that push; by default those of the stack.
    """

    def __init__(self, controller, state, command, contacts=None):
        self.robot, self.state, self.command = controller.robot, state, command
        self.contacts = contacts_of(controller) if contacts is None else contacts
        self.model = controller.robot.pin_model
        self.data = self.model.createData()
        self.acceleration = (command.v - state.v) / controller.dt
        self.forces = controller.contact_forces()
        pin.computeJointJacobians(self.model, self.data, state.q)
        pin.updateFramePlacements(self.model, self.data)

    def placement(self, contact):
        return self.data.oMf[self.model.getFrameId(contact.frame)]

    def contact_torque(self):
        """Σ Jᵀ w."""
        total = np.zeros(self.model.nv)
        for contact in self.contacts:
            J = pin.getFrameJacobian(
                self.model, self.data, self.model.getFrameId(contact.frame), pin.LOCAL_WORLD_ALIGNED
            )
            total += J.T @ self.forces.get(contact.name, np.zeros(6))
        return total

    def residual(self):
        """Largest entry of M v̇ + h − τ − Σ Jᵀ w, against the weight."""
        needed = pin.rnea(self.model, self.model.createData(), self.state.q, self.state.v, self.acceleration)
        motors = needed - self.contact_torque()
        for mimic in self.robot.mimics:  # a joint that follows is driven through its gear
            follower, leader = (self.model.joints[self.model.getJointId(n)].idx_v for n in (mimic.joint, mimic.of))
            motors[leader] += mimic.ratio * motors[follower]
            motors[follower] = 0.0
        return np.abs(motors - self.command.tau).max() / weight(self.robot)

    def outside(self, contact):
        """What of a contact's wrench no forces inside the circular cones of its points can make, against the weight."""
        wrench, T = self.forces[contact.name], self.placement(contact)
        points = points_of(self.robot, contact)
        if len(points) == 1:
            at = T.rotation @ points[0]
            torque = wrench[3:] - np.cross(at, wrench[:3])
            n = np.asarray(contact.normal, dtype=float)
            fn = n @ wrench[:3]
            sideways = np.linalg.norm(wrench[:3] - fn * n)
            return max(sideways - contact.friction * fn, -fn, np.abs(torque).max()) / weight(self.robot)
        local = np.concatenate([T.rotation.T @ wrench[:3], T.rotation.T @ wrench[3:]])
        return nnls(self.generators(contact, points), local / weight(self.robot))[1]

    def generators(self, contact, points):
        """Wrenches of forces all around the circular cone of each point, those of the pyramid's edges among them."""
        n = contact.normal / np.linalg.norm(contact.normal)
        R = wrench_cone._axes(n)  # tells where the pyramid's edges are; any axes span the same circle
        count = contact.facets * max(1, 32 // contact.facets)
        angles = 2.0 * np.pi * (np.arange(count) + 0.5 * count / contact.facets) / count
        edges = np.column_stack([contact.friction * np.cos(angles), contact.friction * np.sin(angles), np.ones(count)])
        forces = edges @ R.T
        return np.vstack([np.tile(forces, (len(points), 1)).T,
                          np.vstack([np.cross(point, forces) for point in points]).T])  # fmt: skip

    def point_accelerations(self, contact):
        """Classical acceleration of each point of a contact, in the world, shape (k, 3)."""
        pin.forwardKinematics(self.model, self.data, self.state.q, self.state.v, self.acceleration)
        frame = self.model.frames[self.model.getFrameId(contact.frame)]
        found = []
        for point in points_of(self.robot, contact):
            T = frame.placement * pin.SE3(np.eye(3), np.asarray(point, dtype=float))
            a = pin.getFrameClassicalAcceleration(self.model, self.data, frame.parentJoint, T, pin.LOCAL)
            found.append((self.data.oMi[frame.parentJoint] * T).rotation @ a.linear)
        return np.array(found)

    def moving(self, contact):
        """Largest acceleration of its points, against gravity and the fastest joint."""
        return np.abs(self.point_accelerations(contact)).max() / (G + np.abs(self.acceleration).max())

    def over_limits(self, limits):
        """By which part of its limit the worst torque is beyond it."""
        known = self.robot.actuated & (limits > 0.0) & np.isfinite(limits)
        return float((np.abs(self.command.tau[known]) / limits[known] - 1.0).max())


def still(robot, q, v, contacts):
    """The velocity nearest to v at which the points of these contacts stand still, by pinocchio's Jacobians."""
    model, data = robot.pin_model, robot.pin_model.createData()
    pin.computeJointJacobians(model, data, q)
    pin.updateFramePlacements(model, data)
    rows = [np.zeros((0, model.nv))]
    for contact in contacts:
        J = pin.getFrameJacobian(model, data, model.getFrameId(contact.frame), pin.LOCAL_WORLD_ALIGNED)
        R = data.oMf[model.getFrameId(contact.frame)].rotation
        rows += [J[:3] - pin.skew(R @ point) @ J[3:] for point in points_of(robot, contact)]
    J = np.vstack(rows)
    return v - np.linalg.pinv(J, rcond=1e-9) @ (J @ v)


def near_home(robot, rng, spread):
    """A configuration near home, inside the joint limits."""
    model = robot.pin_model
    q = pin.integrate(model, robot.home, spread * rng.uniform(-1.0, 1.0, model.nv))
    low, high = model.lowerPositionLimit, model.upperPositionLimit
    for joint in model.joints:
        if joint.nq == 1:
            i, room = joint.idx_q, min(0.05, 0.25 * (high[joint.idx_q] - low[joint.idx_q]))
            q[i] = np.clip(q[i], low[i] + room, high[i] - room)
    return q


def hard_gap(problem):
    """By how much the hard rows of a tick have to be broken at least, in the largest row: a linear program."""
    rows = problem.hard_rows
    A, lower, upper = problem.A[rows], problem.lower[rows], problem.upper[rows]
    above, below = np.isfinite(upper), np.isfinite(lower)
    one = np.ones((A.shape[0], 1))
    G = np.vstack([np.hstack([A, -one])[above], np.hstack([-A, -one])[below]])
    h = np.concatenate([upper[above], -lower[below]])
    bounds = [*zip(problem.x_lower, problem.x_upper, strict=True), (0.0, None)]
    result = linprog(np.r_[np.zeros(problem.n), 1.0], A_ub=G, b_ub=h, bounds=bounds, method="highs")
    return result.fun if result.status == 0 else np.nan


def rest(robot):
    return State(0.0, robot.home.copy(), np.zeros(robot.pin_model.nv))


def centre_of_pressure(look, contact):
    """Where the resultant of a contact meets the plane of its points, in its frame, m."""
    points, n = points_of(look.robot, contact), np.asarray(contact.normal, dtype=float)
    R, wrench = look.placement(contact).rotation, look.forces[contact.name]
    force, torque, middle = R.T @ wrench[:3], R.T @ wrench[3:], points.mean(axis=0)
    return middle + np.cross(n, torque - np.cross(middle, force)) / (n @ force)


def off_points(position, points):
    """How far a position is outside the convex hull of points, m: the nearest convex combination."""
    sure = 1e3  # the shares add up to 1
    A, b = np.vstack([np.transpose(points), np.full(len(points), sure)]), np.append(position, sure)
    share = nnls(A, b)[0]
    return float(np.linalg.norm(share @ points / share.sum() - position))
