"""The plant's command line: the only place where it is read. `linkwork plant` is this function too."""

from __future__ import annotations

import signal
import sys
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from linkwork.protocol.codes import Pace
from linkwork.timing.realtime import RealtimeChoice

if TYPE_CHECKING:
    from linkwork.timing.realtime import Policy


class OfferedPace(StrEnum):
    """Paces the plant offers: one, or whichever the controller asks for."""

    ANY = "any"
    DEVICE = "device"
    HOST = "host"
    LOCKSTEP = "lockstep"


@dataclass(frozen=True)
class PlantArguments:
    """The command line of a plant, as it was given."""

    config: str
    endpoint: str | None
    paces: tuple[Pace, ...]
    plant_set: tuple[str, ...]
    driver: str | None
    driver_set: tuple[str, ...]
    realtime: Policy
    cpu: int | None
    seed: int
    as_json: bool
    lifeline: bool
    keys: Path | None
    allowed: Path | None
    truth: Path | None
    faults: Path | None
    inject: bool


def plant(
    config: Annotated[str, typer.Argument(metavar="MACHINE", help="A file, or a machine of linkwork.")],
    endpoint: Annotated[
        str | None, typer.Option(help="Endpoint to listen on. Default: in the runtime folder.")
    ] = None,
    pace: Annotated[OfferedPace, typer.Option(help="Pace to offer.")] = OfferedPace.ANY,
    plant_set: Annotated[
        list[str] | None,
        typer.Option(
            "--plant-set",
            metavar="KEY=VALUE",
            help="Change a value of the plant only: upper_arm.mass_kg=+20%.",
        ),
    ] = None,
    driver: Annotated[
        str | None,
        typer.Option(
            metavar="MODULE:CLASS",
            help="Driver of real hardware (package.module:Class, or udp). Default: simulate.",
        ),
    ] = None,
    driver_set: Annotated[
        list[str] | None,
        typer.Option("--driver-set", metavar="KEY=VALUE", help="An option of the driver: port=5800."),
    ] = None,
    realtime: Annotated[
        RealtimeChoice,
        typer.Option(help="Refuse to start, warn, or stay silent when real time is not granted."),
    ] = RealtimeChoice.WARN,
    cpu: Annotated[int | None, typer.Option(min=0, help="Processor to run on.")] = None,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the sensors' noise.")] = 0,
    as_json: Annotated[bool, typer.Option("--json", help="Log lines as JSON objects.")] = False,
    lifeline: Annotated[
        bool,
        typer.Option("--lifeline", help="End when standard input closes (for programs that start a plant)."),
    ] = False,
    keys: Annotated[
        Path | None, typer.Option(help="This plant's secret key file; needed to listen beyond this computer.")
    ] = None,
    allowed: Annotated[
        Path | None, typer.Option(help="Folder with the *.public files of the controllers that may connect.")
    ] = None,
    truth: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Record the true state of the simulated machine every period."),
    ] = None,
    faults: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Fault timeline for this plant.")
    ] = None,
    inject: Annotated[
        bool, typer.Option("--inject", help="Allow clients to inject faults while it runs.")
    ] = False,
) -> None:
    """Run the machine itself, simulated or behind a driver: it starts braked and waits for a controller.

    It ends with Ctrl-C. Exit status: 0 ended, 1 the simulation diverged or the driver failed, 2 wrong usage
    or file, 3 refused, 4 the driver found no device.
    """
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    given = PlantArguments(
        config=config,
        endpoint=endpoint,
        paces=tuple(Pace) if pace is OfferedPace.ANY else (Pace(pace.value),),
        plant_set=tuple(plant_set or ()),
        driver=driver,
        driver_set=tuple(driver_set or ()),
        realtime=realtime.value,
        cpu=cpu,
        seed=seed,
        as_json=as_json,
        lifeline=lifeline,
        keys=keys,
        allowed=allowed,
        truth=truth,
        faults=faults,
        inject=inject,
    )
    try:
        status = _run(given)
    except KeyboardInterrupt:  # before the daemon counts signals itself; nothing runs yet
        status = 0
    raise typer.Exit(status)


def _run(given: PlantArguments) -> int:
    from linkwork.timing.realtime import RealTimeRefused, single_threaded_blas

    single_threaded_blas()  # before anything imports numpy
    from linkwork.machine import MachineError, load
    from linkwork.plant.daemon.plant_daemon import PaceNotOffered, PlantOptions, run
    from linkwork.plant.device.events import Events
    from linkwork.plant.drivers.finding import NoDriver, read_options
    from linkwork.plant.simulator.start_values import NotAssembled
    from linkwork.protocol.codes import ExitCode
    from linkwork.protocol.errors import EndpointError
    from linkwork.protocol.keys import server_keys

    events = Events(as_json=given.as_json)
    try:
        if (given.keys is None) != (given.allowed is None):
            return _fail(
                "give --keys (the plant's secret file) and --allowed (folder of client keys) together", 2
            )
        if given.driver is None and given.driver_set:
            return _fail("--driver-set needs a driver: add --driver", 2)
        if given.driver is not None and given.plant_set:
            return _fail("--plant-set changes a simulated plant; it cannot be used with --driver", 2)
        machine = load(given.config, given.plant_set)
        driver_options = read_options(list(given.driver_set))
        secured = None
        if given.keys is not None and given.allowed is not None:
            secured = server_keys(given.keys, given.allowed)
            if secured.notice:
                sys.stderr.write(f"{secured.notice}\n")
    except (MachineError, EndpointError, NoDriver) as error:
        return _fail(str(error), ExitCode.USAGE)
    truth = given.truth
    if truth is not None and (given.driver is not None or not truth.absolute().parent.is_dir()):
        return _fail("--truth names a file in a folder that exists, and is for simulated machines", 2)
    options = PlantOptions(
        endpoint=given.endpoint,
        paces=given.paces,
        realtime=given.realtime,
        cpu=given.cpu,
        seed=given.seed,
        keys=secured,
        lifeline=given.lifeline,
        driver=given.driver,
        driver_options=driver_options,
        truth=truth,
        faults=given.faults,
        inject=given.inject,
    )
    try:
        return run(machine, options, events)
    except (NotAssembled, MachineError, NoDriver, PaceNotOffered) as error:
        return _fail(str(error), ExitCode.USAGE)
    except (EndpointError, RealTimeRefused) as error:
        return _fail(str(error), ExitCode.REFUSED)


def _fail(text: str, status: int) -> int:
    sys.stderr.write(f"{text}\n")
    return int(status)


def twin(config: str, channel: Annotated[int, typer.Option()]) -> None:
    """The simulator beside a machine in operation; a controller's gateway starts it."""
    from linkwork.timing.realtime import single_threaded_blas

    single_threaded_blas()
    from linkwork.plant.twin.twin_process import run

    raise typer.Exit(run(config, channel))


def main() -> None:
    """`python -m linkwork.plant CONFIG …`; and, for a gateway alone, `twin …`."""
    chosen: Callable[..., None] = plant
    if sys.argv[1:2] == ["twin"]:
        del sys.argv[1]
        chosen = twin
    app = typer.Typer(add_completion=False, pretty_exceptions_show_locals=False)
    app.command()(chosen)
    app()


if __name__ == "__main__":
    main()
