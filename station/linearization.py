"""`linkwork symbolic --linearize`: the pose that is meant, the linear model there, and its files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

from machine import Machine
from machine.units import parse_assignment
from multibody.symbolic.linear_model import LinearModel, linearize
from plant.offline import begin

MATRICES = ("A", "B", "C", "D")


def linear_model(machine: Machine, where: str) -> LinearModel:
    """The model at the equilibrium that `where` names.

    "initial"; positions of joints, "crank_deg=60,knee_deg=-90", from which the machine is put together as
    from the file's; or all of q, "q=0.5,0.2". Raises ValueError (and MachineError for unknown names).
    """
    names, goals = list(machine.mechanism.coordinate_names), machine.controller.goal_coordinates
    free = machine.freedoms
    if len(goals) != free:
        raise ValueError(
            f"{machine.name} has {free} freedoms, but {len(goals)} goal coordinates; name as many in the file"
        )
    return linearize(
        machine.mechanism,
        pose(machine, where),
        [motor.index for motor in machine.motors],
        [names.index(name) for name in goals],
        [motor.max_effort**2 for motor in machine.motors],
    )


def pose(machine: Machine, where: str) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    """The assembled q of such a text."""
    if where.strip() == "initial":
        return machine.initial_q.copy()
    positions = machine.mechanism.position_names
    key, _, values = where.partition("=")
    if key.strip() == "q":
        try:
            numbers = [float(text) for text in values.strip("[] ").split(",")]
        except ValueError:
            numbers = []
        if len(numbers) != len(positions) or not np.isfinite(numbers).all():
            raise ValueError(f"{where}: expected {len(positions)} numbers, for {', '.join(positions)}")
        start = dict(zip(positions, numbers, strict=True))
        own = machine.mechanism.coordinate_names
        if any(name not in own for name in positions):
            raise ValueError(f"{where}: q holds quaternions here; write positions of joints, or initial")
    else:
        start = {}
        for text in where.split(","):
            index, value = parse_assignment(text, machine)
            name = machine.mechanism.coordinate_names[index]
            if name not in positions:
                raise ValueError(f"{text}: only joints have a position; there are {', '.join(positions)}")
            start[name] = value
    return np.array(begin(machine, start).q)


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
