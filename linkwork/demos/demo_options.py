"""Options of all demos."""

from pathlib import Path

from linkwork.options import JsonOptions, command_options, flag, option, several
from linkwork.protocol.laws import MOTION_LAW_NAMES, MotionLawName


@command_options
class DemoOptions(JsonOptions):
    """Show a machine in motion. `name`: of the demo."""

    name: str = ""
    lockstep: bool = flag("As fast as possible, without a clock.")
    law: MotionLawName = option("Law of motion.", default=MOTION_LAW_NAMES[0])
    seconds: float | None = option("Measured length, s.", least=0.01, default_text="the demo's")
    speed: float = option("Share of the demo's speed.", default=1.0, least=0.05, most=1.0)
    exact: bool = flag("Ideal sensors, without resolution or noise.", "--exact-sensors")
    seed: int = option("Seed of the sensors' noise.", default=0, least=0)
    out: Path = option("Folder for plot and log.", "DIR", default=Path("linkwork-out"))
    plant_set: tuple[str, ...] = several(
        "Change a value of the plant only: upper_arm.mass_kg=+20%.", "KEY=VALUE"
    )
    force_sensor: bool = flag(
        "Forces from sensors, or from the model.", "--force-sensor/--no-force-sensor", default=True
    )
    console: bool = flag("Serve `linkwork console` for it while it runs.")
    write: Path | None = option(
        "Only write the trajectories to this folder, as files for `linkwork send`.", "DIR"
    )

    @property
    def pace_text(self) -> str:
        """The pace, for the caption of a picture."""
        return "in lockstep" if self.lockstep else "in real time at 1 kHz"

    @property
    def law_text(self) -> str:
        """Law and pace, for the caption of a picture."""
        return f"law {self.law}, {self.pace_text}"
