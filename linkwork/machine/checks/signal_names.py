"""Checks of signals: unique names, so that conditions are unambiguous, and simulated inputs."""

from collections.abc import Iterator

from linkwork.machine.building.dof_names import coordinates, degrees_of_freedom
from linkwork.machine.checks.unknown_names import unknown
from linkwork.machine.problems import Problem
from linkwork.machine.sections.file import MachineFile
from linkwork.machine.sections.formulas import unreadable, within
from linkwork.machine.yaml_document import Document
from linkwork.multibody.expressions import ExpressionError
from linkwork.multibody.expressions.conditions import parse_condition, parse_named

ANALOG_INPUT = ("input", "analog")
MOST_OUTPUTS = 64
"""Most output signals; one request sets at most 12 of them."""


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
    yield from _switches(file, document)
    for name, spec in file.signals.items():
        if spec.simulated:
            yield from _simulated(file, document, name)
    inputs = [name for name, spec in file.signals.items() if (spec.direction, spec.type) == ANALOG_INPUT]
    for name, frame in file.frames.items():
        if frame.signal not in inputs:
            yield unknown(document, ("frames", name, "signal"), frame.signal, "analog input", inputs)
    outputs = [name for name, spec in file.signals.items() if spec.direction == "output"]
    if len(outputs) > MOST_OUTPUTS:
        yield document.problem(
            ("signals", outputs[MOST_OUTPUTS]),
            "the machine has too many output signals",
            of_key=True,
            found=str(len(outputs)),
            allowed=f"at most {MOST_OUTPUTS}",
        )


def _simulated(file: MachineFile, document: Document, name: str) -> Iterator[Problem]:
    """Yield what is wrong with the condition or expression of an input."""
    spec, path = file.signals[name], ("signals", name, "simulated")
    digital = [each for each, other in file.signals.items() if other.type == "digital"]
    try:
        if spec.type == "digital":
            names = parse_condition(spec.simulated, digital).names
        else:
            names = parse_named(spec.simulated).names
    except ExpressionError as error:
        yield unreadable(document, path, error)
        return
    positions, joints = coordinates(file), degrees_of_freedom(file)
    known = [*positions, *(f"{each}.position" for each in joints if each in positions)]
    known += [*(f"{each}.velocity" for each in joints), *file.signals, "time_s"]
    known += [f"{point}.{axis}" for point in file.points for axis in "xyz"]
    known += file.scene.make().quantities if file.scene else ()
    for used, at in names.items():
        if used not in known:
            yield within(document, path, unknown(document, path, used, "quantity", known), at)


def _switches(file: MachineFile, document: Document) -> Iterator[Problem]:
    """Yield the problems of constraints that signals switch."""
    for name, spec in file.constraints.items():
        path = ("constraints", name, "closed_when")
        if not spec.closed_when:
            continue
        if not spec.switchable:
            remedy = "add switchable: true"
            yield document.problem(path, "only a switchable constraint follows signals", remedy=remedy)
            continue
        problems = list(condition_problems(file, document, path, spec.closed_when))
        yield from problems
        if problems:
            continue
        digital = [each for each, signal in file.signals.items() if signal.type == "digital"]
        initial = {each: signal.initial for each, signal in file.signals.items()}
        met = parse_condition(spec.closed_when, digital).met(initial)
        if met != spec.on:
            yield document.problem(
                ("constraints", name, "on"),
                f"with the initial values of the signals `{spec.closed_when}` is {'on' if met else 'off'}",
                found="on" if spec.on else "off",
                remedy=f"write on: {'true' if met else 'false'}, or another initial value of a signal",
            )


def condition_problems(
    file: MachineFile, document: Document, path: tuple[str, ...], text: str
) -> Iterator[Problem]:
    """Yield the problems of a condition on signals at a path of the file."""
    digital = [name for name, signal in file.signals.items() if signal.type == "digital"]
    try:
        names = parse_condition(text, digital).names
    except ExpressionError as error:
        yield unreadable(document, path, error)
        return
    for name, at in names.items():
        if name not in file.signals:
            yield within(document, path, unknown(document, path, name, "signal", file.signals), at)
