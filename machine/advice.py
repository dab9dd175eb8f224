"""Warnings: what a file may say, but a person should know before the machine moves."""

from __future__ import annotations

from collections.abc import Iterator

from machine.file import MachineFile
from machine.problems import Problem
from machine.references import moving_joints
from machine.yaml import Document


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
