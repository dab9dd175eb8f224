"""Jerk-limited moves, as exact cubic pieces of Ruckig's profiles.

From rest a move is a straight line of its coordinates: one profile along the line, within the tightest of all
limits. From motion every coordinate has a separate profile of the same duration.

Only state to state: Ruckig's intermediate positions would be sent to a service outside, and are never used.
"""

import math

import numpy as np
import ruckig

from linkwork.arrays import Floats
from linkwork.controller.exchange.goal_block import QUINTIC, SHORTEST_PIECE_S
from linkwork.controller.limit_tolerance import exceeds, with_rounding
from linkwork.controller.planning.messages.planner_start import Present
from linkwork.controller.planning.paths.path import Path
from linkwork.machine import Machine
from linkwork.protocol.codes import ResultCode
from linkwork.protocol.errors import RequestError

SHORTEST_WAY, SHORT_PROFILE_S, SHORT_MOVE_S = 1e-12, 1e-3, 0.1
"""A move of less than this way (rad, m) or time (s) goes nearly nowhere, and takes the last of these."""
_INSIDE = 1e-9
_ANGLE_SPEED, _LENGTH_SPEED = 1.0, 0.25
_SPEED_UP_S, _RAMP_S = 0.25, 0.1


def limits_of(machine: Machine, index: int) -> tuple[float, float, float]:
    """Largest velocity, acceleration and jerk for moves in a coordinate.

    Defaults where the file has none: a joint's velocity from its motor, else 1 rad/s or 0.25 m/s; an
    acceleration that reaches the velocity in 0.25 s; a jerk that reaches the acceleration in 0.1 s.
    """
    limits = machine.coordinates[index]
    velocity = limits.velocity
    name = machine.mechanism.coordinate_names[index]
    velocity = min([velocity, *(motor.max_speed for motor in machine.motors if motor.joint == name)])
    if not math.isfinite(velocity):
        velocity = _ANGLE_SPEED if limits.is_angle else _LENGTH_SPEED
    acceleration = limits.acceleration if math.isfinite(limits.acceleration) else velocity / _SPEED_UP_S
    jerk = limits.jerk if math.isfinite(limits.jerk) else acceleration / _RAMP_S
    return velocity, acceleration, jerk


def path_to(machine: Machine, present: Present, target: Floats, slower: float = 1.0) -> Path:
    """The quickest move to rest at the target (k): a straight line of the coordinates if it begins at rest.

    A move that begins in motion starts with the velocities and accelerations of `present`. slower:
    time-scaling factor by which its limits are lower, for velocities, accelerations and jerks alike.

    Raises RequestError (INVALID_GOAL) when a present rate is beyond its limit.
    """
    limits = np.array([limits_of(machine, index) for index in present.coordinates])
    theta, rate = present.theta, present.rate
    units = [f"{machine.coordinates[index].unit}/s" for index in present.coordinates]
    moving = zip(present.names, units, rate.tolist(), limits[:, 0].tolist(), strict=True)
    for name, unit, speed, velocity in moving:
        if exceeds(abs(speed), velocity):
            text = f"{name} moves at {speed:.6g}, allowed {velocity:.6g} {unit}; wait until it stops"
            data = {"coordinate": name, "value": speed, "limit": velocity}
            raise RequestError(ResultCode.INVALID_GOAL, text, ("target", name), data)
    limits = limits * slower ** -np.arange(1.0, 4.0)
    way = target - theta
    in_motion = bool(rate.any()) or present.moving
    if in_motion:
        profiles = _profiles(theta, *_inside(rate, present.acceleration, limits), target, limits)
        directions = np.eye(len(target))
        begin = np.zeros(len(target))
    else:
        far = float(np.abs(way).max())
        if far < SHORTEST_WAY:
            return _step(present, target)
        directions, begin = way[None, :] / far, theta
        along = np.min(limits / np.maximum(np.abs(directions.T), 1e-200), axis=0)
        here = np.zeros(1)
        profiles = _profiles(here, here, here, np.array([far]), along[None, :])
    times = np.unique(np.concatenate([profile[0] for profile in profiles]))
    end = times[-1]
    if end < SHORT_PROFILE_S and not in_motion:
        return _step(present, target)
    keep = np.concatenate([[True], np.diff(times) > SHORTEST_PIECE_S])
    keep[1:] &= times[1:] <= end - SHORTEST_PIECE_S
    knots = np.append(times[keep], end)
    values = np.stack([_at(profile, knots) for profile in profiles], axis=2) @ directions
    values[:, 0] += begin
    share, missing = (knots / end)[:, None], target - values[-1, 0]
    values[:, 0] += missing * share**2 * (3.0 - 2.0 * share)  # Ruckig ends up to 1e-8 beside the target
    values[:, 1] += missing * 6.0 * share * (1.0 - share) / end
    values[0, 0], values[0, 1] = theta, rate
    values[-1, 0], values[-1, 1] = target, 0.0
    path = Path(present.coordinates, knots, values, (0.0, float(end)))
    return path if in_motion else path.stretched(_slower_for(knots, values, limits[:, 1]))


def _slower_for(knots: Floats, values: Floats, most: Floats) -> float:
    """Return the factor of time that keeps cubic pieces within accelerations (k): 1 where they are.

    Pieces that were too short to be kept have been joined to others, which accelerate a little more.
    """
    length = np.diff(knots)[:, None]
    way, rates = np.diff(values[:, 0], axis=0), values[:, 1]
    first = (6.0 * way / length - 4.0 * rates[:-1] - 2.0 * rates[1:]) / length
    last = (2.0 * rates[:-1] + 4.0 * rates[1:] - 6.0 * way / length) / length
    share = float((np.maximum(np.abs(first), np.abs(last)) / most).max())
    return math.sqrt(share) if share > 1.0 + _INSIDE else 1.0


def _step(present: Present, target: Floats) -> Path:
    """A move that goes (nearly) nowhere."""
    values = np.zeros((2, QUINTIC, len(target)))
    values[0, 0], values[1, 0] = present.theta, target
    return Path(present.coordinates, np.array([0.0, SHORT_MOVE_S]), values, (0.0, SHORT_MOVE_S))


Switches = tuple[Floats, Floats]
"""Switching times (m), and position, velocity, acceleration, jerk from each of them on (m × 4)."""


def _inside(rate: Floats, change: Floats, limits: Floats) -> tuple[Floats, Floats]:
    """Return rates and accelerations (k) that are just inside the limits, where they were at these up to
    rounding, and the speed that they reach as well: at a limit Ruckig may find a much slower motion or none.
    """
    most, slack = limits * (1.0 - _INSIDE), with_rounding(limits) - limits
    clipped = np.clip(change, -most[:, 1], most[:, 1])
    change = np.where(exceeds(np.abs(change), limits[:, 1]), change, clipped)
    side = np.sign(np.where(change == 0.0, rate, change))
    over = side * rate + change**2 / (2.0 * limits[:, 2]) - most[:, 0]
    rate = rate - side * np.where((over > 0.0) & (over <= slack[:, 0]), over, 0.0)
    return np.where(exceeds(np.abs(rate), limits[:, 0]), rate, np.clip(rate, -most[:, 0], most[:, 0])), change


def _profiles(
    present: Floats, rate: Floats, change: Floats, target: Floats, limits: Floats
) -> list[Switches]:
    count = len(present)
    given = ruckig.InputParameter(count)
    given.synchronization = ruckig.Synchronization.Time
    given.current_position, given.current_velocity = present.tolist(), rate.tolist()
    given.current_acceleration = change.tolist()
    given.target_position = target.tolist()
    assert not given.intermediate_positions
    found = _found(given, limits)
    return [
        _profile(one, p, v, a, found.duration)
        for one, p, v, a in zip(found.profiles[0], present, rate, change, strict=True)
    ]


def _found(given: ruckig.InputParameter, limits: Floats) -> ruckig.Trajectory:
    """The profiles. Ruckig now and then finds none for reasons of round-off; a little slower it does."""
    found, said = ruckig.Trajectory(len(limits)), ""
    for share in (1.0, 1.0 - 1e-7, 1.0 - 1e-5, 1.0 - 1e-3):
        given.max_velocity, given.max_acceleration, given.max_jerk = (share * limits.T).tolist()
        try:
            result = ruckig.Ruckig(len(limits)).calculate(given, found)
        except (ruckig.RuckigError, ValueError):  # a result that its enumeration lacks
            said = "an error in Ruckig"
            continue
        if result in (ruckig.Result.Working, ruckig.Result.Finished):
            return found
        said = result.name
    text = f"no jerk-limited move was found ({said})"
    raise RequestError(ResultCode.INVALID_GOAL, text, ("target",))


def _profile(
    found: ruckig.Profile, position: float, velocity: float, acceleration: float, duration: float
) -> Switches:
    """One coordinate's switching times and states, integrated from its own start by the jerks alone."""
    jerks = [(t, j) for part in (found.brake, found) for t, j in zip(part.t, part.j, strict=False) if t > 0.0]
    time, state, times, states = 0.0, (position, velocity, acceleration), [], []
    for length, jerk in jerks:
        times.append(time)
        states.append((*state, jerk))
        p, v, a = state
        state = (
            p + length * (v + length * (a / 2.0 + length * jerk / 6.0)),
            v + length * (a + length * jerk / 2.0),
            a + length * jerk,
        )
        time += length
    times.append(max(time, duration))
    states.append((state[0], 0.0, 0.0, 0.0))
    if time < duration:
        times.insert(-1, time)
        states.insert(-1, (state[0], 0.0, 0.0, 0.0))
    return np.array(times), np.array(states)


def _at(profile: Switches, times: Floats) -> Floats:
    """Position and velocity at these times: n × 2."""
    switches, states = profile
    place = np.clip(np.searchsorted(switches, times, "right") - 1, 0, len(switches) - 1)
    x = times - switches[place]
    p, v, a, j = states[place].T
    return np.stack([p + x * (v + x * (a / 2.0 + x * j / 6.0)), v + x * (a + x * j / 2.0)], axis=1)
