"""Options of the plant daemon, and of the digital twin that a controller's gateway starts."""

from pathlib import Path
from typing import Literal

from linkwork.options import argument, command_options, flag, option, several
from linkwork.protocol.codes import Pace
from linkwork.timing.realtime import RealtimeOptions


@command_options
class SimulatorOptions(RealtimeOptions):
    """Options of a plant that `linkwork up` has, too."""

    plant_set: tuple[str, ...] = several(
        "Change a value of the plant only: upper_arm.mass_kg=+20%.", "KEY=VALUE"
    )
    driver: str | None = option(
        "Driver of real hardware (package.module:Class, udp or cia402). Default: simulate.", "MODULE:CLASS"
    )
    driver_set: tuple[str, ...] = several("An option of the driver: port=5800.", "KEY=VALUE")
    seed: int = option("Seed of the sensors' noise.", default=0, least=0)
    truth: Path | None = option("Record the true state of the simulated machine every period.", "FILE")
    faults: Path | None = option("Fault timeline for this plant.", "FILE")
    inject: bool = flag("Allow clients to inject faults while it runs.")


@command_options
class PlantOptions(SimulatorOptions):
    """Run the machine itself, simulated or behind a driver: it starts braked and waits for a controller.

    It ends with Ctrl-C. Exit status: 0 ended, 1 the simulation diverged or the driver failed, 2 wrong usage
    or file, 3 refused, 4 the driver found no device.
    """

    config: str = argument("MACHINE", "A file, or a machine of linkwork.")
    endpoint: str | None = option("Endpoint to listen on. Default: in the runtime folder.")
    pace: Literal["any", "device", "host", "lockstep"] = option("Pace to offer.", default="any")
    as_json: bool = flag("Log lines as JSON objects.", "--json")
    lifeline: bool = flag("End when standard input closes (for programs that start a plant).")
    keys: Path | None = option("This plant's secret key file; needed to listen beyond this computer.")
    allowed: Path | None = option("Folder with the *.public files of the controllers that may connect.")

    @property
    def paces(self) -> tuple[Pace, ...]:
        """Paces that a controller may ask for."""
        return tuple(Pace) if self.pace == "any" else (Pace(self.pace),)


@command_options
class TwinOptions:
    """The simulator beside a machine in operation; a controller's gateway starts it."""

    config: str = argument("MACHINE", "A machine file, or a machine of linkwork.")
    channel: int = option("Number of the open socket to the gateway.", required=True)


@command_options
class DriveOptions:
    """Simulate the CiA 402 drives of a machine on a CAN bus, with the machine behind them.

    Faults are lines on standard input: `emergency left` begins one, `clear` ends all. It ends with Ctrl-C.
    Exit status: 0 ended, 1 the simulation diverged, 2 wrong usage or file, 4 there is no such bus.
    """

    config: str = argument("MACHINE", "A file, or a machine of linkwork.")
    driver_set: tuple[str, ...] = several("An option of the driver cia402: channel=can0.", "KEY=VALUE")
    lifeline: bool = flag("End when standard input closes (for programs that start drives).")
