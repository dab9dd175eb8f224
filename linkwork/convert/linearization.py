"""`linkwork symbolic --linearize`: the pose that is meant, the linear model there, and its files."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from linkwork.convert.codegen import switched_on
from linkwork.machine import Machine, MachineError, Problem
from linkwork.machine.building.initial_assembly import assembled
from linkwork.machine.nearest_name import meant
from linkwork.machine.units import parse_assignment
from linkwork.multibody.assembly.assembly import AssemblyError, assemble
from linkwork.symbolic.equilibrium import NoEquilibrium
from linkwork.symbolic.linear_model import (
    LinearModel,
    NotIndependent,
    coordinate_choices,
    linearize,
)

MATRICES = ("A", "B", "C", "D")
Floats = np.ndarray[tuple[int], np.dtype[np.float64]]


def linear_model(machine: Machine, where: str, coordinates: Sequence[str] = ()) -> LinearModel:
    """The model at the equilibrium that `where` names, in these coordinates or else the file's goal ones.

    "initial"; positions of joints, "crank_deg=60,knee_deg=-90", from which the machine is put together as
    from the file's; or all of q, "q=0.5,0.2". Constraints that begin switched off are left out. Raises
    MachineError.
    """
    mechanism = switched_on(machine.mechanism)
    wanted = tuple(coordinates) or tuple(machine.goal_coordinates)
    choices = coordinate_choices(mechanism)
    for name in wanted:
        if name not in choices:
            raise _refusal(
                name, "no coordinate has this name", name, ", ".join(choices), meant(name, choices)
            )
    q = pose(machine, where)
    try:
        return linearize(
            mechanism,
            q,
            [motor.index for motor in machine.motors],
            wanted,
            machine.effort_weights.tolist(),
        )
    except NotIndependent as error:
        remedy = f"use --coordinates {','.join(error.suggested)}" if error.suggested else ""
        allowed = f"independent ones of {', '.join(choices)}"
        raise _refusal(
            where, str(error), ", ".join(wanted), allowed, remedy or "add task coordinates to the file"
        ) from None
    except NoEquilibrium as error:
        remedy = "start nearer to an equilibrium, or give the machine motors that hold it"
        raise _refusal(where, str(error), "", "a pose of rest", remedy) from None


def pose(machine: Machine, where: str) -> Floats:
    """Return the assembled q (nq; rad or m) that a text gives. Raises MachineError."""
    if where.strip() == "initial":
        return machine.initial_q.copy()
    mechanism = switched_on(machine.mechanism)
    key, _, values = where.partition("=")
    try:
        if key.strip() == "q":
            q = _all_of_q(machine, where, values)
            return assemble(mechanism, q).q if mechanism.constraints else q
        q, names = machine.initial_q.copy(), list(mechanism.joint_names)
        kept = []
        for text in where.split(","):
            index, value = parse_assignment(text, machine)
            kept.append(mechanism.coordinate_names[index])
            if kept[-1] not in names:
                own = [name for name in mechanism.coordinate_names if name in names]
                remedy = "name joints, or give all of q: q=…"
                raise _refusal(text, "only joints have a position", kept[-1], ", ".join(own), remedy)
            q[names.index(kept[-1])] = value
        if not mechanism.constraints:
            return q
        first = [*kept, *machine.assembly.kept, *(motor.joint for motor in machine.motors)]
        found, _, _ = assembled(mechanism, q, np.zeros(mechanism.nv), first, near=machine.initial_q)
    except AssemblyError as error:
        remedy = "check the numbers, or start nearer to a pose that the machine can reach"
        message = "the machine cannot be assembled in this pose"
        raise _refusal(where, message, str(error), "a pose that meets all constraints", remedy) from None
    return np.asarray(found)


def _all_of_q(machine: Machine, where: str, values: str) -> Floats:
    """The numbers after "q=", quaternions brought to unit length."""
    positions, mechanism = machine.mechanism.position_names, machine.mechanism
    try:
        numbers = [float(text) for text in values.strip("[] ").split(",")]
    except ValueError:
        numbers = []
    allowed = f"{len(positions)} finite numbers, for {', '.join(positions)}"
    if len(numbers) != len(positions) or not np.isfinite(numbers).all():
        raise _refusal(where, "not a pose", values, allowed, "numbers with commas between, q=0.5,0.2")
    q = np.array(numbers)
    model = mechanism.model
    for first, scalar in zip(model.ball_vector.tolist(), model.ball_scalar.tolist(), strict=True):
        places = [*range(first, first + 3), scalar]
        size = float(np.linalg.norm(q[places]))
        if not size > 0.0:
            names = ", ".join(positions[k] for k in places)
            raise _refusal(
                where, "a quaternion is zero", names, "a quaternion other than 0, 0, 0, 1 is no rotation"
            )
        q[places] /= size
    return q


def _refusal(text: str, message: str, found: str, allowed: str, remedy: str = "") -> MachineError:
    return MachineError([Problem(f"--linearize {text}", None, None, "", message, found, allowed, remedy)])


def as_map(machine: Machine, model: LinearModel) -> dict[str, Any]:
    """The model as plain data; complex numbers as pairs."""
    return {
        "machine": machine.name,
        "states": list(model.states),
        "inputs": list(model.inputs),
        "outputs": list(model.outputs),
        "q": dict(zip(machine.mechanism.position_names, model.q.tolist(), strict=True)),
        "effort": dict(zip(model.inputs, model.effort.tolist(), strict=True)),
        **{name: getattr(model, name).tolist() for name in MATRICES},
        "eigenvalues": [[x.real, x.imag] for x in model.eigenvalues.tolist()],
        "controllable": model.controllable,
        "uncontrollable": [[x.real, x.imag] for x in model.uncontrollable.tolist()],
    }


def write(machine: Machine, model: LinearModel, path: Path) -> None:
    """The model as .npz (arrays by name) or .json. Raises OSError, and ValueError for other endings."""
    if path.suffix == ".json":
        path.write_text(json.dumps(as_map(machine, model), indent=1) + "\n", encoding="utf-8")
        return
    if path.suffix != ".npz":
        raise ValueError(f"{path}: expected a name that ends in .npz or .json")
    np.savez(
        path,
        **{name: getattr(model, name) for name in MATRICES},
        q=model.q,
        effort=model.effort,
        eigenvalues=model.eigenvalues,
        states=np.array(model.states),
        inputs=np.array(model.inputs),
        outputs=np.array(model.outputs),
    )
