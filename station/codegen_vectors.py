"""Test vectors of generated programs: states on the machine's constraints, and what the kernels say."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from controller.laws.law import Law, Reference
from machine import Machine
from multibody import Mechanism, Workspace, layout
from multibody.assembly import AssemblyError, assemble
from multibody.coordinates import coordinates
from multibody.dynamics import dynamics
from multibody.rotations import move_by
from multibody.rows import constraint_rows
from multibody.symbolic.program import Program

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Vectors:
    """Inputs and expected outputs by name, each with one row for every state."""

    inputs: dict[str, Floats]
    expected: dict[str, Floats]
    effort: Floats | None


def vectors_for(machine: Machine, program: Program, *, single: bool, states: int = 8) -> Vectors:
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
    law = None if program.drive is None else _law(machine)
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
        if law is not None and program.drive is not None:
            efforts.append(_effort(machine, law, program, q, v, wanted))
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
        move_by(mechanism.topology, q, rng.uniform(-1.0, 1.0, mechanism.nv), reach)
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
    t, p, found = w.topology, w.parameters, []
    for k in range(len(mechanism.point_names)):
        link = int(t[t[layout.POINTS] + k])
        own = p[t[layout.POINT_AXES] + 9 * k :][:9].reshape(3, 3)
        at = w.buffer[t[layout.AXES] + 9 * link :][:9].reshape(3, 3) if link >= 0 else np.eye(3)
        found.append(own @ at)
    return np.array(found).reshape(-1, 9)


def _law(machine: Machine) -> Law:
    if machine.is_constrained:
        from controller.laws.closed import ClosedInverseDynamics

        return ClosedInverseDynamics(machine)
    from controller.laws.pidc import ProjectedInverseDynamics

    return ProjectedInverseDynamics(machine)


def _effort(machine: Machine, law: Law, program: Program, q: Floats, v: Floats, wanted: Floats) -> Floats:
    drive = program.drive
    assert drive is not None
    w = machine.workspace()
    w.q[:], w.v[:] = q, v
    if machine.is_constrained:
        from controller.laws.closed import evaluate_closed

        evaluate_closed(*w.arguments)
    else:
        dynamics(*w.arguments)
        coordinates(*w.arguments)
    force = np.zeros(machine.mechanism.nv)
    reference = Reference(np.array(drive.goals, np.int64), *(each.copy() for each in wanted))
    law(w, reference, force)
    result: Floats = force[list(drive.motors)]
    return result
