"""Constraints that a goal's events open and close: where on the path, and whether the goal continues there.

Constraints with `closed_when` follow signals. An event that sets such an output changes the constraints under
the goal; the walk goes through the impulse (`walk.crossing`), and the loop through that of the plant.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, NoReturn

import numpy as np

from linkwork.controller.exchange.named_signals import output_value
from linkwork.controller.planning.messages.planner_start import Start
from linkwork.controller.planning.paths.path import Path
from linkwork.controller.planning.walk.crossing import Crossing
from linkwork.controller.planning.walk.walk import Walk
from linkwork.machine import Machine
from linkwork.machine.constraint_sets import names_of, under
from linkwork.multibody.assembly.switching import SWITCH_TOLERANCE
from linkwork.multibody.expressions.conditions import Condition, parse_condition
from linkwork.protocol.codes import ResultCode
from linkwork.protocol.errors import RequestError, spelled
from linkwork.protocol.trajectory import PathEvent, Trajectory


def switching_events(machine: Machine, given: Trajectory) -> list[tuple[int, PathEvent]]:
    """Return the events of a trajectory that set outputs which constraints follow, with their numbers."""
    followed = {name for condition in _conditions(machine).values() for name in condition.names}
    return [(number, event) for number, event in enumerate(given.events) if followed & set(event.set)]


def with_switches(machine: Machine, given: Trajectory, path: Path, start: Start) -> Path:
    """Return the path with the sets of constraints that its events switch to, and a knot at each change.

    Raises RequestError: INVALID_GOAL for an event whose place is a length, INFEASIBLE for a set that the
    controller cannot run, with the event's place in the request.
    """
    conditions, values = _conditions(machine), _values(machine, start)
    met = {bit: condition.met(values) for bit, condition in conditions.items()}
    closed = machine.closed_at_start
    places: list[tuple[float, int]] = []
    for number, event in switching_events(machine, given):
        place = _place(given, path, event, number) - event.lead_s
        places.append((min(max(place, 0.0), path.duration_s), number))
    schedule = [(0.0, closed)]
    for place, number in sorted(places):
        for name, value in given.events[number].set.items():
            values[name] = output_value(machine, name, value, ())[1]
        for bit, condition in conditions.items():
            if condition.met(values) != met[bit]:
                met[bit] = not met[bit]
                closed = closed | 1 << bit if met[bit] else closed & ~(1 << bit)
        if closed != schedule[-1][1]:
            _check_set(machine, closed, number)
            path, s = path.with_knot(place)
            if len(schedule) > 1 and s == schedule[-1][0]:
                schedule.pop()
            schedule.append((s, closed))
    names = [machine.mechanism.coordinate_names[i] for i in path.coordinates]
    own = [machine.tolerances[i].path for i in path.coordinates]
    asked = [given.tolerances.get(name) for name in names]
    allowed = [each.path or most if each else most for each, most in zip(asked, own, strict=True)]
    task = replace(path.task, switches=np.array(schedule))
    return replace(path, task=task, allowed=np.array(allowed))


def check_crossings(machine: Machine, path: Path, walked: Walk) -> None:
    """Refuse changes of constraints after which the goal cannot be followed.

    Raises RequestError (INFEASIBLE). The plant does not close a constraint that is open too far. Errors e of
    position and ė of velocity that the impulse leaves grow to |e| + |ė| / ω at most, with the bandwidth ω;
    the path tolerances bound that.
    """
    for crossing in walked.crossings:
        if not crossing.possible:
            text = (
                f"{', '.join(crossing.closed)} cannot close at {crossing.s:.3f} s (sample {crossing.sample}):"
                f" it is {crossing.gap:.4g} open (typical lengths or rad), {SWITCH_TOLERANCE:g} is allowed."
                " Lead the path to where the constraint is met"
            )
            data = {"quantity": "gap", "value": crossing.gap, "limit": SWITCH_TOLERANCE, "unit": "1"}
            _refuse(text, crossing, walked, {**data, "coordinate": crossing.closed[0]})
        if crossing.sample < walked.reached:
            _check_step(machine, path, walked, crossing)


def _check_step(machine: Machine, path: Path, walked: Walk, crossing: Crossing) -> None:
    count, n = len(path.coordinates) - path.held, crossing.sample
    chosen = list(path.coordinates[:count])
    turn = np.where(np.array(machine.mechanism.coordinate_wraps)[chosen], 2.0 * np.pi, np.inf)
    off = np.abs(walked.d0[n, :count] - crossing.theta[chosen])
    off = np.minimum(off % turn, np.where(np.isfinite(turn), turn - off % turn, np.inf))
    step = np.abs(walked.d1[n, :count] - crossing.rate[chosen])
    bandwidth = [machine.controller.gain_of(machine.mechanism.coordinate_names[i])[0] for i in chosen]
    error = off + step / np.array(bandwidth)
    worst = int(np.argmax(error / path.allowed[:count]))
    value, limit = float(error[worst]), float(path.allowed[worst])
    if value <= limit:
        return
    name, unit = machine.mechanism.coordinate_names[chosen[worst]], machine.coordinates[chosen[worst]].unit
    verb = f"close {', '.join(crossing.closed)}" if crossing.closed else f"open {', '.join(crossing.opened)}"
    text = (
        f"{name} leaves its path where the events {verb}, at {crossing.s:.3f} s (sample {n}): steps of"
        f" {off[worst]:.4g} {unit} and {step[worst]:.4g} {unit}/s let it deviate by up to {value:.4g} {unit},"
        f" its path tolerance is {limit:g} {unit}. Be there at the velocity that the constraints admit, or"
        " allow a larger tolerance"
    )
    data = {"quantity": "step at a switch", "value": value, "limit": limit, "unit": unit}
    _refuse(text, crossing, walked, {**data, "coordinate": name})


def _refuse(text: str, crossing: Crossing, walked: Walk, data: Mapping[str, Any]) -> NoReturn:
    n = min(crossing.sample, len(walked.s) - 1)
    where = {"sample": crossing.sample, "time_s": crossing.s, "piece": int(walked.piece[n])}
    raise RequestError(ResultCode.INFEASIBLE, text, (), {"min_time_stretch": None, **where, **data})


def _conditions(machine: Machine) -> dict[int, Condition]:
    digital = [signal.name for signal in machine.signals if signal.is_digital]
    return {bit: parse_condition(text, digital) for bit, text in enumerate(machine.closed_when) if text}


def _values(machine: Machine, start: Start) -> dict[str, float]:
    """Values of the signals at the start; of those that are not known, the initial ones."""
    values = {each.name: float(each.initial) for each in machine.signals}
    for signals, given in ((machine.inputs, start.inputs), (machine.outputs, start.outputs)):
        if given:
            values |= {each.name: value for each, value in zip(signals, given, strict=True)}
    return values


def _place(given: Trajectory, path: Path, event: PathEvent, number: int) -> float:
    at, where = event.at, ("trajectory", "events", number, "at")
    if at.path_m is not None:
        text = (
            f"{spelled(where)}: an output that a constraint follows changes the path itself, so its place"
            " cannot be a length; use time_s or point"
        )
        raise RequestError(ResultCode.INVALID_GOAL, text, (*where, "path_m"))
    if at.time_s is not None:
        return at.time_s
    places = path.way_points_s
    added = len(places) - len(given.points or ())
    return float(places[min(max(added + int(at.point or 0), 0), len(places) - 1)])


def _check_set(machine: Machine, closed: int, number: int) -> None:
    wrong = under(machine, closed)
    if isinstance(wrong, str):
        where = ("trajectory", "events", number, "set")
        held = ", ".join(names_of(machine, closed)) or "none of the switchable constraints"
        text = f"{spelled(where)}: the controller cannot run the machine with {held}: {wrong}"
        raise RequestError(ResultCode.INFEASIBLE, text, where)
