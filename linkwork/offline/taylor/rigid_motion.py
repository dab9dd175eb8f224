"""Rigid bodies in motion, and in a step without joint reactions: the free part of Huang et al. 2000.

    N' = A' T - w' × J' w',  C = A J'⁻¹ N',  a = F / m + g         loads only, motors and friction included
    shift x = v dt + a dt²/2,  turn θ = ω dt + C dt²/2             displacement and rotation vector

In world axes, where nothing else is said; primes on vectors mean body axes.
"""

import numpy as np

from linkwork.arrays import Floats, Integers
from linkwork.offline.taylor.taylor_model import MaximalModel

_HAT = np.zeros((3, 9))
_HAT[[0, 0, 1, 1, 2, 2], [7, 5, 2, 6, 3, 1]] = [1.0, -1.0, 1.0, -1.0, 1.0, -1.0]


def hat(a: Floats) -> Floats:
    """Return the matrices â (… × 3 × 3) with â b = a × b, for a (… × 3)."""
    return (a @ _HAT).reshape(*a.shape, 3)


def turned(matrices: Floats, a: Floats) -> Floats:
    """Return M a (… × 3) for matrices (… × 3 × 3) and vectors (… × 3)."""
    return np.asarray((matrices @ a[..., None])[..., 0])


def cross(a: Floats, b: Floats) -> Floats:
    """Return a × b (n × 3), for a and b (n × 3)."""
    return turned(hat(a), b)


def dot(a: Floats, b: Floats) -> Floats:
    """Return the products a'b (n), for a and b (n × 3)."""
    return np.asarray((a * b).sum(axis=-1))


class RigidMotion:
    """State of the rigid bodies, loads, and what follows from them; see `TaylorStepper` for the arrays.

    Arrays of bodies have one row more, -1, for the world, which rests at zero. `acceleration` (n × 6): linear
    and angular. After `locate`: `axes` (n × 3 × 3, columns), `omega` (n × 3); of all joints the frames' axes
    `frame_a`, `frame_b` (nj × 3 × 3, columns), their origins from the centres of their bodies `lever_a`,
    `lever_b` (nj × 3), and that of frame b from the centre of a's body, `reach` (nj × 3).
    """

    def __init__(self, model: MaximalModel) -> None:
        """All bodies rest at the world's origin."""
        n = len(model.rigids) + 1
        self.model = model
        self._mass, self._inverse_mass = np.zeros((2, n))
        self._inertia, self._inverse_inertia = np.zeros((2, n, 3, 3))
        for i, rigid in enumerate(model.rigids):
            self._mass[i], self._inverse_mass[i] = rigid.mass, 1.0 / rigid.mass
            self._inertia[i], self._inverse_inertia[i] = rigid.inertia, np.linalg.inv(rigid.inertia)
        self.position, self.velocity, self.spin, self.force, self.torque = np.zeros((5, n, 3))
        self.attitude = np.repeat([[1.0, 0.0, 0.0, 0.0]], n, axis=0)
        self.effort, self.coordinate, self.rate = np.zeros((3, len(model.dof_names)))
        self.acceleration = np.zeros((n, 6))
        self._located: tuple[Floats, ...] = ()

    def locate(self) -> None:
        """Derive axes, frames, and coordinate and rate of every degree of freedom from the state.

        Angles are read by projection and unwrapped from their present value, to the nearest turn.
        """
        m, (w, x, y, z) = self.model, self.attitude.T
        a, b = m.a.body, m.b.body
        state = self.position, self.attitude, self.velocity, self.spin, self.coordinate
        if self._located and all(map(np.array_equal, state, self._located)):
            return
        self.axes = np.array(
            [
                [1.0 - 2.0 * (y * y + z * z), 2.0 * (x * y - w * z), 2.0 * (x * z + w * y)],
                [2.0 * (x * y + w * z), 1.0 - 2.0 * (x * x + z * z), 2.0 * (y * z - w * x)],
                [2.0 * (x * z - w * y), 2.0 * (y * z + w * x), 1.0 - 2.0 * (x * x + y * y)],
            ]
        ).transpose(2, 0, 1)
        self.omega = turned(self.axes, self.spin)
        self.frame_a, self.frame_b = self.axes[a] @ m.a.axes, self.axes[b] @ m.b.axes
        self.lever_a, self.lever_b = turned(self.axes[a], m.a.at), turned(self.axes[b], m.b.at)
        self.reach = self.position[b] + self.lever_b - self.position[a]

        j = m.dof_joint
        a, b, frame, x_b = a[j], b[j], self.frame_a[j], self.frame_b[j, :, 0]
        x_a, axis = frame[:, :, 0], frame[:, :, 2]
        angle = np.arctan2(dot(axis, cross(x_a, x_b)), dot(x_a, x_b))
        angle += 2.0 * np.pi * np.floor((self.coordinate - angle) / (2.0 * np.pi) + 0.5)
        self.coordinate[:] = np.where(m.slides, dot(axis, self.reach[j] - self.lever_a[j]), angle)
        speed = self.velocity[b] + cross(self.omega[b], self.lever_b[j])
        speed -= self.velocity[a] + cross(self.omega[a], self.reach[j])
        self.rate[:] = dot(axis, np.where(m.slides[:, None], speed, self.omega[b] - self.omega[a]))
        self._located = tuple(array.copy() for array in state)

    def wrenches(self, joints: Integers, levers: tuple[Floats, Floats], pulls: Floats) -> Floats:
        """Wrenches (k × n × 6) about the centres of all bodies of forces and moments (k × 6) in joints (k).

        They act on b, and the opposite on a, at points that the `levers` of b and a (k × 3) lead to.
        """
        k, (lever_b, lever_a) = np.arange(len(joints)), levers
        found = np.zeros((len(joints), len(self.axes), 6))
        for sign, body, lever in ((1.0, self.model.b.body, lever_b), (-1.0, self.model.a.body, lever_a)):
            found[k, body[joints]] = sign * pulls
            found[k, body[joints], 3:] += sign * cross(lever, pulls[:, :3])
        return found

    def along(self, dofs: Integers, axes: Floats) -> Floats:
        """Unit force or moment (k × 6) along these degrees of freedom; axes (k × 3)."""
        slides = self.model.slides[dofs, None]
        return np.concatenate([np.where(slides, axes, 0.0), np.where(slides, 0.0, axes)], axis=1)

    def response(self, wrenches: Floats) -> Floats:
        """Linear and angular accelerations (… × n × 6) of free bodies from wrenches about their centres."""
        inverse = self.axes @ self._inverse_inertia @ self.axes.transpose(0, 2, 1)
        linear, angular = self._inverse_mass[:, None] * wrenches[..., :3], turned(inverse, wrenches[..., 3:])
        return np.concatenate([linear, angular], axis=-1)

    def free_acceleration(self) -> Floats:
        """Accelerations (n × 6) of all bodies without reactions: by loads, motors, friction, gravity."""
        j, every = self.model.dof_joint, np.arange(len(self.effort))
        pulls = self.along(every, self.frame_a[j, :, 2])
        units = self.wrenches(j, (self.lever_b[j], self.reach[j]), pulls)
        _, viscous, coulomb, speed = self.model.axis_values
        friction = viscous * self.rate + coulomb * np.tanh(self.rate / speed)
        loads = np.concatenate([self.force, self.torque], axis=1)
        loads += np.tensordot(self.effort - friction, units, 1)
        loads[:, 3:] -= turned(self.axes, cross(self.spin, turned(self._inertia, self.spin)))
        found = self.response(loads)
        found[:-1, :3] += self.model.gravity_m_s2
        return found

    def displacement(self, acceleration: Floats, dt: float) -> Floats:
        """Shift and rotation vector (n × 6) of all bodies in a step of dt (s)."""
        twist = np.concatenate([self.velocity, self.omega], axis=1)
        return np.asarray(dt * twist + 0.5 * dt * dt * acceleration)

    def advance(self, dt: float) -> None:
        """Move the state on by dt (s) with the present accelerations, and `locate`."""
        way, turn = np.split(self.displacement(self.acceleration, dt), 2, axis=1)
        self.position += way
        self.velocity += dt * self.acceleration[:, :3]
        self.spin += dt * turned(self.axes.transpose(0, 2, 1), self.acceleration[:, 3:])
        angle = np.linalg.norm(turn, axis=1, keepdims=True)
        w, u = self.attitude[:, :1], self.attitude[:, 1:]
        c, e = np.cos(0.5 * angle), 0.5 * np.sinc(angle / (2.0 * np.pi)) * turn
        self.attitude[:] = np.concatenate([c * w - dot(e, u)[:, None], c * u + w * e + cross(e, u)], axis=1)
        self.attitude /= np.linalg.norm(self.attitude, axis=1, keepdims=True)
        self.locate()

    def energy(self) -> tuple[float, float]:
        """Kinetic energy, rotors included, and potential energy -Σ m g'r (J)."""
        kinetic = (
            self._mass @ dot(self.velocity, self.velocity)
            + dot(self.spin, turned(self._inertia, self.spin)).sum()
        )
        kinetic += self.model.axis_values[0] @ self.rate**2
        return 0.5 * float(kinetic), -float(self._mass @ self.position @ self.model.gravity_m_s2)
