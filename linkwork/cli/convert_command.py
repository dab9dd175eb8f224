"""`linkwork convert`: a machine as URDF, MJCF or SDF."""

import sys
from pathlib import Path

from linkwork.cli.motion_files import refuse_existing
from linkwork.cli.options.files import ConvertOptions
from linkwork.convert.robots.exporting import UnwritableMachine
from linkwork.convert.robots.robot_writing import written
from linkwork.machine import load
from linkwork.terminal.failures import Misuse, write_text
from linkwork.terminal.output import say

_ENDINGS = {"urdf": "urdf", "mjcf": "xml", "sdf": "sdf"}


def convert(options: ConvertOptions) -> None:
    """Run `linkwork convert`."""
    machine = load(options.config)
    try:
        text, found = written(machine, options.to, None if options.out is None else options.out.parent)
    except UnwritableMachine as problem:
        raise Misuse(f"{machine.name} cannot be written as {options.to}: {problem}") from None
    if found.losses and not options.lossy:
        listed = "".join(f"\n  {loss}" for loss in found.losses)
        raise Misuse(f"{options.to} cannot express parts of {machine.name}; --lossy leaves them out:{listed}")
    if options.out is not None and str(options.out) == "-":
        sys.stdout.write(text)
        return
    target = options.out or Path(f"{machine.name}.{_ENDINGS[options.to]}")
    refuse_existing(target, overwrite=options.overwrite)
    write_text(target, text)
    say(f"{target} is written")
    for loss in found.losses:
        say(f"  left out: {loss}")
    for note in found.notes:
        say(f"  {note}")
