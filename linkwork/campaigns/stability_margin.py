"""Stability margins of the position loop at rest, from the response of the controller's own ticks.

The loop is opened at the plant's input, one motor after another, with the other motors' loops closed. While
the machine holds a pose, a motor gets an impulse d of effort for one period besides its command c. The
change of the commands after it is the impulse response of the complementary sensitivity, and its Fourier
transform gives the loop gain at every frequency:

    c(z) = -T(z) d(z),        T = L / (1 + L),        L = T / (1 - T).

This L has everything that the loop has: the delay of the device link, the hold, estimation, prediction, the
law and the disturbance observer. Sensors are ideal and joints have no dry friction, in plant and controller:
friction at rest would add damping that a moving machine does not have.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from linkwork.arrays import Floats
from linkwork.campaigns.in_process import InProcessRun, MotionRequest, WitnessedSimulator
from linkwork.machine import Machine, for_controller
from linkwork.machine.gains import gain_matrices
from linkwork.machine.loading import machine_in
from linkwork.machine.repeats import parse_machine
from linkwork.machine.yaml_document import Document

IMPULSE: Final = 1e-3
"""Share of a motor's largest effort: linear in the machine's geometry, and far above rounding."""
REST_S: Final = 0.1
"""Time between the begin of the hold and the first impulse."""
TIME_CONSTANTS: Final = 10.0
"""Observed time after an impulse, in time constants of the slowest pole; doubled where it is too short."""
MOST_TIME_CONSTANTS: Final = 50.0
DECAYED: Final = 1e-3
"""Largest part of a response's peak that its last tenth may have."""
FREQUENCIES: Final = 1 << 16
_DRY_FRICTION: Final = ("coulomb_N_m", "coulomb_N")

Complex = NDArray[np.complex128]


@dataclass(frozen=True)
class StabilityMargin:
    """Margins of a loop: of all its crossings the smallest.

    gain: factor by which the loop gain may rise, or fall, before the loop is unstable. phase_deg: change of
    phase at a loop gain of 1. delay_s: further delay. Without a crossing a margin is infinite; all are 0
    (a gain of 1) where the loop is unstable as it is.
    """

    gain: float
    phase_deg: float
    delay_s: float


UNSTABLE: Final = StabilityMargin(1.0, 0.0, 0.0)


class NotAtRest(RuntimeError):
    """Raised where the motion before the hold does not succeed, or the hold is refused."""


def smallest(margins: Sequence[StabilityMargin]) -> StabilityMargin:
    """Return the smallest margin of each kind."""
    return StabilityMargin(
        min(each.gain for each in margins),
        min(each.phase_deg for each in margins),
        min(each.delay_s for each in margins),
    )


def margin_of(loop: Complex, period_s: float) -> StabilityMargin:
    """Return the margins of a loop gain (n) at n equal steps of frequency from 0 to half the sampling rate.

    The loop is stable with negative feedback. Crossings are interpolated between the frequencies.
    """
    step = math.pi / (period_s * (len(loop) - 1))
    first, second = loop[1:-1], loop[2:]
    gain = math.inf
    for at in np.flatnonzero((first.imag * second.imag <= 0.0) & (first.real < 0.0) & (second.real < 0.0)):
        rise = second[at].imag - first[at].imag
        share = -first[at].imag / rise if rise else 0.0
        real = -(first[at].real + share * (second[at].real - first[at].real))
        gain = min(gain, max(real, 1.0 / real))
    phase, delay = math.inf, math.inf
    sizes = np.log(np.abs(loop[1:]))
    for at in np.flatnonzero(sizes[:-1] * sizes[1:] <= 0.0):
        fall = sizes[at] - sizes[at + 1]
        share = sizes[at] / fall if fall else 0.0
        crossing = first[at] + share * (second[at] - first[at])
        lag = float(np.angle(-crossing)) % math.tau
        phase = min(phase, lag, math.tau - lag)
        delay = min(delay, lag / (step * (at + 1 + share)))
    return StabilityMargin(float(gain), math.degrees(phase), float(delay))


def loop_gain(response: Floats, impulse: float) -> Complex:
    """Return L at `FREQUENCIES` / 2 + 1 frequencies, from the change of the command (n) after an impulse."""
    transform = -np.fft.rfft(response, FREQUENCIES) / impulse
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(transform / (1.0 - transform))


class _DisturbedSimulator(WitnessedSimulator):
    """A simulator that adds efforts to commands, and keeps the commands of a number of periods.

    disturbance (n, motors): N m or N. `commands` (n, motors) are those without it. Both begin with the
    period after `begin`.
    """

    def __init__(self, machine: Machine, disturbance: Floats) -> None:
        super().__init__(machine, 0)
        self._disturbance = disturbance
        self.commands = np.full_like(disturbance, np.nan)
        self._period = -1

    def begin(self) -> None:
        """Begin with the next period."""
        self._period = 0

    def latch(self, mode: int, effort: Floats) -> None:
        """As the simulator's own, with the disturbance."""
        place = self._period
        if 0 <= place < len(self._disturbance):
            self.commands[place] = effort
            effort = effort + self._disturbance[place]
            self._period += 1
        super().latch(mode, effort)


def ideal_machine(text: str) -> Machine:
    """Return the machine of a file's text without dry friction, for the loop and its plant."""
    document = parse_machine(text)
    data = _without_dry_friction(document.data)
    return for_controller(machine_in(Document(document.file, document.text, data, {}, {})))


def _without_dry_friction(data: Any) -> Any:
    if isinstance(data, dict):
        return {
            key: 0.0 if key.rpartition(".")[2] in _DRY_FRICTION else _without_dry_friction(value)
            for key, value in data.items()
        }
    return data


def stability_margins(machine: Machine, requests: Sequence[MotionRequest]) -> tuple[StabilityMargin, ...]:
    """Return the margins of each motor's loop (motors) in the pose in which the motions end.

    machine: as of `ideal_machine`, with its kernels prepared. Raises NotAtRest.
    """
    period_s, time_constants = machine.period_s, TIME_CONSTANTS
    impulses = [IMPULSE * motor.max_effort for motor in machine.motors]
    while time_constants <= MOST_TIME_CONSTANTS:
        window = math.ceil(time_constants / (_slowest_rad_s(machine) * period_s))
        responses = _responses(machine, requests, impulses, window)
        if not np.isfinite(responses).all():
            break
        last = np.abs(responses[:, -window // 10 :]).max(axis=1)
        if (last <= DECAYED * np.abs(responses).max(axis=1)).all():
            return tuple(
                margin_of(loop_gain(response, impulse), period_s)
                for response, impulse in zip(responses, impulses, strict=True)
            )
        time_constants *= 2.0
    return (UNSTABLE,) * len(impulses)


def _slowest_rad_s(machine: Machine) -> float:
    """The slowest pole that the settings ask for."""
    settings = machine.controller
    position, rate = gain_matrices(settings, machine.mechanism.coordinate_names)
    poles = np.linalg.eigvals(np.block([[0.0 * rate, np.eye(len(rate))], [-position, -rate]]))
    return min(-float(poles.real.max()), settings.disturbance_bandwidth_rad_s or math.inf)


def _responses(
    machine: Machine, requests: Sequence[MotionRequest], impulses: Sequence[float], window: int
) -> Floats:
    """Return the change of each motor's command (motors, window) after an impulse of its own."""
    rest = round(REST_S / machine.period_s)
    undisturbed = np.zeros((rest + window * len(impulses), len(impulses)))
    disturbed = undisturbed.copy()
    for index, impulse in enumerate(impulses):
        disturbed[rest + index * window, index] = impulse
    change = _commands(machine, requests, disturbed) - _commands(machine, requests, undisturbed)
    columns = change[rest:].reshape(len(impulses), window, len(impulses))
    return np.stack([columns[index, :, index] for index in range(len(impulses))])


def _commands(machine: Machine, requests: Sequence[MotionRequest], disturbance: Floats) -> Floats:
    """Carry out motions and a hold with a disturbance; return the commands (n, motors) of the hold.

    Commands after a fault are NaN.
    """
    ideal = tuple(
        sensor.with_values(noise=0.0, velocity_noise=0.0, resolution=0.0) for sensor in machine.sensors
    )
    simulator = _DisturbedSimulator(replace(machine, sensors=ideal), disturbance)
    latest: list[NDArray[Any]] = []

    def keep(table: NDArray[Any], _: Floats) -> None:
        latest[:] = [table[-1:].copy()]

    def motions() -> Iterator[MotionRequest]:
        yield from requests
        simulator.begin()
        yield _hold(machine, latest[0]["reference"][0], len(disturbance) * machine.period_s)

    run = InProcessRun(machine, motions(), keep, simulator=simulator)
    end = run.run()
    if end.goal <= len(requests):
        raise NotAtRest(end.text or "a motion before the hold does not succeed")
    return simulator.commands


def _hold(machine: Machine, reference: Floats, seconds: float) -> MotionRequest:
    """A motion that keeps a reference (coordinates; rad or m, NaN where there is none) for a time."""
    held = np.flatnonzero(np.isfinite(reference))
    names = [machine.mechanism.coordinate_names[index] for index in held]
    positions = reference[held].tolist()
    times = (0.0, seconds + 2.0 * machine.period_s)
    points = [{"time_from_start_s": time, "positions": positions} for time in times]
    return MotionRequest("send", {"trajectory": {"coordinates": names, "points": points}})
