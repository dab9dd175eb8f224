"""Every kind of fault, and time lines of them: read and checked, against themselves and the machine."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, Union

from pydantic import Discriminator, Field, Tag

from linkwork.machine import Machine
from linkwork.machine.checks.schema_validation import validate
from linkwork.machine.nearest_name import meant
from linkwork.machine.problems import MachineError, Problem, refuse, shown
from linkwork.machine.sections.fields import Count, Section, entry
from linkwork.machine.sections.json_schema import for_editors
from linkwork.machine.yaml_document import Document, read_yaml
from linkwork.multibody.mechanism import Mechanism
from linkwork.plant.faults.actuator_faults import ACTUATOR
from linkwork.plant.faults.fault import Clear, FaultCheck, PlantFault
from linkwork.plant.faults.mechanism_faults import MECHANISM
from linkwork.plant.faults.sensor_faults import SENSOR
from linkwork.plant.faults.signal_faults import SIGNAL
from linkwork.plant.faults.wire_faults import PROCESSOR, WIRE
from linkwork.protocol.injection import MOST_FAULTS

KINDS: dict[str, type[PlantFault]] = {
    each.kind: each for each in (*WIRE, *SENSOR, *ACTUATOR, *SIGNAL, *MECHANISM, *PROCESSOR)
}
"""By kind: "sensor.bias"."""
CLASSES: dict[str, list[str]] = {}
"""The names of the kinds of each class."""
for _kind in KINDS:
    CLASSES.setdefault(_kind.partition(".")[0], []).append(_kind.partition(".")[2])


def kind_of(data: Any) -> str | None:
    """The kind that an entry's own key names; None where it has no such key."""
    if not isinstance(data, dict):
        return None
    for name in CLASSES:
        if name in data:
            return f"{name}.{data[name]}"
    return Clear.kind if Clear.kind in data else None


_MEMBERS = tuple(Annotated[each, Tag(kind)] for kind, each in {**KINDS, Clear.kind: Clear}.items())
AnyFault = Annotated[Union[_MEMBERS], Discriminator(kind_of)]  # type: ignore[valid-type]  # noqa: UP007 - of a table
"""Any entry of a time line."""


def capabilities(machine: Machine, *, hardware: bool) -> dict[str, str]:
    """Every kind: "" where this machine can do it, else why not."""
    return {kind: (hardware and each.hardware) or each.missing(machine) for kind, each in KINDS.items()}


class TimeLineFile(Section):
    """A fault timeline."""

    seed: Count = entry("Seed of the faults' random numbers", default=0, ge=0, lt=2**53)
    faults: Annotated[list[AnyFault], Field(max_length=MOST_FAULTS)] = entry("The faults", default=[])


def schema() -> dict[str, Any]:
    """The JSON schema of time lines (draft 2020-12)."""
    data = for_editors(TimeLineFile.model_json_schema(mode="validation"))
    head = {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": "A fault timeline"}
    return {**head, **data}


@dataclass(frozen=True)
class TimeLine:
    """Checked entries. `names` are theirs, given or made; `built` the mechanisms of those that change it."""

    seed: int
    entries: tuple[PlantFault, ...]
    names: tuple[str, ...]
    built: Mapping[int, Mechanism] = field(default_factory=dict)


class Impossible(MachineError):
    """Faults that are well written, but that this machine cannot do."""


def read_timeline(path: str | Path, machine: Machine, *, hardware: bool) -> TimeLine:
    """The time line in a file. Raises MachineError with every problem."""
    return check_timeline(read_yaml(path), machine, hardware=hardware)


def from_data(
    data: dict[str, Any], machine: Machine, *, hardware: bool, taken: Collection[str], given: Collection[str]
) -> TimeLine:
    """The time line in plain data that came by a message; see `check_timeline`. Raises MachineError."""
    return check_timeline(Document("faults", "", data, {}, {}), machine, hardware=hardware, taken=taken,
                          given=given)  # fmt: skip


def check_timeline(
    document: Document,
    machine: Machine,
    *,
    hardware: bool,
    taken: Collection[str] = (),
    given: Collection[str] = (),
) -> TimeLine:
    """The time line in a document. `taken` are names of faults that still wait or act, `given` all that may
    be cleared.

    Raises MachineError with every problem, Impossible where the only ones are that the machine cannot.
    """
    problems = _of_no_kind(document)
    refuse(problems)
    file = validate(TimeLineFile, document.data, document)
    if isinstance(file, list):
        raise MachineError(file)
    entries: list[PlantFault] = [PlantFault.with_own_names(each, machine) for each in file.faults]
    names: list[str] = []
    cannot: list[Problem] = []
    built: dict[int, Mechanism] = {}
    earlier, busy = set(given), set(taken)
    own = {each.name for each in entries if each.name}
    for index, each in enumerate(entries):
        check = FaultCheck(machine, document, index, hardware)
        if hardware and each.hardware:
            cannot.append(document.problem(("faults", index), each.hardware, found=each.kind))
        else:
            each.check(check)
        name = each.name or _made(each, index, {*busy, *names, *own})
        if name in busy or name in names:
            check.note("name", "another fault has this name", name, remedy="choose another")
        if isinstance(each, Clear) and each.clear != "all" and each.clear not in earlier:
            check.unknown("clear", each.clear, "fault given before", sorted({*earlier, "all"}))
        if not isinstance(each, Clear):
            earlier.add(name)
        elif each.at_once:
            each.frees(busy)
        names.append(name)
        problems += check.problems
        if check.built is not None:
            built[index] = check.built
    refuse(problems)
    if cannot:
        raise Impossible(cannot)
    return TimeLine(file.seed, tuple(entries), tuple(names), built)


def _made(entry: PlantFault, index: int, taken: Collection[str]) -> str:
    """A name for a fault that was given none: its kind and a number."""
    kind, number = entry.kind.rpartition(".")[2], index + 1
    while f"{kind}{number}" in taken:
        number += 1
    return f"{kind}{number}"


def _of_no_kind(document: Document) -> list[Problem]:
    """Check for entries without a kind, for a clearer message than the schema's."""
    data = document.data
    faults = data.get("faults") if isinstance(data, dict) else None
    if not isinstance(data, dict):
        return [document.problem((), "not a fault timeline", found=shown(data), allowed="seed, faults")]
    problems = []
    for index, each in enumerate(faults if isinstance(faults, list) else []):
        place = ("faults", index)
        if not isinstance(each, dict):
            problems.append(
                document.problem(place, "this is not a fault", found=shown(each), allowed="a mapping")
            )
            continue
        classes = [name for name in (*CLASSES, Clear.kind) if name in each]
        if len(classes) > 1:
            said = {"found": ", ".join(classes), "remedy": f"write two faults, or remove {classes[1]}"}
            where = (*place, classes[1])
            problems.append(document.problem(where, "one fault has one kind", of_key=True, **said))
        elif not classes:
            allowed = ", ".join((*CLASSES, Clear.kind))
            near = next((text for key in each if (text := meant(str(key), [*CLASSES, Clear.kind]))), "")
            problems.append(document.problem(place, "this fault has no kind", found=", ".join(map(str, each)),
                                             allowed=allowed, remedy=near))  # fmt: skip
        elif classes[0] != Clear.kind and each[classes[0]] not in CLASSES[classes[0]]:
            name = classes[0]
            word = each[name]
            problems.append(document.problem(
                (*place, name), f"no fault of class {name} has this name", found=shown(word),
                allowed=", ".join(CLASSES[name]), remedy=meant(str(word), CLASSES[name]),
            ))  # fmt: skip
    return problems
