"""Read a time line and check it against itself and the machine; errors name their place."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field

from linkwork.machine import Machine
from linkwork.machine.checks.schema_validation import validate
from linkwork.machine.nearest_name import meant
from linkwork.machine.problems import MachineError, Problem, shown
from linkwork.machine.sections.fields import Count, Section, entry
from linkwork.machine.sections.json_schema import for_editors
from linkwork.machine.yaml_document import Document, read_yaml
from linkwork.multibody.mechanism import Mechanism
from linkwork.plant.faults.channel_names import Naming
from linkwork.plant.faults.entries import Clear, FaultEntry
from linkwork.plant.faults.kinds import CLASSES, AnyEntry
from linkwork.protocol.injection import MOST_FAULTS


class TimeLineFile(Section):
    """A fault timeline."""

    seed: Count = entry("Seed of the faults' random numbers", default=0, ge=0, lt=2**53)
    faults: Annotated[list[AnyEntry], Field(max_length=MOST_FAULTS)] = entry("The faults", default=[])


def schema() -> dict[str, Any]:
    """The JSON schema of time lines (draft 2020-12)."""
    data = for_editors(TimeLineFile.model_json_schema(mode="validation"))
    head = {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": "A fault timeline"}
    return {**head, **data}


@dataclass(frozen=True)
class TimeLine:
    """Checked entries. `names` are theirs, given or made; `built` the mechanisms of those that change it."""

    seed: int
    entries: tuple[FaultEntry, ...]
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
    if problems:
        raise MachineError(problems)
    file = validate(TimeLineFile, document.data, document)
    if isinstance(file, list):
        raise MachineError(file)
    naming = Naming(machine, document, hardware=hardware)
    entries: list[FaultEntry] = [_with_own_names(each, machine) for each in file.faults]
    names: list[str] = []
    cannot: list[Problem] = []
    earlier, busy = set(given), set(taken)
    own = {each.name for each in entries if each.name}
    for index, each in enumerate(entries):
        if hardware and each.hardware:
            cannot.append(document.problem(("faults", index), each.hardware, found=each.kind))
        else:
            naming.check(index, each)
        name = each.name or _made(each, index, {*busy, *names, *own})
        if name in busy or name in names:
            naming.note(index, "name", "another fault has this name", name, remedy="choose another")
        if isinstance(each, Clear) and each.clear != "all" and each.clear not in earlier:
            naming.unknown(index, "clear", each.clear, "fault given before", sorted({*earlier, "all"}))
        if not isinstance(each, Clear):
            earlier.add(name)
        elif each.at_once:
            each.frees(busy)
        names.append(name)
    if naming.problems:
        raise MachineError(naming.problems)
    if cannot:
        raise Impossible(cannot)
    return TimeLine(file.seed, tuple(entries), tuple(names), naming.built)


def _with_own_names(entry: FaultEntry, machine: Machine) -> FaultEntry:
    """Return the entry with the machine's names in place of aliases."""
    given = {key: str(getattr(entry, key, "")) for key in ("of", "other")}
    own = {key: machine.aliases[name] for key, name in given.items() if name in machine.aliases}
    return entry.model_copy(update=own) if own else entry


def _made(entry: FaultEntry, index: int, taken: Collection[str]) -> str:
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
