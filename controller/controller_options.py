"""Options of the gateway, and those that it passes to the processes that it starts."""

import sys
from pathlib import Path

from linkwork.options import argument, command_options, flag, option, words_of
from linkwork.protocol.codes import Pace
from linkwork.protocol.endpoints import state_dir
from linkwork.protocol.laws import MotionLawName
from linkwork.timing.realtime import RealtimeOptions


@command_options
class PlannerOptions:
    """Options that the gateway passes to the planner."""

    config: str = argument("MACHINE", "A machine file, or a machine of linkwork.")
    law: MotionLawName | None = option("Law of motion. Default: the machine file's.")
    seat: Path = option("Folder of the machine's sockets.", required=True)


@command_options
class LoopOptions(PlannerOptions, RealtimeOptions):
    """Options that the gateway passes to the loop."""

    plant: str = option("Endpoint of the plant.", required=True)
    pace: Pace = option("Which process keeps time.", required=True)
    owner: str = option("Name of the controller, for a second one that wants the plant.", required=True)
    keys: Path | None = option("Secret key file.")
    plant_key: Path | None = option("Public key file of a plant that has keys.")


@command_options
class ControllerOptions(RealtimeOptions):
    """Options of a controller that `linkwork up` has, too."""

    endpoint: str | None = option("Additional endpoint for requests.")
    telemetry: str | None = option("Additional endpoint for telemetry: tcp://127.0.0.1:9872.")
    pace: Pace = option("Which process keeps time.", default=Pace.DEVICE)
    lockstep: bool = flag("The same as --pace lockstep.")
    law: MotionLawName | None = option("Law of motion. Default: the machine file's.")
    log: Path | None = option("Folder for logs. Default: ~/.local/state/linkwork/logs.")
    no_log: bool = flag("Write no log (flight records are still written).")
    keys: Path | None = option("This controller's secret key file.")
    allowed: Path | None = option("Folder with the *.public files of the clients that may connect.")
    twin: bool = flag("Run a digital twin, and report how it differs from the machine.")


@command_options
class GatewayOptions(ControllerOptions):
    """Run a machine: handle requests, plan, log, and supervise the real-time loop.

    Ctrl-C stops the machine on its path, disables it and ends the controller; a second Ctrl-C brakes at once.
    Exit status: 0 ended, 1 failed, 2 wrong usage or file, 3 refused.
    """

    config: str = argument("MACHINE", "A machine file, or a machine of linkwork.")
    plant: str | None = option("Endpoint of the plant. Default: in the runtime folder.")
    lifeline: bool = flag("Exit when standard input closes (for programs that start this one).")
    plant_key: Path | None = option("Public key file of a plant that has keys.")
    as_json: bool = flag("Log lines as JSON objects.", "--json")

    @property
    def log_folder(self) -> Path:
        """Folder for logs, and for flight records, which are always written: $XDG_STATE_HOME/linkwork/logs,
        else ~/.local/state/linkwork/logs."""
        return state_dir() / "logs" if self.no_log or self.log is None else self.log

    def loop_arguments(self, seat: Path, plant: str, owner: str) -> list[str]:
        """Return the command line of the loop. seat: its runtime folder; plant: endpoint; owner: of the
        plant.
        """
        keys = (self.keys, self.plant_key) if self.keys and self.plant_key else (None, None)
        options = LoopOptions(
            config=self.config, law=self.law, seat=seat, plant=plant, pace=self.pace, owner=owner,
            realtime=self.realtime, cpu=self.cpu, keys=keys[0], plant_key=keys[1],
        )  # fmt: skip
        return [*_module("loop"), *words_of(options)]

    def planner_arguments(self, seat: Path) -> list[str]:
        """The planner's command line."""
        options = PlannerOptions(config=self.config, law=self.law, seat=seat)
        return [*_module("planner"), *words_of(options)]

    def twin_arguments(self) -> list[str]:
        """The digital twin's command line, but for its end of the socket."""
        return [sys.executable, "-m", "linkwork.plant", "twin", self.config]


def same_connection(running: list[str], wanted: list[str]) -> bool:
    """Whether two loops' command lines mean the same plant, pace and keys."""
    names = ("--plant", "--pace", "--keys", "--plant-key")
    return all(_value(running, name) == _value(wanted, name) for name in names)


def _value(arguments: list[str], name: str) -> str | None:
    at = arguments.index(name) + 1 if name in arguments else len(arguments)
    return arguments[at] if at < len(arguments) else None


def _module(command: str) -> list[str]:
    # -P: a file controller.py in the user's folder must not shadow this package.
    return [sys.executable, "-m", "linkwork.controller", command]
