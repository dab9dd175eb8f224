"""Where a machine starts: what the file gives, brought onto the manifold of the constraints."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from machine.description import Assembly
from machine.file import MachineFile
from machine.freedoms import balls, freedoms, initial_keys, joint_limits
from machine.joints import rotation_of
from machine.problems import MachineError, Problem
from machine.yaml import Document
from multibody.mechanism import Mechanism

Vector = NDArray[np.float64]


def given_state(file: MachineFile, mechanism: Mechanism) -> tuple[Vector, Vector]:
    """Return q and v as the file has them, zero where it says nothing."""
    q, v = np.zeros(mechanism.nq), np.zeros(mechanism.nv)
    order, known = list(freedoms(file)), initial_keys(file)
    turns: dict[str, float] = {}
    for key, value in file.initial.items():
        quantity = known[key]
        if quantity.name not in order:
            turns[quantity.name] = value * quantity.factor
        else:
            (v if quantity.is_speed else q)[order.index(quantity.name)] = value * quantity.factor
    for joint in balls(file):
        roll, pitch, yaw = (turns.get(f"{joint}.{turn}", 0.0) for turn in ("roll", "pitch", "yaw"))
        first = "1" if f"{joint}.1" in order else "rx"
        place = order.index(f"{joint}.{first}")
        scalar = mechanism.position_names.index(f"{joint}.quaternion")
        q[scalar], q[place : place + 3] = quaternion_of(rotation_of(roll, pitch, yaw))
    return q, v


def quaternion_of(rotation: Vector) -> tuple[float, Vector]:
    """Return scalar (not negative) and vector part of the unit quaternion of a rotation matrix."""
    size = np.array([[1, 1, 1], [1, -1, -1], [-1, 1, -1], [-1, -1, 1]]) @ np.diag(rotation)
    largest = int(np.argmax(size))
    r = rotation
    skew = np.array([r[2, 1] - r[1, 2], r[0, 2] - r[2, 0], r[1, 0] - r[0, 1]])
    if largest == 0:
        parts = np.concatenate([[1.0 + size[0]], skew])
    else:
        i = largest - 1
        column = r[:, i] + r[i, :]
        column[i] = 1.0 + size[largest]
        parts = np.concatenate([[skew[i]], column])
    parts = parts / np.linalg.norm(parts)
    parts = -parts if parts[0] < 0.0 else parts
    return float(parts[0]), parts[1:]


def initial_state(
    file: MachineFile, mechanism: Mechanism, document: Document
) -> tuple[Vector, Vector, Assembly]:
    """Return the initial q and v, read-only, and how they were found. Raises MachineError."""
    q, v = given_state(file, mechanism)
    if not mechanism.constraints:
        found = Assembly(mechanism.nv, 0, 0, 0, 0.0, 0, tuple(_given(file, speeds=False)))
    else:
        q, v, found = _assembled(file, mechanism, document, q, v)
        _check_limits(file, document, q)
    q.setflags(write=False)
    v.setflags(write=False)
    return q, v, found


def _given(file: MachineFile, *, speeds: bool) -> list[str]:
    """Return the coordinates whose position or speed the file gives, in its order."""
    known = initial_keys(file)
    return [known[key].name for key in file.initial if known[key].is_speed == speeds]


def _assembled(
    file: MachineFile, mechanism: Mechanism, document: Document, q: Vector, v: Vector
) -> tuple[Vector, Vector, Assembly]:
    from machine.assembly import assembled  # the compiler is loaded for machines with constraints alone
    from multibody.assembly import AssemblyError

    first = [*_given(file, speeds=False), *file.motors]
    try:
        return assembled(mechanism, q, v, first, _given(file, speeds=True))
    except AssemblyError as error:
        named = {row.partition(".")[0] for row in error.rows}
        tell = _contradicted if error.of_velocity else _open
        problems = [tell(document, name, error.residual) for name in file.constraints if name in named]
        raise MachineError(problems) from None


def _contradicted(document: Document, name: str, residual: float) -> Problem:
    return document.problem(
        ("constraints", name),
        "no velocity meets this constraint and the others where the machine starts",
        of_key=True,
        found=f"open by {residual:.3g} typical lengths (or rad) per second",
        allowed="constraints that do not contradict each other",
        remedy="prescribe no more speeds than the machine has freedoms, or give another initial pose",
    )


def _open(document: Document, name: str, residual: float) -> Problem:
    return document.problem(
        ("constraints", name),
        "this constraint cannot be met near where the machine starts",
        of_key=True,
        found=f"open by {residual:.3g} typical lengths (or rad)"
        if math.isfinite(residual)
        else "not a number at this pose",
        allowed="a machine that can be put together",
        remedy="check lengths and frames, or give initial values nearer to the pose that you mean",
    )


def _check_limits(file: MachineFile, document: Document, q: Vector) -> None:
    problems = []
    for index, (name, is_angle) in enumerate(freedoms(file).items()):
        own = joint_limits(file, name)
        low, high = (-math.inf, math.inf) if own is None else own.position()
        slack = 1e-9 * max(1.0, abs(q[index]))
        if not low - slack <= q[index] <= high + slack:
            f, unit = (math.degrees(1.0), "deg") if is_angle else (1.0, "m")
            problems.append(
                document.problem(
                    ("joints", name.partition(".")[0], "limits"),
                    "the machine, put together, would start outside the limits of this joint",
                    of_key=True,
                    found=f"{q[index] * f:g} {unit}",
                    allowed=f"{low * f:g} to {high * f:g} {unit}",
                    remedy=f"give initial values of another branch, say, for {name}, or move the limits",
                )
            )
    if problems:
        raise MachineError(problems)
