"""The second-order closures of Huang et al. 2000 in plain numpy, written apart from the product."""

import numpy as np

from linkwork.arrays import Floats
from linkwork.offline.taylor import Connection, MaximalModel, TaylorStepper


def hat(a: Floats) -> Floats:
    return np.array([[0.0, -a[2], a[1]], [a[2], 0.0, -a[0]], [-a[1], a[0], 0.0]])


class Bodies:
    """Centres, axes and free motion of the rigid bodies of a stepper; the world is the last one."""

    def __init__(self, stepper: TaylorStepper, dt: float) -> None:
        model = stepper.model
        self.model, self.dt, self.n = model, dt, len(model.rigids)
        self.axes = [stepper.pose(r.members[0]).axes for r in model.rigids]
        self.centre = [np.array(c) for c in stepper.position]
        self.inertia = [a @ r.inertia @ a.T for a, r in zip(self.axes, model.rigids, strict=True)]
        self.omega = [a @ s for a, s in zip(self.axes, stepper.spin, strict=True)]
        self.velocity = [np.array(v) for v in stepper.velocity]
        self.wrench = np.concatenate([stepper.force, stepper.torque], axis=1)  # applied
        for k, (b, a, force, moment) in enumerate(self._drives()):
            self.load(b, a, stepper.effort[k] * force, stepper.effort[k] * moment)

    def frame(self, f) -> tuple[int, Floats, Floats]:
        """Body, point (world) and axes (world) of a frame."""
        seat = self.model.seats[f.body]
        axes = self.axes[seat.rigid] if seat.rigid >= 0 else np.eye(3)
        centre = self.centre[seat.rigid] if seat.rigid >= 0 else np.zeros(3)
        place = centre + axes @ (seat.origin + seat.axes @ np.asarray(f.at_m))
        return seat.rigid, place, axes @ seat.axes @ np.asarray(f.rotation)

    def _drives(self):
        for c in self.joints():
            z = self.frame(c.a)[2][:, 2]
            b, place, _ = self.frame(c.b)
            a = self.frame(c.a)[0]
            for kind in {"revolute": "t", "prismatic": "s", "cylindrical": "ts"}.get(c.kind, ""):
                yield (b, place), (a, place), z * (kind == "s"), z * (kind == "t")

    def joints(self) -> list[Connection]:
        return [c for c in self.model.connections if c.kind != "fixed"]

    def load(self, b, a, force: Floats, moment: Floats) -> None:
        for sign, (body, place) in ((1.0, b), (-1.0, a)):
            if body >= 0:
                self.wrench[body, :3] += sign * force
                self.wrench[body, 3:] += sign * (moment + np.cross(place - self.centre[body], force))

    def accelerations(self, wrench: Floats) -> Floats:
        """Linear and angular (n × 6, world) for wrenches about the centres; gravity, gyroscopic included."""
        result = np.empty((self.n, 6))
        for i, r in enumerate(self.model.rigids):
            gyroscopic = np.cross(self.omega[i], self.inertia[i] @ self.omega[i])
            result[i, :3] = self.model.gravity_m_s2 + wrench[i, :3] / r.mass
            result[i, 3:] = np.linalg.solve(self.inertia[i], wrench[i, 3:] - gyroscopic)
        return result

    def displacement(self, wrench: Floats) -> Floats:
        """Shift and rotation vector (n × 6) in the step."""
        twist = np.concatenate([self.velocity, self.omega], axis=1)
        return self.dt * twist + 0.5 * self.dt**2 * self.accelerations(wrench)

    def moved_point(self, body: int, place: Floats, kap: Floats) -> Floats:
        if body < 0:
            return place
        return self.centre[body] + kap[body, :3] + self.moved(body, place - self.centre[body], kap)

    @staticmethod
    def moved(body: int, s: Floats, kap: Floats) -> Floats:
        if body < 0:
            return s
        turn = hat(kap[body, 3:])
        return (np.eye(3) + turn + 0.5 * turn @ turn) @ s

    def closures(self, kap: Floats) -> Floats:
        """All closures after the displacement, to second order of every moved vector."""
        values: list[float] = []
        for c in self.joints():
            (a, p_a, f_a), (b, p_b, f_b) = self.frame(c.a), self.frame(c.b)
            apart = self.moved_point(b, p_b, kap) - self.moved_point(a, p_a, kap)
            z_a, z_b = self.moved(a, f_a[:, 2], kap), self.moved(b, f_b[:, 2], kap)
            e = f_a[:, :2].T
            values += list(apart) if c.kind in ("spherical", "revolute") else list(e @ np.cross(z_a, apart))
            if c.kind != "spherical":
                values += list(e @ np.cross(z_b, z_a))
            if c.kind == "prismatic":
                values.append(self.moved(b, f_b[:, 1], kap) @ self.moved(a, f_a[:, 0], kap))
        return np.array(values)

    def unit_wrenches(self, kap: Floats) -> list[Floats]:
        """Of each unknown: the wrenches (n × 6, about the centres) at the displaced places."""
        result = []
        for c in self.joints():
            (a, _, f_a), (b, p_b, _) = self.frame(c.a), self.frame(c.b)
            axes = np.column_stack([self.moved(a, x, kap) for x in f_a.T])
            place = self.moved_point(b, p_b, kap)
            whole = c.kind in ("spherical", "revolute")
            forces = list(np.eye(3)) if whole else list(axes.T[:2])
            moments = {"spherical": 0, "prismatic": 3}.get(c.kind, 2)
            pairs = [(e, np.zeros(3)) for e in forces] + [(np.zeros(3), e) for e in axes.T[:moments]]
            for force, moment in pairs:
                wrench = np.zeros((self.n, 6))
                for sign, body in ((1.0, b), (-1.0, a)):
                    if body >= 0:
                        lever = place - self.centre[body] - kap[body, :3]
                        wrench[body, :3] += sign * force
                        wrench[body, 3:] += sign * (moment + np.cross(lever, force))
                result.append(wrench)
        return result


def system_of(stepper: TaylorStepper, dt: float, reactions_at: float):
    """The function Q -> closures after the step, for the stepper's state and loads."""
    bodies = Bodies(stepper, dt)
    units = bodies.unit_wrenches(reactions_at * bodies.displacement(bodies.wrench))

    def closures(q: Floats) -> Floats:
        wrench = bodies.wrench + sum((x * u for x, u in zip(q, units, strict=True)), np.zeros((bodies.n, 6)))
        return bodies.closures(bodies.displacement(wrench))

    return closures, bodies


def saddle_point_reactions(stepper: TaylorStepper, differentiate) -> dict[str, tuple[Floats, Floats]]:
    """Force and moment on b of every joint from M a = loads + Z'Q, G a = -Ġ v, in maximal coordinates."""
    bodies = Bodies(stepper, 0.0)
    still = np.zeros((bodies.n, 6))
    twist = np.concatenate([bodies.velocity, bodies.omega], axis=1)
    units = bodies.unit_wrenches(still)
    gradient = np.column_stack(
        [differentiate(lambda t, e=e: bodies.closures(t * e.reshape(-1, 6))) for e in np.eye(6 * bodies.n)]
    )
    # second derivative along v: the closures are exact to second order of the displacement
    forward, back, here = (bodies.closures(h * twist) for h in (1e-4, -1e-4, 0.0))
    curvature = (forward + back - 2.0 * here) / 1e-8
    rest = bodies.accelerations(bodies.wrench)
    columns = np.column_stack([(bodies.accelerations(bodies.wrench + u) - rest).ravel() for u in units])
    q = np.linalg.solve(gradient @ columns, -curvature - gradient @ rest.ravel())
    result, row = {}, 0
    for c in bodies.joints():
        axes = bodies.frame(c.a)[2]
        whole = c.kind in ("spherical", "revolute")
        force_axes = np.eye(3) if whole else axes[:, :2]
        moments = {"spherical": 0, "prismatic": 3}.get(c.kind, 2)
        k = force_axes.shape[1]
        force = force_axes @ q[row : row + k]
        moment = axes[:, :moments] @ q[row + k : row + k + moments]
        result[c.name] = force, moment
        row += k + moments
    return result


__all__ = ["Bodies", "MaximalModel", "saddle_point_reactions", "system_of"]
