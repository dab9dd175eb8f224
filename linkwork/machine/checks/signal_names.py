"""Whether the names of signals are their own, so that a condition means one quantity by each name."""

from __future__ import annotations

from collections.abc import Iterator

from linkwork.machine.building.dof_names import coordinates, degrees_of_freedom
from linkwork.machine.problems import Problem
from linkwork.machine.sections.file import MachineFile
from linkwork.machine.yaml import Document

MOST_SIGNALS = 12
"""Most output signals: one request may set all of them."""


def check_signals(file: MachineFile, document: Document) -> Iterator[Problem]:
    """Yield a problem for each name that another part of the machine has, and for too many outputs."""
    taken = dict.fromkeys(("time_s", "tick"), "a word of conditions")
    taken |= dict.fromkeys(file.contacts, "a contact") | dict.fromkeys(file.constraints, "a constraint")
    taken |= dict.fromkeys(coordinates(file), "a coordinate") | dict.fromkeys(
        degrees_of_freedom(file), "a joint"
    )
    for name in file.signals:
        if name in taken:
            yield document.problem(
                ("signals", name),
                f"{taken[name]} has this name",
                of_key=True,
                found=name,
                remedy=f"take another name, such as {name}_signal",
            )
    outputs = [name for name, spec in file.signals.items() if spec.direction == "output"]
    if len(outputs) > MOST_SIGNALS:
        yield document.problem(
            ("signals", outputs[MOST_SIGNALS]),
            "the machine has too many output signals",
            of_key=True,
            found=str(len(outputs)),
            allowed=f"at most {MOST_SIGNALS}",
        )
