"""Warnings: what a file may say, but a person should know before the machine moves."""

from __future__ import annotations

from collections.abc import Iterator

from machine.description import Machine
from machine.file import MachineFile
from machine.problems import Problem
from machine.references import moving_joints
from machine.yaml import Document, parse_yaml


def warnings_of(file: MachineFile, document: Document) -> Iterator[Problem]:
    """Return warnings that follow from the file alone."""
    for name in moving_joints(file):
        for section, rows, lack in (("motors", file.motors, "motor"), ("sensors", file.sensors, "sensor")):
            if name not in rows:
                message = f"this joint has no {lack}: the machine can be simulated, but not controlled"
                remedy = f"add {section}.{name}"
                yield document.problem(
                    ("joints", name), message, of_key=True, remedy=remedy, severity="warning"
                )


def holding_warnings(machine: Machine) -> Iterator[Problem]:
    """Return warnings about motors whose brakes do not hold the machine where it starts, and that do not damp either.

    This evaluates the mechanism, which compiles its kernels where they are not compiled yet.
    """
    if machine.plant.on_timeout == "damp":
        return
    document = parse_yaml(machine.source_text, machine.path)
    load = functions.bias(machine.mechanism, machine.initial_q, 0.0 * machine.initial_v)
    for motor in machine.motors:
        needed = abs(float(load[motor.index]))
        if needed > motor.brake_effort and needed > 1e-9:
            unit = "N m" if motor.is_angle else "N"
            key = "brake_torque_N_m" if motor.is_angle else "brake_force_N"
            yield document.problem(
                ("motors", motor.joint, key),
                "the brake does not hold this joint against gravity where the machine starts",
                of_key=True,
                found=f"{motor.brake_effort:g} {unit}",
                allowed=f"more than {needed:.4g} {unit}",
                remedy="give it a stronger brake, or say on_timeout: damp",
                severity="warning",
            )
