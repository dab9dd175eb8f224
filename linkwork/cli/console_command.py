"""The command `console`: a page in the browser that shows a machine and moves it, or plays a recording."""

import os
from collections.abc import Callable
from pathlib import Path

from linkwork.cli.options.start import ConsoleOptions
from linkwork.client.connection import default_owner
from linkwork.console.console_page import build_page
from linkwork.console.console_server import Served, check, serve
from linkwork.console.console_service import ConsoleService
from linkwork.console.machine_feed import Address
from linkwork.console.recorded_motion import RecordedMotion
from linkwork.console.recording_page import build_recording_page
from linkwork.console.recording_service import RecordingService
from linkwork.machine.problems import MachineError
from linkwork.terminal.failures import DONE, Misuse
from linkwork.terminal.output import emit, say


def console(options: ConsoleOptions) -> int:
    """Run `linkwork console`."""
    check(options)

    def ready(url: str) -> None:
        if options.as_json:
            emit({"address": url})
        else:
            say(f"console: {url}")

    if options.machine is not None and Path(options.machine).suffix == ".mcap":
        service, page = _of_recordings(Path(options.machine), options.beside)
    elif options.beside is not None:
        raise Misuse("--beside compares two recordings: give the first one as FILE.mcap")
    else:
        service, page = _of_machine(options)
    serve(service, page, options, ready)
    return DONE


def _of_machine(options: ConsoleOptions) -> tuple[Served, Callable[[], None]]:
    address = Address(options.machine or options.robot_name, options.endpoint, options.client_keys)
    owner = options.owner or f"{default_owner()[:48]}/console-{os.getpid()}"  # each console has its own lease
    service = ConsoleService(
        address, owner, observe_only=options.observe, player_words=options.protection_words,
        connection_words=options.connection_words,
    )  # fmt: skip
    return service, lambda: build_page(service)


def _of_recordings(file: Path, beside: Path | None) -> tuple[Served, Callable[[], None]]:
    """Raises Misuse and NoRecording for files that cannot be played."""

    def read(path: Path) -> RecordedMotion:
        try:
            return RecordedMotion(path)
        except MachineError as error:
            raise Misuse(f"the machine file in {path} does not suit this linkwork: {error}") from None
        except OSError as error:
            raise Misuse(f"{path} cannot be read: {error.strerror}") from None

    service = RecordingService(read(file), None if beside is None else read(beside))
    return service, lambda: build_recording_page(service)
