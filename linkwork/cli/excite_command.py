"""`linkwork excite`: a motion that makes a machine's parameters known."""

from __future__ import annotations

from itertools import groupby

from linkwork.cli.identify_command import answered, read_recording
from linkwork.cli.motion_files import refuse_existing, written
from linkwork.cli.options.study import ExciteOptions
from linkwork.identification.excitation import Excitation, excite
from linkwork.machine import load
from linkwork.terminal.failures import DONE, Misuse
from linkwork.terminal.output import console, emit, goal_bar, number, say

_TITLES = {
    "alone": "will be known alone (file's value, ± one standard deviation to expect)",
    "sum": "will be known in these sums only",
    "not excited": "will not be known: the motion shows too little of these",
}


def excite_machine(options: ExciteOptions) -> int:
    """Run `linkwork excite`."""
    machine = load(options.config)
    if not machine.motors:
        raise Misuse(f"{machine.name} has no motors, and so no efforts to explain")
    refuse_existing(options.out, overwrite=options.overwrite)

    def run() -> int:
        after = [read_recording(file, machine) for file in options.after]
        with goal_bar(console, "motions") as bar:
            found = excite(
                machine, seconds=options.seconds, purpose=options.purpose, after=after,
                search_s=options.search, seed=options.seed, progress=bar,
            )  # fmt: skip
        if options.out is not None:
            target, text = options.out, _yaml(found)
            written(target, lambda: target.write_text(text, encoding="utf-8"))
        if options.as_json:
            emit({**found.plain(), "out": None if options.out is None else str(options.out)})
            return DONE
        _say(found)
        if options.out is not None:
            say(f"\n{options.out} is written: linkwork send {options.out}")
        return DONE

    return answered(run, as_json=options.as_json)


def _say(found: Excitation) -> None:
    say(
        f"{found.machine.name}: {found.way.time_s[-1]:.3g} s, the best of {found.tried} motions, "
        f"in {', '.join(found.joints)}"
    )
    noise = ", ".join(f"{name} {value:.3g}" for name, value in found.noise.items())
    say(f"supposed noise of the efforts, 0.2 % of each motor's largest (N m or N): {noise}")
    for status, title in _TITLES.items():
        members = [each for each in found.expected if each.status == status]
        if members:
            say(f"\n# {title}: {len(members)}")
        for each in members:
            unit = each.base.first.unit
            say(f"{each.base.text} = {number(each.value)} ± {each.deviation:.2g} {unit}")
    if found.base.unseen:
        say(f"\n# cannot be seen with these motors: {len(found.base.unseen)}")
    for owner, unseen in groupby(found.base.unseen, key=lambda each: each.owner):
        say(f"{owner}: {', '.join(each.quantity for each in unseen)}")


def _yaml(found: Excitation) -> str:
    """Return the trajectory file; its first way-point is the initial pose of the machine file."""
    content = found.trajectory()
    target = " ".join(
        f"{name}={value:.6g}" for name, value in zip(found.joints, found.way.y[0].tolist(), strict=True)
    )
    lines = [
        f"# Excitation of {found.machine.name}, made by linkwork excite. It begins and ends at rest in the",
        f"# initial pose: linkwork move {target}",
        f"coordinates: [{', '.join(found.joints)}]",
        "tolerances: # wide, since the machine file's numbers may be wrong",
        *(
            f"  {name}: {{path: {each['path']:.6g}, goal: {each['goal']:.6g}}}"
            for name, each in content["tolerances"].items()
        ),
        "points:",
    ]
    for point in content["points"]:
        parts = (
            f"{key}: [{', '.join(f'{one:.12g}' for one in value)}]"
            if isinstance(value, list)
            else f"{key}: {value:.12g}"
            for key, value in point.items()
        )
        lines.append(f"  - {{{', '.join(parts)}}}")
    return "\n".join(lines) + "\n"
