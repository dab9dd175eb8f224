"""A driver whose device is a few lines of Python: a carriage on a slide that obeys at once."""

from linkwork.plant.drivers.driver import Command, Description, OptionError, Reading, Setup
from linkwork.protocol.codes import DeviceStatus, Mode, Pace


class Toy:
    """Counts of 1 mm, efforts in N; options: `silent_after` (writes), `raises`, `unhomed`."""

    def __init__(self, setup: Setup) -> None:
        for key in setup.options:
            if key not in ("silent_after", "raises", "unhomed", "index", "forces"):
                raise OptionError(
                    key, "the toy has unknown option", key, "silent_after, raises, unhomed, index, forces"
                )
        self.options, self.period_s = setup.options, setup.period_s
        self.started = self.braked = False
        self.position, self.speed, self.effort, self.writes = 100.0, 0.0, 0.0, 0
        self.homed = "unhomed" not in setup.options
        self.fault, self.hot = 0, 30.0
        self.cleared = 0

    def describe(self) -> Description:
        return Description(
            "toy",
            1,
            1,
            velocities=True,
            temperatures=True,
            force_channels=int(self.options.get("forces", 0)),
            brakes=True,
            period_s=(0.0001, 1.0),
            paces=tuple(Pace),
        )

    def start(self) -> None:
        self.started = self.braked = True
        self.speed = 0.0

    def write(self, command: Command) -> None:
        self.writes += 1
        if self.options.get("raises") == self.writes:
            raise RuntimeError("the wire is cut")
        self.cleared += command.clear
        self.braked = command.mode == Mode.BRAKE
        self.effort = float(command.effort[0])
        self.speed = 0.0 if self.braked else self.speed + self.period_s * 500.0 * self.effort
        self.position += self.period_s * self.speed

    def read(self, reading: Reading) -> bool:
        if self.writes > self.options.get("silent_after", 1 << 60):
            return False
        reading.position[0], reading.velocity[0] = round(self.position), self.speed
        reading.effort[0], reading.temperature[0] = self.effort, self.hot
        reading.force[:3] = (1.0, 2.0, self.effort)[: len(reading.force)]
        braked = DeviceStatus.BRAKE if self.braked else 0
        reading.status = DeviceStatus.ENABLED | (DeviceStatus.HOMED if self.homed else 0) | braked
        reading.fault = self.fault
        return True

    def home(self) -> bool:
        self.position -= 1.0
        self.homed = self.position <= self.options.get("index", 0)
        return self.homed

    def stop(self) -> None:
        self.started, self.braked, self.speed = False, True, 0.0


class Mute(Toy):
    """Never answers."""

    def read(self, reading: Reading) -> bool:
        return False


class NoDriverAtAll:
    """Has none of the calls."""
