"""Motions that make a machine's parameters known: D-optimal Fourier series and sweeps at constant speed.

The information of a motion is Σ W'S⁻¹W, W the rows of G'Y, S the noise that the motors' efforts would have.
A random search in the coefficients of five harmonics maximises log det of it, beside a prior of the
parameters' usual sizes. Every candidate passes the admission of `linkwork send`; amplitudes shrink until it
does.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal

import numpy as np

from linkwork.arrays import Floats
from linkwork.controller.planning.messages.planner_start import Start
from linkwork.controller.planning.process.planner import judge
from linkwork.identification.base_estimate import estimate
from linkwork.identification.base_parameters import BaseParameters
from linkwork.identification.consistent_samples import ClosedPoses, independent_joints
from linkwork.identification.identification import (
    NOISE_MODEL,
    FoundParameter,
    equations_for,
    judged,
    usual_sizes,
)
from linkwork.identification.identified_model import identified_model
from linkwork.identification.measured_motion import MeasuredMotion, RefusedData
from linkwork.machine import Machine
from linkwork.protocol.errors import RequestError

Purpose = Literal["friction", "inertia", "payload", "all"]

_POINT_S = 0.02
"""Time from one way-point to the next."""
_SAMPLE_S = 0.05
"""Time from one sample of the information to the next."""
_HARMONICS = np.arange(1, 6)
_BASES_HZ = (0.05, 0.4)
"""Lowest and highest base frequency of the series."""
_RAMP_S = 1.0
"""Time in which a series rises from rest, and returns to it."""
_SWEPT: dict[Purpose, float] = {"friction": 0.5, "inertia": 0.0, "payload": 0.0, "all": 0.3}
"""Share of the time for sweeps at constant speed."""
_LARGEST = 1.5
"""Largest amplitude, in scaled coordinates."""
_NOISE = 0.002
"""Supposed standard deviation of a motor's effort, as a share of its largest."""
_OFF_PATH = 0.05
"""Path tolerance, in scaled coordinates: wide, since the file's numbers may be wrong."""
_SHRINKS, _LEAST_SHRINK = 25, 0.5
_SPEEDS = (1.0, 0.3)
"""Speeds of the sweeps, as shares of the fastest."""
_TURN_S = 0.4
"""Time in which a sweep reaches its speed."""
_KINDS: dict[Purpose, tuple[str, ...]] = {
    "friction": ("viscous", "coulomb", "offset"),
    "inertia": ("inertial", "armature"),
}


@dataclass(frozen=True, eq=False)
class Way:
    """Way-points (n): times, and positions, velocities, accelerations (n × joints) of independent joints."""

    time_s: Floats
    y: Floats
    rate: Floats
    acceleration: Floats

    def then(self, other: Way) -> Way:
        """Return this motion and another one after it; both begin and end at rest at one pose."""
        if not len(self.time_s):
            return other
        if not len(other.time_s):
            return self
        shifted = other.time_s[1:] + self.time_s[-1]
        return Way(
            np.concatenate([self.time_s, shifted]),
            *(
                np.vstack([one, two[1:]])
                for one, two in (
                    (self.y, other.y), (self.rate, other.rate), (self.acceleration, other.acceleration)
                )
            ),
        )  # fmt: skip


@dataclass(frozen=True, eq=False)
class Excitation:
    """A motion that is admitted, and what it makes known: base parameters with the file's values and the
    deviations to expect.

    noise: supposed standard deviation of each motor's effort (N m or N). tried: number of motions that were
    compared.
    """

    machine: Machine
    joints: tuple[str, ...]
    way: Way
    base: BaseParameters
    expected: tuple[FoundParameter, ...]
    noise: dict[str, float]
    tried: int

    def trajectory(self) -> dict[str, Any]:
        """Return the motion as `linkwork send` takes it."""
        mechanism = self.machine.mechanism
        wide = {
            name: float(_OFF_PATH * mechanism.model.column_scale[mechanism.joint_index(name)])
            for name in self.joints
        }
        return {
            **_trajectory(self.joints, self.way),
            "tolerances": {name: {"path": value, "goal": value} for name, value in wide.items()},
        }

    def plain(self) -> dict[str, Any]:
        """Return what the motion makes known as plain data, SI units."""
        return {
            "machine": self.machine.name,
            "joints": list(self.joints),
            "duration_s": float(self.way.time_s[-1]),
            "way_points": len(self.way.time_s),
            "tried": self.tried,
            "noise": self.noise,
            "parameters": [each.plain() for each in self.expected],
            "unseen": [each.name for each in self.base.unseen],
        }


def _trajectory(joints: Sequence[str], way: Way) -> dict[str, Any]:
    """Return way-points as plain data."""
    rows = zip(way.time_s.tolist(), way.y.tolist(), way.rate.tolist(), way.acceleration.tolist(), strict=True)
    keys = ("time_from_start_s", "positions", "velocities", "accelerations")
    return {"coordinates": list(joints), "points": [dict(zip(keys, row, strict=True)) for row in rows]}


class _Design:
    """Machine, linear model, start and earlier information, which all candidates share."""

    def __init__(self, machine: Machine, purpose: Purpose, after: Sequence[MeasuredMotion]) -> None:
        self.machine, self.purpose = machine, purpose
        try:
            self.joints = independent_joints(machine, [motor.joint for motor in machine.motors])
        except ValueError:
            raise RefusedData(
                "undriven",
                f"the motors of {machine.name} do not determine its pose: a motion of all its degrees of "
                "freedom cannot be designed. Record one by hand, and give it to `linkwork identify`",
            ) from None
        mechanism = machine.mechanism
        self.places = [mechanism.joint_index(name) for name in self.joints]
        self.motors = np.array([motor.index for motor in machine.motors])
        self.middle = machine.initial_q[self.places]
        self.scale = mechanism.model.column_scale[self.places]
        self.start = Start.at_pose(machine, machine.initial_q)
        self.model = identified_model(machine)
        self.base, self.kept = self.model.base, self.model.kept
        self.known = np.zeros((len(self.kept), len(self.kept)))
        if after:
            found = estimate(equations_for(machine, after, self.model.columns), self.kept)
            self.known = found.information.T @ found.information / NOISE_MODEL**2
        limits = np.array([machine.joints[k].position for k in self.places])
        self.room = np.minimum(self.middle - limits[:, 0], limits[:, 1] - self.middle)
        self.room = np.clip(0.95 * self.room, 0.0, _LARGEST * self.scale)
        self.noise = _NOISE * np.array([motor.max_effort for motor in machine.motors])
        self.wanted = self._wanted()

    def _wanted(self) -> list[int]:
        """Return the places of the base parameters that the purpose is about."""
        every = self.base.combinations
        if self.purpose == "payload":
            mechanism = self.machine.mechanism
            carriers = {mechanism.points[one.index].body for one in self.machine.payloads}
            carriers |= {mechanism.points[k].body for k in range(len(mechanism.points)) if not carriers}
            found = [
                k for k, each in enumerate(every)
                if any(one.owner in carriers for one in (each.first, *(other for other, _ in each.others)))
            ]  # fmt: skip
        else:
            kinds = _KINDS.get(self.purpose)
            found = [k for k, each in enumerate(every) if kinds is None or each.first.kind in kinds]
        return found or list(range(len(every)))

    def admitted(self, shape: Callable[[float], Way], size: float = 1.0) -> tuple[float, Way] | None:
        """Return the size at which a motion is admitted, and the motion; the first size to try is `size`."""
        for _ in range(_SHRINKS):
            way = shape(size)
            try:
                answer = judge({"trajectory": _trajectory(self.joints, way)}, self.machine, self.start)
            except RequestError as error:
                raise RefusedData("trajectory", error.message) from None
            if answer["feasible"]:
                return size, way
            stretch = answer["min_time_stretch"]
            size *= max(_LEAST_SHRINK, 0.98 / stretch) if stretch and stretch > 1.0 else 0.75
        return None

    def rows(self, way: Way) -> tuple[Floats, Floats]:
        """Return matrix (n × joints × columns) and gains (n × joints × motors) along a motion."""
        step = max(1, round(_SAMPLE_S / _POINT_S))
        poses = ClosedPoses(self.machine.mechanism, self.machine.initial_q, self.joints)
        states = poses.samples(way.y[::step], way.rate[::step], way.acceleration[::step], step * _POINT_S)
        usable = np.flatnonzero(states.usable).tolist()
        columns, regressor = list(self.model.columns), self.model.regressor
        matrix = np.zeros((len(usable), len(self.joints), len(columns)))
        for row, k in enumerate(usable):
            state = states.q[k], states.v[k], states.vdot[k], states.gradient[k]
            matrix[row] = regressor.projected(*state)[:, columns]
        return matrix, states.gradient[usable][:, self.motors].transpose(0, 2, 1)

    def information(self, way: Way) -> tuple[Floats, Floats]:
        """Return the information about the base parameters, and the parameters' usual sizes."""
        matrix, gains = self.rows(way)
        sides = matrix @ np.array([each.value for each in self.base.parameters])
        spread = (gains * self.noise**2) @ gains.transpose(0, 2, 1)
        weighted = np.linalg.solve(np.linalg.cholesky(spread), matrix[:, :, self.kept])
        flat = weighted.reshape(-1, len(self.kept))
        count = _SAMPLE_S / self.machine.period_s
        sizes = usual_sizes(
            self.machine, self.base, float(np.sqrt(np.mean(sides**2))),
            np.sqrt(np.mean(matrix**2, axis=(0, 1))),
        )  # fmt: skip
        return count * flat.T @ flat, sizes

    def value(self, information: Floats, usual: Floats) -> float:
        """Return log det of the information about what is wanted, the other parameters being unknown."""
        scale = np.abs(self.base.matrix) @ usual
        scaled = np.eye(len(scale)) + (information + self.known) * scale[:, None] * scale
        rest = [k for k in range(len(scale)) if k not in self.wanted]
        whole = np.linalg.slogdet(scaled)[1]
        return float(whole - (np.linalg.slogdet(scaled[np.ix_(rest, rest)])[1] if rest else 0.0))

    def expected(self, way: Way) -> tuple[FoundParameter, ...]:
        """Return the base parameters with the deviations to expect."""
        information, usual = self.information(way)
        scale = np.abs(self.base.matrix) @ usual
        scaled = 1e-12 * np.eye(len(scale)) + (information + self.known) * scale[:, None] * scale
        deviations = NOISE_MODEL * np.sqrt(np.diag(np.linalg.inv(scaled))) * scale
        values = np.array([each.value for each in self.base.combinations])
        return judged(self.base, values, deviations, usual)


def _window(time_s: Floats) -> tuple[Floats, Floats, Floats]:
    """Return a window that rises from 0 and returns to it, with its two derivatives, also 0 there."""
    end = time_s[-1]
    ramp = min(_RAMP_S, 0.5 * end)
    near = np.clip(np.minimum(time_s, end - time_s) / ramp, 0.0, 1.0)
    sign = np.where(time_s < 0.5 * end, 1.0, -1.0) / ramp
    height = near**3 * (10.0 - 15.0 * near + 6.0 * near**2)
    rise = 30.0 * near**2 * (1.0 - near) ** 2 * sign
    bend = 60.0 * near * (1.0 - near) * (1.0 - 2.0 * near) / ramp**2
    return height, rise, bend


def _series(design: _Design, seconds: float, base_hz: float, weights: Floats, size: float) -> Way:
    """Return Fourier series of the joints (weights: 2 × joints × 5, sines and cosines) within a window."""
    time_s = np.linspace(0.0, seconds, max(20, round(seconds / _POINT_S)) + 1)
    rate = 2.0 * np.pi * base_hz * _HARMONICS
    angle = rate * time_s[:, None]
    sine, cosine = np.sin(angle), np.cos(angle)
    whole = np.sqrt((weights**2).sum(axis=0)).sum(axis=1)
    a, b = size * weights * (design.room / np.maximum(whole, 1e-12))[:, None]
    y = sine @ a.T + cosine @ b.T
    d = (rate * cosine) @ a.T - (rate * sine) @ b.T
    dd = -(rate**2 * sine) @ a.T - (rate**2 * cosine) @ b.T
    height, rise, bend = (each[:, None] for each in _window(time_s))
    return Way(
        time_s, design.middle + height * y, height * d + rise * y,
        height * dd + 2.0 * rise * d + bend * y,
    )  # fmt: skip


def _sweep(seconds: float) -> tuple[Floats, Floats, Floats, Floats]:
    """Return times, way, speed and acceleration (n) of a sweep to 1, to -1 and back to 0 at equal speeds."""
    turn = min(_TURN_S, seconds / 12.0)
    time_s = np.linspace(0.0, seconds, max(20, round(seconds / _POINT_S)) + 1)
    out = np.zeros((3, len(time_s)))
    edges = 0.25 * (seconds + turn), 0.75 * seconds - 0.25 * turn
    for at, change in ((0.5 * turn, 1.0), (edges[0], -2.0), (edges[1], 2.0), (seconds - 0.5 * turn, -1.0)):
        width = turn * abs(change)
        x = np.clip((time_s - at) / width + 0.5, 0.0, 1.0)
        out[1] += change * x**2 * (3.0 - 2.0 * x)
        out[2] += change * 6.0 * x * (1.0 - x) / width
        ramp = width * (x**3 - 0.5 * x**4) + np.maximum(time_s - at - 0.5 * width, 0.0)
        out[0] += change * ramp
    out /= np.abs(out[0]).max()
    out[:, -1] = 0.0
    return time_s, out[0], out[1], out[2]


def _sweeps(design: _Design, joint: int, seconds: float, size: float) -> Way:
    """Return sweeps of one joint at several speeds, each in time that is inverse to its speed."""
    whole = sum(1.0 / speed for speed in _SPEEDS)
    found = Way(np.zeros(0), *(np.zeros((0, len(design.places))) for _ in range(3)))
    for speed in _SPEEDS:
        time_s, *parts = _sweep(seconds / speed / whole)
        own = np.zeros((3, len(time_s), len(design.places)))
        own[:, :, joint] = size * design.room[joint] * np.array(parts)
        found = found.then(Way(time_s, design.middle + own[0], own[1], own[2]))
    return found


def excite(
    machine: Machine, *, seconds: float = 30.0, purpose: Purpose = "all",
    after: Sequence[MeasuredMotion] = (), search_s: float = 40.0, seed: int = 0,
    progress: Callable[[float], None] = lambda _: None,
) -> Excitation:  # fmt: skip
    """Design a motion that makes parameters known.

    seconds: duration of the motion. after: recordings whose information is there already. search_s: time for
    the search; KeyboardInterrupt ends it earlier with the best motion so far. Raises RefusedData where no
    motion is admitted.
    """
    design = _Design(machine, purpose, after)
    rng = np.random.default_rng(seed)
    best: Way | None = None
    tried, size = 0, 1.0
    try:
        sweeps = _all_sweeps(design, _SWEPT[purpose] * seconds)
        rest = seconds - float(sweeps.time_s[-1] if len(sweeps.time_s) else 0.0)
        known = design.information(sweeps)[0] if len(sweeps.time_s) else np.zeros_like(design.known)
        value, weights, base_hz = -np.inf, np.zeros(0), 0.0
        begun = time.monotonic()
        while best is None or time.monotonic() - begun < search_s:
            new, hz = rng.normal(size=(2, len(design.places), len(_HARMONICS))) / _HARMONICS**0.5, 0.0
            if best is not None and rng.uniform() < 0.7:
                new = weights + 0.3 * rng.normal(size=new.shape) * np.abs(weights).mean()
                hz = float(np.clip(base_hz * np.exp(0.2 * rng.normal()), *_BASES_HZ))
            hz = hz or float(np.exp(rng.uniform(*np.log(_BASES_HZ))))
            found = design.admitted(partial(_series, design, rest, hz, new), size)
            tried += 1
            if found is not None:
                size = min(1.0, 1.3 * found[0])
                information, usual = design.information(found[1])
                worth = design.value(information + known, usual)
                if worth > value:
                    best, value, weights, base_hz = found[1], worth, new, hz
            elif best is None and time.monotonic() - begun > search_s:
                break
            progress(min(1.0, (time.monotonic() - begun) / max(search_s, 1e-9)))
    except KeyboardInterrupt:
        if best is None:
            raise
    if best is None:
        raise RefusedData(
            "not admitted", f"no motion of {machine.name} around its initial pose was admitted within "
            f"{search_s:g} s: `linkwork check` shows what the pose allows",
        )  # fmt: skip
    way = sweeps.then(best)
    noise = {motor.joint: float(size) for motor, size in zip(machine.motors, design.noise, strict=True)}
    return Excitation(machine, tuple(design.joints), way, design.base, design.expected(way), noise, tried)


def _all_sweeps(design: _Design, seconds: float) -> Way:
    """Return sweeps of all joints, one after another; a joint that cannot sweep is left out."""
    found = Way(np.zeros(0), *(np.zeros((0, len(design.places))) for _ in range(3)))
    own = seconds / len(design.places)
    for k in range(len(design.places)) if seconds > 0.0 else ():
        swept = design.admitted(partial(_sweeps, design, k, own))
        if swept is not None:
            found = found.then(swept[1])
    return found
