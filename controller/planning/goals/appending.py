"""Start of an appended goal: on the path before it, where its first sample fits, else at its end."""

from collections.abc import Callable

import numpy as np

from linkwork.arrays import Floats
from linkwork.controller.limit_tolerance import exceeds
from linkwork.controller.planning.goals.force_goals import complete_pressed, forces_of, keeps_pressing
from linkwork.controller.planning.goals.goal_in_motion import GoalInMotion
from linkwork.controller.planning.goals.goal_set import complete, index_of
from linkwork.controller.planning.messages.planner_start import Start
from linkwork.controller.planning.paths.curves import shape_derivatives
from linkwork.machine import Machine
from linkwork.protocol.trajectory import Trajectory

_SAMPLES = 2000
_STEPS = 20


def appended_start(machine: Machine, trajectory: Trajectory, running: GoalInMotion) -> tuple[Start, float]:
    """Start state of an appended trajectory, and the path parameter at its junction.

    A trajectory whose first sample is in motion takes over where the path before it, at the junction's rate,
    has that position and velocity to within the start tolerances; every other one begins at the end of that
    path, at rest. So does one that presses other contacts than the goal before.
    """
    end = running.path.duration_s
    wanted = _first_sample(machine, trajectory, running)
    if wanted is None:
        return running.start(machine, end), end
    index, theta, velocity = wanted
    place = [running.path.coordinates.index(one) for one in index]
    allowed = np.array([machine.tolerances[one].start for one in index])
    turns = np.array([machine.mechanism.coordinate_wraps[one] for one in index])

    def away(s: float) -> tuple[Floats, Floats, Floats]:
        here, rate, _ = running.path.evaluate(s)[:, place]
        gap = here - theta
        gap -= np.where(turns, 2.0 * np.pi * np.round(gap / (2.0 * np.pi)), 0.0)
        return gap, rate * running.rate - velocity, rate

    candidates = np.append(running.path.full_speed[1], np.linspace(running.s, end, _SAMPLES))
    candidates = candidates[(candidates >= running.s) & (candidates <= end)]
    sizes = [float(np.max(np.abs(away(float(s))[0]) / allowed)) for s in candidates]
    for nearest in np.argsort(sizes, kind="stable")[:8]:
        s = _nearest(away, float(candidates[nearest]), running.s, end)
        gap, rate, _ = away(s)
        if not np.any(exceeds(np.abs([gap, rate]), allowed)):
            return running.start(machine, s), s
    return running.start(machine, end), end


Away = Callable[[float], tuple[Floats, Floats, Floats]]


def _nearest(away: Away, s: float, first: float, last: float) -> float:
    """The nearby s at which the path is nearest to the place: Gauss-Newton."""
    for _ in range(_STEPS):
        gap, _, along = away(s)
        square = float(along @ along)
        if square < 1e-18:
            return s
        step = float(gap @ along) / square
        s = min(max(s - step, first), last)
        if abs(step) < 1e-12:
            break
    return s


def _first_sample(
    machine: Machine, trajectory: Trajectory, running: GoalInMotion
) -> tuple[list[int], Floats, Floats] | None:
    """Coordinates, place and velocity with which a trajectory begins; None where it begins at rest, where the
    machine is, or in other coordinates than the path before it.
    """
    if trajectory.guard or not keeps_pressing(machine, running.path.forces, trajectory.force):
        return None
    if trajectory.points is not None:
        first = trajectory.points[0]
        if first.time_from_start_s > 0.0 or first.velocities is None or not any(first.velocities):
            return None
        names, theta, velocity = list(trajectory.coordinates), first.positions, first.velocities
        found = np.array(theta), np.array(velocity)
    elif trajectory.curve is not None and trajectory.entry is None:
        names = list(trajectory.curve.of)
        sample = shape_derivatives(trajectory.curve.shape, np.zeros(1))[0]
        found = sample[0, : len(names)], sample[1, : len(names)]
        if not np.any(found[1]):
            return None
    else:
        return None
    where = ("trajectory", "coordinates")
    index = [index_of(machine, name, (*where, place)) for place, name in enumerate(names)]
    start = running.start(machine)
    forces = forces_of(trajectory, machine)
    if forces is None:
        chosen = complete(machine, index, start, where)
    else:
        chosen, gaps = complete_pressed(machine, index, forces, start, where)
        chosen = (*chosen, *gaps)
    if set(chosen) != set(running.path.coordinates):
        return None
    return index, *found
