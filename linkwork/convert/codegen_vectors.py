"""Test vectors of generated programs: states on the machine's constraints, and the kernels' results."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from linkwork.arrays import Floats
from linkwork.machine import Machine
from linkwork.multibody import Mechanism, Workspace
from linkwork.multibody.constraints.rows import constraint_rows
from linkwork.multibody.formulations.assembly import AssemblyError, assemble
from linkwork.multibody.symbolic.generated_program import GeneratedProgram
from linkwork.multibody.tree.coordinates import coordinates
from linkwork.multibody.tree.dynamics import dynamics
from linkwork.multibody.tree.rotations import move_by


@dataclass(frozen=True)
class Vectors:
    """Inputs and expected outputs by name, each with one row for every state."""

    inputs: dict[str, Floats]
    expected: dict[str, Floats]
    effort: Floats | None


def vectors_for(machine: Machine, program: GeneratedProgram, *, single: bool, states: int = 8) -> Vectors:
    """States near the initial one, with random velocities, at time 0; expected values by the kernels.

    `single`: the inputs are rounded to floats first.
    """
    mechanism, rng = program.model.mechanism, np.random.default_rng(1)
    goals = len(program.drive.goals) if program.drive is not None else 0
    inputs: dict[str, list[Floats]] = {
        name: [] for name in ("q", "v", "goal", "goal_rate", "goal_acceleration")
    }
    expected: dict[str, list[Floats]] = {}
    efforts: list[Floats] = []
    for _ in range(states):
        q, v = _state(machine, mechanism, rng)
        wanted = rng.uniform(-1.0, 1.0, (3, goals))
        if single:
            q, v, wanted = (x.astype(np.float32).astype(np.float64) for x in (q, v, wanted))
        w = _evaluated(mechanism, q, v)
        if program.drive is not None:
            wanted[0] = 0.1 * wanted[0] + w.theta[list(program.drive.goals)]
            if single:
                wanted = wanted.astype(np.float32).astype(np.float64)
        for name, value in zip(inputs, (q, v, *wanted), strict=True):
            inputs[name].append(value)
        for name, value in _expected(w, mechanism).items():
            expected.setdefault(name, []).append(np.ravel(value))
        if program.drive is not None:
            efforts.append(_effort(program, w, *wanted))
    return Vectors(
        {name: np.array(values) for name, values in inputs.items()},
        {name: np.array(values) for name, values in expected.items()},
        np.array(efforts) if efforts else None,
    )


def _state(machine: Machine, mechanism: Mechanism, rng: np.random.Generator) -> tuple[Floats, Floats]:
    """A state near the initial one that obeys the constraints."""
    reach = 0.2
    while True:
        q = machine.initial_q.copy()
        move_by(mechanism.model, q, rng.uniform(-1.0, 1.0, mechanism.nv), reach)
        v = rng.uniform(-1.0, 1.0, mechanism.nv)
        if not mechanism.constraints:
            return q, v
        try:
            found = assemble(mechanism, q, v)
        except AssemblyError:
            reach *= 0.5
            continue
        return found.q, found.v


def _evaluated(mechanism: Mechanism, q: Floats, v: Floats) -> Workspace:
    w = mechanism.workspace()
    w.q[:], w.v[:] = q, v
    dynamics(*w.arguments)
    coordinates(*w.arguments)
    constraint_rows(*w.arguments)
    return w


def _expected(w: Workspace, mechanism: Mechanism) -> dict[str, Floats]:
    """Everything that the functions of a program compute, by the names of their results."""
    alpha, beta = w.baumgarte.T if len(w.phi) else (0.0, 0.0)
    return {
        "M": w.M,
        "h": w.h,
        "phi": w.phi,
        "A": w.A,
        "Adot_v": -(w.b + alpha * w.phi_rate + beta * w.phi),
        "theta": w.theta,
        "J": w.J,
        "Jdot_v": w.Jdv,
        "positions": w.point_position,
        "axes": _axes(mechanism, w),
    }


def _axes(mechanism: Mechanism, w: Workspace) -> Floats:
    """Axes of the points' bodies in the world, as columns one after the other (points × 9)."""
    found, axes = [], w.axes.reshape(-1, 3, 3)
    for k in range(len(mechanism.point_names)):
        link = w.model.point_link[k]
        found.append(w.model.point_axes[3 * k : 3 * k + 3] @ (axes[link] if link >= 0 else np.eye(3)))
    return np.array(found).reshape(-1, 9)


def _effort(
    program: GeneratedProgram, w: Workspace, goal: Floats, rate: Floats, acceleration: Floats
) -> Floats:
    """The law's efforts, in its own equations (controller/laws/closed_chain.py) and far from any limit."""
    drive, mechanism = program.drive, program.model.mechanism
    assert drive is not None
    rows, columns = (np.array(scale) for scale in program.scales())
    index, motors = list(drive.goals), list(drive.motors)
    omega, zeta = drive.bandwidth_rad_s, drive.damping_ratio
    error = goal - w.theta[index]
    whole = np.array(mechanism.coordinate_wraps)[index]
    error -= np.where(whole, 2.0 * np.pi * np.round(error / (2.0 * np.pi)), 0.0)
    J = w.J[index]
    task = acceleration + 2.0 * zeta * omega * (rate - J @ w.v) + omega**2 * error - w.Jdv[index]
    free, basis = np.zeros(mechanism.nv), np.eye(mechanism.nv)
    rank = mechanism.nv - drive.dof
    if rank:
        left, sizes, right = np.linalg.svd(rows[:, None] * w.A * columns)
        free = columns * (right[:rank].T @ ((left[:, :rank].T @ (rows * w.b)) / sizes[:rank]))
        basis = columns[:, None] * right[rank:].T
    u = free + basis @ np.linalg.solve(J @ basis, task - J @ free)
    needed = basis.T @ (w.h - w.friction + w.M @ u)
    share, weight = basis[motors], np.array(drive.weights)
    effort: Floats = weight * (share @ np.linalg.solve((share.T * weight) @ share, needed))
    return effort
