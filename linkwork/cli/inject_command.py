"""`linkwork inject`: fault injection into a running plant."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from linkwork.cli.options.operate import InjectOptions
from linkwork.client.connection import find_plant
from linkwork.client.injector import InjectionRefused, Injector
from linkwork.machine.problems import MachineError, Problem
from linkwork.machine.yaml_document import Document, parse_scalar, read_yaml
from linkwork.protocol.injection import FaultReport, Injected
from linkwork.terminal.failures import DONE, Misuse
from linkwork.terminal.output import console, emit, say, table

_STEP = re.compile(r"\[(\d+)\]|([^.\[\]]+)")


def inject(options: InjectOptions) -> int:
    """Run `linkwork inject`."""
    faults, document, own_seed = _read(options.file)
    faults += [_entry(text) for text in options.fault]
    if options.clear is not None:
        faults.append({"clear": options.clear})
    chosen = own_seed if options.seed is None else options.seed
    endpoint = options.plant or find_plant(options.robot).plant
    with Injector(endpoint, options.client_keys) as injector:
        try:
            answer = injector.inject(*faults, seed=chosen) if faults else injector.history()
        except InjectionRefused as refused:
            if not options.as_json and refused.problems:
                refused.args = ("\n".join(_placed(refused, document)),)
            raise
    if options.as_json:
        emit(answer.model_dump())
    else:
        _show(answer, options.clear, everything=not faults)
    return DONE


def _read(file: str | None) -> tuple[list[dict[str, Any]], Document | None, int]:
    """Return the entries of a file, with the places of its keys, and its seed; the plant checks them."""
    if file is None:
        return [], None, 0
    document = read_yaml(Path(file))
    data = document.data if isinstance(document.data, dict) else {}
    faults, seed = data.get("faults"), data.get("seed", 0)
    if not isinstance(faults, list) or not all(isinstance(each, dict) for each in faults):
        raise Misuse(f"{file} is not a timeline: it needs a list `faults` of mappings")
    if type(seed) is not int or seed < 0:
        raise Misuse(f"{file}: seed: an integer, 0 or more, not {seed!r}")
    return list(faults), document, seed


def _entry(text: str) -> dict[str, Any]:
    try:
        entry = parse_scalar(text)
    except MachineError:
        entry = None
    if not isinstance(entry, dict):
        raise Misuse(f"--fault {text}: write a mapping, such as '{{sensor: bias, of: elbow, by_deg: 1}}'")
    return entry


def _placed(refused: InjectionRefused, document: Document | None) -> Iterator[str]:
    """Yield each problem at its place in the file, or by its key."""
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
