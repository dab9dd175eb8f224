"""The controller's command lines: the gateway, and the two processes that it starts itself.

The only file of this room that reads a command line. `linkwork controller` is the function `controller`.
"""

from __future__ import annotations

import signal
import sys
from collections.abc import Callable
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from linkwork.protocol.laws import MotionLawName
from linkwork.timing.realtime import RealtimeChoice

if TYPE_CHECKING:
    from linkwork.protocol.keys import ClientKeys


class PaceChoice(StrEnum):
    """Clocks of the exchange with the plant."""

    DEVICE = "device"
    HOST = "host"
    LOCKSTEP = "lockstep"


Config = Annotated[str, typer.Argument(metavar="MACHINE", help="A machine file, or a machine of linkwork.")]
Law = Annotated[MotionLawName | None, typer.Option(help="Law of motion. Default: the machine file's.")]
Realtime = Annotated[
    RealtimeChoice, typer.Option(help="Refuse to start, warn, or stay silent when real time is not granted.")
]
Cpu = Annotated[int | None, typer.Option(min=0, help="Processor for the loop; the gateway uses the others.")]
Keys = Annotated[Path | None, typer.Option(help="This controller's secret key file.")]
PlantKey = Annotated[Path | None, typer.Option(help="Public key file of a plant that has keys.")]


def controller(
    config: Config,
    plant: Annotated[
        str | None, typer.Option(help="Endpoint of the plant. Default: in the runtime folder.")
    ] = None,
    endpoint: Annotated[str | None, typer.Option(help="Additional endpoint for requests.")] = None,
    telemetry: Annotated[
        str | None,
        typer.Option(help="Additional endpoint for telemetry: tcp://127.0.0.1:9872."),
    ] = None,
    pace: Annotated[PaceChoice, typer.Option(help="Which process keeps time.")] = PaceChoice.DEVICE,
    lockstep: Annotated[bool, typer.Option("--lockstep", help="The same as --pace lockstep.")] = False,
    law: Law = None,
    log: Annotated[
        Path | None, typer.Option(help="Folder for logs. Default: ~/.local/state/linkwork/logs.")
    ] = None,
    no_log: Annotated[
        bool, typer.Option("--no-log", help="Write no log (flight records are still written).")
    ] = False,
    realtime: Realtime = RealtimeChoice.WARN,
    cpu: Cpu = None,
    lifeline: Annotated[
        bool,
        typer.Option(
            "--lifeline", help="Exit when standard input closes (for programs that start this one)."
        ),
    ] = False,
    keys: Keys = None,
    allowed: Annotated[
        Path | None, typer.Option(help="Folder with the *.public files of the clients that may connect.")
    ] = None,
    plant_key: PlantKey = None,
    twin: Annotated[
        bool, typer.Option("--twin", help="Run a digital twin, and report how it differs from the machine.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Log lines as JSON objects.")] = False,
) -> None:
    """Run a machine: handle requests, plan, log, and supervise the real-time loop.

    Ctrl-C stops the machine on its path, disables it and ends the controller; a second Ctrl-C brakes at once.
    Exit status: 0 ended, 1 failed, 2 wrong usage or file, 3 refused.
    """
    from linkwork.controller.gateway.daemon_options import GatewayOptions
    from linkwork.controller.gateway.gateway_process import default_log_folder, run
    from linkwork.controller.gateway.server import StartFailed
    from linkwork.machine import MachineError
    from linkwork.protocol.codes import ExitCode, Pace
    from linkwork.protocol.errors import EndpointError

    options = GatewayOptions(
        config=config,
        plant=plant,
        endpoint=endpoint,
        telemetry=telemetry,
        pace=Pace.LOCKSTEP if lockstep else Pace(pace.value),
        law=law,
        log=None if no_log else log or default_log_folder(),
        realtime=realtime.value,
        cpu=cpu,
        lifeline=lifeline,
        keys=keys,
        allowed=allowed,
        plant_key=plant_key,
        as_json=as_json,
        twin=twin,
    )
    if keys is None and (allowed is not None or plant_key is not None):
        _complain("--allowed and --plant-key need --keys: this controller's own secret file")
        raise typer.Exit(int(ExitCode.USAGE))
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        status = run(options)
    except KeyboardInterrupt:  # before the gateway counts signals itself; nothing runs yet
        status = ExitCode.DONE
    except MachineError as error:
        _complain(str(error))
        status = ExitCode.USAGE
    except EndpointError as error:
        _complain(str(error))
        status = ExitCode.REFUSED
    except OSError as error:
        _complain(f"{error.filename or 'the controller'}: {error.strerror or error}")
        status = ExitCode.USAGE
    except StartFailed as error:
        _complain(str(error))
        status = error.status
    raise typer.Exit(int(status))


def loop(
    config: Config,
    seat: Annotated[Path, typer.Option()],
    plant: Annotated[str, typer.Option()],
    pace: Annotated[PaceChoice, typer.Option()],
    owner: Annotated[str, typer.Option()],
    law: Law = None,
    realtime: Realtime = RealtimeChoice.WARN,
    cpu: Cpu = None,
    keys: Keys = None,
    plant_key: PlantKey = None,
) -> None:
    """The real-time loop; the gateway starts it."""
    from linkwork.controller.loop.loop_process import LoopOptions, run
    from linkwork.protocol.codes import ExitCode, Pace
    from linkwork.protocol.errors import EndpointError
    from linkwork.timing.realtime import RealTimeRefused

    options = LoopOptions(
        config=config,
        seat=seat,
        plant=plant,
        pace=Pace(pace.value),
        owner=owner,
        law=law,
        realtime=realtime.value,
        cpu=cpu,
        keys=_client_keys(keys, plant_key),
    )
    try:
        status = run(options)
    except RealTimeRefused as error:
        _complain(str(error))
        status = int(ExitCode.REFUSED)
    except EndpointError as error:
        _complain(f"--plant: {error}")
        status = int(ExitCode.USAGE)
    except OSError as error:  # no room in the runtime folder
        _complain(f"{error.filename or 'the loop'}: {error.strerror or error}")
        status = int(ExitCode.USAGE)
    raise typer.Exit(status)


def planner(config: Config, seat: Annotated[Path, typer.Option()], law: Law = None) -> None:
    """The planner; the gateway starts it."""
    from linkwork.controller.configuration import configured
    from linkwork.controller.planning.process.planner_process import run
    from linkwork.protocol.endpoints import MachineEndpoints

    run(configured(config, law), MachineEndpoints(seat).shared_path)


def _client_keys(keys: Path | None, plant_key: Path | None) -> ClientKeys | None:
    from linkwork.protocol.keys import client_keys

    return None if keys is None or plant_key is None else client_keys(keys, plant_key)


def _complain(text: str) -> None:
    sys.stderr.write(text.rstrip() + "\n")


def main() -> None:
    """`python -m linkwork.controller CONFIG …`; and, for the gateway alone, `loop …` and `planner …`."""
    from linkwork.timing.realtime import single_threaded_blas

    single_threaded_blas()
    commands: dict[str, Callable[..., None]] = {"loop": loop, "planner": planner}
    chosen = sys.argv[1] if len(sys.argv) > 1 else ""
    if chosen in commands:
        del sys.argv[1]
    app = typer.Typer(add_completion=False, pretty_exceptions_show_locals=False)
    app.command()(commands.get(chosen, controller))
    app()


if __name__ == "__main__":
    main()
