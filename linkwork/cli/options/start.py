"""Options of the commands that start and end machines, and show them in the browser."""

from pathlib import Path
from typing import Literal

from linkwork.cli.connected import ConnectionOptions
from linkwork.console.server_options import ServerOptions
from linkwork.controller.controller_options import ControllerOptions
from linkwork.options import JsonOptions, argument, command_options, flag, option
from linkwork.plant.plant_options import SimulatorOptions


@command_options
class DaemonsOptions(ControllerOptions, SimulatorOptions, JsonOptions):
    """Options of a command on both daemons of a machine, which it passes to them."""

    config: str = argument("MACHINE", "Machine file, or the name of one of linkwork's.")


@command_options
class UpOptions(DaemonsOptions):
    """Start plant and controller of a machine together, and supervise them until Ctrl-C or `linkwork down`.

    The machine starts braked. A daemon that crashes is reported and restarted; the machine is never enabled
    automatically. Ctrl-C stops the machine on its path, disables it and ends both daemons; a second Ctrl-C
    brakes at once.
    """

    detach: bool = flag("Return when the machine is ready; `linkwork down` ends it.", "--detach", "-d")
    restart: Literal["on-failure", "no"] = option(
        "Start a daemon again when it has crashed, or end both.", default="on-failure"
    )
    console_too: bool = flag("Serve `linkwork console` for it, too, until it is down.", "--console")
    foxglove_too: bool = flag("Serve `linkwork foxglove` for it, too, until it is down.", "--foxglove")


@command_options
class DownOptions(JsonOptions):
    """End machines that `linkwork up` started: each is stopped on its path and disabled first.

    Ctrl-C ends the waiting, not the shutdown of the machine.
    """

    name: str | None = argument("NAME", "Which machine, where several are up.", default=None)
    every: bool = flag("Every machine that is up.", "--all")


@command_options
class LogsOptions(JsonOptions):
    """Show the output of the daemons of `linkwork up`, with the time in UTC; also after they have ended."""

    name: str | None = argument("NAME", "Which machine, where several are up.", default=None)
    follow: bool = flag("Continue with new lines until Ctrl-C.", "--follow", "-f")
    lines: int = option("Last lines to show.", "N", "--lines", "-n", default=100, least=0)
    plant: bool = flag("Only the output of the plant.")
    controller: bool = flag("Only the output of the controller.")


@command_options
class ServiceOptions(DaemonsOptions):
    """Write systemd units for plant and controller of a machine, and print how to install them.

    The services report readiness, are restarted when they crash or hang, and always start braked. The other
    options are passed to the daemons.
    """

    user: bool = flag("For your own systemd (systemctl --user) instead of the computer's.")
    output: Path = option("Where to write the two files.", "FOLDER", default=Path())


@command_options
class ConsoleOptions(ServerOptions, ConnectionOptions):
    """Show a machine in the browser, and move it; or play a recording. Ctrl-C ends it.

    It prints the address of the page, which has a random token and is served to this computer only. Ending
    the console stops a jog, and nothing else. A recording or a log needs no controller.
    """

    machine: str | None = argument(
        "MACHINE|FILE.mcap", "A running machine, as --robot; or a recording, or a log.", default=None
    )
    beside: Path | None = option("Compare the recording with this one.", "FILE.mcap")
    observe: bool = flag("Show the machine only; STOP stays.")

    @property
    def connection_words(self) -> list[str]:
        """Options of another client of the same controller."""
        given = {
            "--robot": self.machine or self.robot_name,
            "--endpoint": self.endpoint,
            "--keys": self.keys,
            "--server-key": self.server_key,
        }
        return [str(word) for pair in given.items() if pair[1] is not None for word in pair]


@command_options
class RosOptions(ConnectionOptions):
    """Serve a running machine as a ROS 2 node until Ctrl-C, as ros2_control would.

    It publishes joint states, transforms, the description and diagnostics, follows trajectories, and offers
    services. It needs the rclpy of a sourced ROS 2 workspace, or that of the extra `ros`. Interfaces whose
    message package is missing are left out and named. Ending it cancels its goal, and nothing else.
    """

    ros_args: tuple[str, ...] = argument(
        "ROS_ARGS...", "After --: arguments of ROS, such as --ros-args -r __ns:=/cell.", default=()
    )
    controller: str = option(
        "Name of the trajectory controller, in front of its topics.",
        "NAME",
        default="joint_trajectory_controller",
    )


@command_options
class FoxgloveOptions(ConnectionOptions):
    """Serve a running machine to Foxglove: telemetry, events and its 3-D scene. Ctrl-C ends it.

    It prints the address for Foxglove's "Open connection". It is a client of the controller, and only reads.
    """

    machine: str | None = argument("MACHINE", "A running machine, as --robot.", default=None)
    port: int | None = option("Port.", least=1, most=65535, default_text="8765, or a free one")
    host: str = option("Address to serve at, without password or encryption.", default="127.0.0.1")
    operate: bool = flag("Offer services that move the machine, to clients that know the token it prints.")
    lifeline: bool = flag("", hidden=True)
