"""`linkwork record`: a running controller's ticks and events in one file."""

from __future__ import annotations

import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path

from linkwork.cli.options.study import RecordOptions
from linkwork.recordings.recorder import Recorded
from linkwork.recordings.recorder import record as follow
from linkwork.terminal.failures import DONE, GOAL_FAILED, Misuse
from linkwork.terminal.output import complain, console, emit, say
from linkwork.timing.scheduling import pin, share_processors


def record(options: RecordOptions) -> int:
    """Run `linkwork record`."""
    found = options.ask("status")
    log = Path(found["log"]) if found["log"] else None
    if log is None:
        raise Misuse("this controller writes no log to record from; start it without --no-log")
    if not log.exists():
        raise Misuse(f"the controller's log {log} is not on this computer; record where the controller runs")
    pin(share_processors()[1])  # off the loop's processor, where there is another
    ticks_from = int(found["timing"]["ticks"]) if options.from_now else 0
    until = None if options.seconds is None else time.monotonic() + options.seconds
    gateway = Path(f"/proc/{int(found['gateway_pid'])}")
    if not options.as_json:
        console.print(f"recording {found['machine']} to {options.file}; Ctrl-C ends it", style="dim")

    def go_on(_: Recorded) -> bool:
        return gateway.exists() and not pressed and (until is None or time.monotonic() < until)

    with _interruptible() as pressed:
        try:
            done = follow(log, options.file, go_on, ticks_from=ticks_from)
        except FileExistsError:
            raise Misuse(f"{options.file} exists already; choose another name") from None
        except OSError as error:
            raise Misuse(f"{error.filename or options.file}: {error.strerror}") from None
    if done.damage:
        complain(f"warning: {done.damage}; the recording ends there")
    if options.as_json:
        emit({"file": str(options.file), **asdict(done)})
    else:
        amount = f"{done.ticks} ticks from {done.first_tick} on, {done.goals} goals, {done.bytes} bytes"
        say(f"{options.file}: {amount}")
    return GOAL_FAILED if done.damage else DONE


@contextmanager
def _interruptible() -> Iterator[list[int]]:
    """While the block runs, Ctrl-C only fills the list that it yields."""
    pressed: list[int] = []
    before = signal.signal(signal.SIGINT, lambda number, _: pressed.append(number))
    try:
        yield pressed
    finally:
        signal.signal(signal.SIGINT, before)
