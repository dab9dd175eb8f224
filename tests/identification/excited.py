"""Motions of a machine whose true parameters are known, with the efforts that they need."""

from dataclasses import dataclass

import numpy as np

from linkwork.arrays import Floats
from linkwork.identification.measured_motion import MeasuredMotion
from linkwork.machine import Machine
from linkwork.multibody import Mechanism
from linkwork.multibody.dynamics.constrained_dynamics import constrained_terms
from linkwork.multibody.functions import inverse_dynamics


@dataclass(frozen=True)
class Fourier:
    """Sums of sines of each independent joint, around the initial pose."""

    places: list[int]
    middle: Floats
    sine: Floats  # joints × harmonics
    frequency: Floats  # harmonics, rad/s
    phase: Floats

    def at(self, t: float) -> tuple[Floats, Floats, Floats]:
        angle = self.frequency * t + self.phase
        y = self.middle + (self.sine * np.sin(angle)).sum(axis=1)
        rate = (self.sine * self.frequency * np.cos(angle)).sum(axis=1)
        return y, rate, -(self.sine * self.frequency**2 * np.sin(angle)).sum(axis=1)


def fourier(
    machine: Machine, joints: list[str], size: float, base_hz: float, rng: np.random.Generator
) -> Fourier:
    mechanism = machine.mechanism
    places = [mechanism.joint_index(name) for name in joints]
    harmonics = np.arange(1, 6)
    scale = mechanism.model.column_scale[places]
    sine = rng.normal(size=(len(joints), 5)) / harmonics
    sine *= (size * scale / np.abs(sine).sum(axis=1))[:, None]
    phase = rng.uniform(0.0, 2.0 * np.pi, size=(len(joints), 5))
    return Fourier(places, machine.initial_q[places].copy(), sine, 2.0 * np.pi * base_hz * harmonics, phase)


def true_efforts(
    machine: Machine, truth: Mechanism, motion: Fourier, times: Floats, added=None
) -> tuple[Floats, Floats]:
    """Positions of all joints (n × nq) and the motors' efforts (n × motors), from inverse dynamics.

    Closures, velocities and accelerations come from least squares on the rows: none of it is the code under
    test. added: a further generalized force (nv) of q and v that the machine has to overcome.
    """
    q, nv = machine.initial_q.copy(), truth.nv
    motors = [motor.index for motor in machine.motors]
    poses, efforts = [], []
    w = truth.workspace()
    for t in times:
        y, rate, acceleration = motion.at(t)
        near = q.copy()
        for _ in range(8):
            near[motion.places] = y
            if not truth.constraints:
                break
            w.q[:] = near
            constrained_terms(*w.arguments)
            a = w.model.row_scale[:, None] * w.A
            free = np.setdiff1d(np.arange(nv), motion.places)
            near[free] -= np.linalg.lstsq(a[:, free], w.model.row_scale * w.phi, rcond=1e-9)[0]
            if np.abs(w.phi).max() < 1e-13:
                break
        q = near
        gradient = np.zeros((nv, len(y)))
        gradient[motion.places, range(len(y))] = 1.0
        bias = np.zeros(nv)
        if truth.constraints:
            free = np.setdiff1d(np.arange(nv), motion.places)
            w.q[:] = q
            constrained_terms(*w.arguments)
            a = w.model.row_scale[:, None] * w.A
            gradient[free] = np.linalg.lstsq(a[:, free], -a[:, motion.places], rcond=1e-9)[0]
            w.v[:] = gradient @ rate
            constrained_terms(*w.arguments)
            bias[free] = np.linalg.lstsq(a[:, free], w.model.row_scale * w.b, rcond=1e-9)[0]
        v, vdot = gradient @ rate, gradient @ acceleration + bias
        needed = inverse_dynamics(truth, q, v, vdot)
        if added is not None:
            needed = needed + added(q, v)
        row = gradient.T @ needed
        efforts.append(np.linalg.lstsq(gradient[motors].T, row, rcond=None)[0])
        poses.append(q.copy())
    return np.array(poses), np.array(efforts)


def changed_truth(machine: Machine, rng: np.random.Generator, friction: float = 0.05) -> Mechanism:
    """Masses ± 30 %, centres ± 20 mm (within the plane of planar machines too), friction of all joints."""
    mechanism = machine.mechanism
    bodies = []
    for body in mechanism.bodies:
        mass = body.mass_kg * (1.0 + rng.uniform(-0.3, 0.3))
        com = np.asarray(body.com_m) + (rng.uniform(-0.02, 0.02, size=3) if body.mass_kg else 0.0)
        inertia = np.asarray(body.inertia_kg_m2) * mass / body.mass_kg if body.mass_kg else body.inertia_kg_m2
        bodies.append(type(body)(body.name, mass, com, inertia, unphysical=True))
    driven = {motor.joint for motor in machine.motors}
    joints = [
        type(joint)(**{
            **vars(joint),
            "viscous": friction * rng.uniform(0.3, 1.0) * (1.0 if joint.name in driven else 0.1),
            "coulomb": 2 * friction * rng.uniform(0.3, 1.0) * (1.0 if joint.name in driven else 0.02),
        })
        for joint in mechanism.joints
    ]  # fmt: skip
    return mechanism.changed(bodies=bodies, joints=joints)


def recorded(
    machine: Machine, truth: Mechanism, *, seed: int, seconds: float = 10.0, rate_hz: float = 500.0,
    noise: float = 0.02, correlated_s: float = 0.0, delay_s: float = 0.0, size: float = 0.35,
    base_hz: float = 0.2, counts: float = 2.0 * np.pi / 1048576, added=None,
) -> MeasuredMotion:  # fmt: skip
    """A recording as a drive makes it: quantised positions, noisy efforts, late by a delay."""
    rng = np.random.default_rng(seed)
    joints = [motor.joint for motor in machine.motors][: machine.dof]
    motion = fourier(machine, joints, size, base_hz, rng)
    times = np.arange(round(seconds * rate_hz)) / rate_hz
    q, efforts = true_efforts(machine, truth, motion, times, added)
    efforts = np.column_stack([np.interp(times + delay_s, times, column) for column in efforts.T])
    disturbance = rng.normal(size=efforts.shape)
    if correlated_s:
        keep = np.exp(-1.0 / (rate_hz * correlated_s))
        for k in range(1, len(disturbance)):
            disturbance[k] = keep * disturbance[k - 1] + np.sqrt(1.0 - keep**2) * disturbance[k]
    efforts = efforts + noise * np.sqrt((efforts**2).mean(axis=0)) * disturbance
    scale = truth.model.column_scale
    places = {name: truth.joint_index(name) for name in joints}
    positions = {
        name: np.round(q[:, k] / (counts * scale[k])) * (counts * scale[k]) for name, k in places.items()
    }
    names = [motor.joint for motor in machine.motors]
    return MeasuredMotion("run", "", times, positions, dict(zip(names, efforts.T, strict=True)))


def write_csv(
    path, motion: MeasuredMotion, units: dict[str, tuple[str, float]] | None = None, order=None
) -> None:
    """Write a recording; units: ending and factor by column, order: of the columns."""
    columns = {"time_s": motion.time_s}
    for name, values in motion.positions.items():
        unit, factor = (units or {}).get(f"q/{name}", ("rad", 1.0))
        columns[f"q/{name}_{unit}"] = values * factor
    for name, values in motion.efforts.items():
        unit, factor = (units or {}).get(f"effort/{name}", ("N_m", 1.0))
        columns[f"effort/{name}_{unit}"] = values * factor
    names = list(columns) if order is None else [list(columns)[k] for k in order]
    rows = np.column_stack([columns[name] for name in names])
    np.savetxt(path, rows, "%.12g", ",", header=",".join(names), comments="")
