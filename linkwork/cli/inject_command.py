"""`linkwork inject`: fault injection into a running plant."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from linkwork.cli.connected import AsJson, Keys, ServerKey, client_keys_of
from linkwork.terminal.failures import DONE, Misuse
from linkwork.terminal.output import console, emit, say, table

if TYPE_CHECKING:
    from linkwork.client.injector import InjectionRefused
    from linkwork.machine.yaml import Document
    from linkwork.protocol.injection import FaultReport, Injected

_STEP = re.compile(r"\[(\d+)\]|([^.\[\]]+)")


def inject(
    file: Annotated[
        str | None, typer.Argument(metavar="FILE", help="A fault timeline; none: list injected faults.")
    ] = None,
    fault: Annotated[
        list[str] | None,
        typer.Option(
            metavar="FAULT",
            help="One fault, as an entry of a timeline: '{sensor: bias, of: elbow, by_deg: 1}'; repeatable.",
        ),
    ] = None,
    clear: Annotated[
        str | None, typer.Option(metavar="NAME", help="End this fault; `all`: every fault.")
    ] = None,
    seed: Annotated[
        int | None, typer.Option(min=0, help="Seed of the faults' random numbers; none: the file's, or 0.")
    ] = None,
    robot: Annotated[
        str | None, typer.Option("--robot", metavar="NAME", help="Machine name, if several are running.")
    ] = None,
    plant: Annotated[
        str | None, typer.Option(metavar="URL", help="The plant's endpoint, instead of a name.")
    ] = None,
    keys: Keys = None,
    server_key: ServerKey = None,
    as_json: AsJson = False,
) -> int:
    """Inject faults into a running plant, started with --inject, and print the tick at which each begins.

    Exit status: 0 accepted, 2 wrong usage, file or fault, 3 refused, 4 no daemon.
    """
    from linkwork.client.connection import find_plant
    from linkwork.client.injector import InjectionRefused, Injector

    faults, document, own_seed = _read(file)
    faults += [_entry(text) for text in fault or ()]
    if clear is not None:
        faults.append({"clear": clear})
    chosen = own_seed if seed is None else seed
    endpoint = plant or find_plant(robot).plant
    with Injector(endpoint, client_keys_of(keys, server_key)) as injector:
        try:
            answer = injector.inject(*faults, seed=chosen) if faults else injector.history()
        except InjectionRefused as refused:
            if not as_json and refused.problems:
                refused.args = ("\n".join(_placed(refused, document)),)
            raise
    if as_json:
        emit(answer.model_dump())
    else:
        _show(answer, clear, everything=not faults)
    return DONE


def _read(file: str | None) -> tuple[list[dict[str, Any]], Document | None, int]:
    """Return the entries of a file, with the places of its keys, and its seed; the plant checks them."""
    if file is None:
        return [], None, 0
    from linkwork.machine.yaml import read_yaml

    document = read_yaml(Path(file))
    data = document.data if isinstance(document.data, dict) else {}
    faults, seed = data.get("faults"), data.get("seed", 0)
    if not isinstance(faults, list) or not all(isinstance(each, dict) for each in faults):
        raise Misuse(f"{file} is not a timeline: it needs a list `faults` of mappings")
    if type(seed) is not int or seed < 0:
        raise Misuse(f"{file}: seed: an integer, 0 or more, not {seed!r}")
    return list(faults), document, seed


def _entry(text: str) -> dict[str, Any]:
    from linkwork.machine.problems import MachineError
    from linkwork.machine.yaml import parse_scalar

    try:
        entry = parse_scalar(text)
    except MachineError:
        entry = None
    if not isinstance(entry, dict):
        raise Misuse(f"--fault {text}: write a mapping, such as '{{sensor: bias, of: elbow, by_deg: 1}}'")
    return entry


def _placed(refused: InjectionRefused, document: Document | None) -> Iterator[str]:
    """Yield each problem at its place in the file, or by its key."""
    from linkwork.machine.problems import Problem

    for each in refused.problems:
        rest: dict[str, Any] = {"found": each.found, "allowed": each.allowed, "remedy": each.remedy}
        path = [int(index) if index else name for index, name in _STEP.findall(each.key)]
        if document is not None:
            yield str(document.problem(path, each.message, **rest))
        else:
            yield str(Problem("fault", None, None, each.key, each.message, **rest))


def _show(answer: Injected, clear: str | None, *, everything: bool) -> None:
    """Print the accepted faults and those that are cleared (`clear`), or everything that can be injected."""
    when = "no controller is connected to the plant"
    if answer.tick >= 0:
        when = f"the plant is at tick {answer.tick} ({answer.time_s:g} s)"
    if not everything:
        new = [each for each in answer.faults if each.name in answer.names]
        for each in new[-len(answer.names) :] if new else []:
            say(_sentence(each, answer))
        if clear is not None:
            present = [each.name for each in answer.faults if each.state in ("waiting", "acting")]
            cleared = [name for name in present if clear in ("all", name)]
            say(f"cleared: {', '.join(cleared) or 'nothing, no fault waits or acts'}")
        say(when)
        return
    rows = [
        [each.name, each.kind, each.of, each.state, _tick(each.from_tick), _tick(each.to_tick), each.text]
        for each in answer.faults
    ]
    columns = ("fault", "kind", "of", "state", "from tick", "to tick", "")
    console.print(table("", columns, rows))
    for kind, why in answer.kinds.items():
        if why:
            console.print(f"{kind} is not possible here: {why}", markup=False, style="dim")
    say(f"faults: {len(answer.faults)}; {when}")


def _sentence(report: FaultReport, answer: Injected) -> str:
    of = f" of {report.of}" if report.of else ""
    waits = "waits for a controller" if answer.tick < 0 else "waits for its condition"
    begins = waits if report.from_tick is None else f"begins at tick {report.from_tick}"
    ends = "" if report.to_tick is None else f", ends at tick {report.to_tick}"
    return f"{report.name} ({report.kind}{of}) {begins}{ends}"


def _tick(tick: int | None) -> str:
    return "–" if tick is None else str(tick)
