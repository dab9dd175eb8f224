"""`linkwork replay`: a recording through the current controller."""

from __future__ import annotations

from dataclasses import asdict

from linkwork.cli.options.study import ReplayOptions
from linkwork.cli.recording_commands import read_file, recorded_machine
from linkwork.recordings.recording import NoRecording
from linkwork.recordings.replay import replay as run
from linkwork.terminal.failures import DONE, GOAL_FAILED, Misuse
from linkwork.terminal.output import console, emit, goal_bar, say


def replay(options: ReplayOptions) -> int:
    """Run `linkwork replay`."""
    recording = read_file(options.file)
    machine = recorded_machine(recording, options.against, options.law)
    try:
        with goal_bar(console, "replaying") as bar:
            found = run(recording, machine, options.tolerance, lambda done, of: bar(done / of))
    except NoRecording as error:
        raise Misuse(str(error)) from None
    same = found.difference is None and not found.ended
    if options.as_json:
        difference = None if found.difference is None else asdict(found.difference)
        emit(
            {
                "identical": same,
                "ticks": found.ticks,
                "of": len(recording.table),
                "difference": difference,
                "ended": found.ended,
            }
        )
    elif found.difference is not None:
        say(f"{found.ticks} of {len(recording.table)} ticks are the same; then {found.difference}")
    elif found.ended:
        say(f"{found.ticks} of {len(recording.table)} ticks are the same; then {found.ended}")
    else:
        bound = "to the last bit" if options.tolerance is None else f"within {options.tolerance:g}"
        say(f"all {found.ticks} ticks are the same, {bound}")
    return DONE if same else GOAL_FAILED
