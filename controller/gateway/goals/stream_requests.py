"""Streams: the request that begins one, and the set-points that go to the loop by shared memory."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from linkwork.controller.exchange.orders import StartStream
from linkwork.controller.exchange.set_points import LEAST_HZ, MOST_HZ, SLOTS, SetPoint
from linkwork.controller.gateway.gateway import Gateway
from linkwork.controller.gateway.goals.goal_queue import StreamIntake
from linkwork.controller.gateway.goals.goal_requests import check_able
from linkwork.controller.gateway.goals.payload_change import start_of
from linkwork.controller.gateway.history import Requester
from linkwork.controller.gateway.order_queue import OrderEffect
from linkwork.controller.gateway.records.messages import UNDER_WAY
from linkwork.controller.gateway.requests.call import Answering, Call
from linkwork.controller.gateway.requests.order_outcomes import place
from linkwork.controller.planning.goals.goal_set import complete, index_of
from linkwork.controller.planning.messages.planner_start import Start
from linkwork.machine import Machine
from linkwork.protocol.codes import Pace, RequestCode, ResultCode
from linkwork.protocol.errors import RequestError
from linkwork.protocol.results import GoalAccepted

SPARE_SLOTS = 64
"""Slots behind the loop that are kept until their set-points are logged."""
DELAY_INTERVALS, DELAY_PERIODS = 3.0, 3.0
"""Default delay of the playback: intervals of the announced rate, and periods of the controller."""


def begin_stream(gateway: Gateway, call: Call) -> Answering:
    """`stream`: begin at rest, where the machine holds."""
    params, machine = call.params(), gateway.held
    most_hz = min(MOST_HZ, 1.0 / machine.period_s)
    if not LEAST_HZ <= params.rate_hz <= most_hz:
        text = f"rate_hz: {params.rate_hz:g} Hz; set-points may come at {LEAST_HZ:g} to {most_hz:g} Hz"
        data = {"allowed": [LEAST_HZ, most_hz]}
        raise RequestError(RequestCode.INVALID_PARAMS, text, ["rate_hz"], data)
    named = _indices(machine, params.coordinates)
    check_able(gateway, call, takes_over=False)
    start = Start.from_message(machine, start_of(gateway))
    whole = complete(machine, named, start, ["coordinates"])
    ordered = (*named, *(index for index in whole if index not in named))
    gateway.borrow(call)
    goal, interval_s = gateway.next_goal(), 1.0 / params.rate_hz
    delay_s = params.delay_s
    if delay_s is None:
        delay_s = DELAY_INTERVALS * interval_s + DELAY_PERIODS * machine.period_s
    intake = gateway.goal_queue.stream
    order = StartStream(
        goal, ordered, len(named), intake.next_number, interval_s, delay_s, params.on_stale == "end"
    )

    effect: OrderEffect = yield place(gateway, call, order)
    intake.begin(goal, named, params.coordinates, most_hz)
    accepted: GoalAccepted = {
        "goal": goal, "method": call.method, "owner": call.owner, "tick": int(effect.record["tick"]),
        "duration_s": 0.0, "coordinates": list(params.coordinates), "report": {},
    }  # fmt: skip
    gateway.memory.accept(accepted, Requester(call.server, call.peer))
    names = machine.mechanism.coordinate_names
    held = [names[index] for index in ordered[len(named) :]]
    told = {"rate_hz": params.rate_hz, "delay_s": delay_s, "on_stale": params.on_stale, "held": held}
    return dict(accepted) | told | {"pace": gateway.options.pace.value}


def _indices(machine: Machine, coordinates: Sequence[str]) -> tuple[int, ...]:
    """The coordinates of a stream. Raises RequestError for one that does not exist, is there twice, or has
    no limits."""
    found: list[int] = []
    for number, name in enumerate(coordinates):
        path: list[str | int] = ["coordinates", number]
        index = index_of(machine, name, path)
        if index in found:
            raise RequestError(ResultCode.INVALID_COORDINATES, f"{name} is named twice", path)
        limits = machine.coordinates[index]
        given = {"velocity": limits.velocity, "acceleration": limits.acceleration, "jerk": limits.jerk}
        missing = [what for what, limit in given.items() if not np.isfinite(limit)]
        if missing:
            text = (
                f"{name} has no limit of {', '.join(missing)}: a stream is limited by them; give them in the "
                "machine file, or stream other coordinates"
            )
            raise RequestError(ResultCode.INVALID_COORDINATES, text, path, {"missing": missing})
        found.append(index)
    return tuple(found)


def take_set_points(gateway: Gateway, call: Call) -> None:
    """`set_points`: check them all, then write them to the loop's slots."""
    params, intake = call.params(), gateway.goal_queue.stream
    gateway.borrow(call)
    record, shared = gateway.latest, gateway.host.shared
    status = 0 if record is None else int(record["goal_status"])
    active = record is not None and int(record["goal_id"]) == params.goal and status in UNDER_WAY
    if not active or intake.goal != params.goal or shared is None:
        text = f"goal: {params.goal} is no active stream; begin one with `stream`"
        raise RequestError(ResultCode.INVALID_GOAL, text, ["goal"])
    points = _read_points(params.points, intake)
    if intake.stamp_s is None:
        _check_first(gateway, points[0][1], intake)
    if gateway.options.pace is not Pace.LOCKSTEP:
        intake.check_rate(len(points), gateway.now_ns)
    waiting = intake.next_number - 1 - intake.taken
    if waiting + len(points) > SLOTS - SPARE_SLOTS:
        text = f"points: {waiting} set-points wait for the loop, which takes one a tick; send fewer at once"
        raise RequestError(RequestCode.BUSY, text, ["points"])
    for stamp, positions, velocities in points:
        shared.set_points.write(SetPoint(intake.next_number, params.goal, stamp, positions, velocities))
        intake.next_number += 1
    intake.stamp_s = points[-1][0]
    call.answer({"tick": gateway.tick, "state": gateway.state_name, "text": ""})


Point = tuple[float, tuple[float, ...], tuple[float, ...]]
"""Stamp, positions, velocities."""


def _read_points(rows: Sequence[Sequence[float]], intake: StreamIntake) -> list[Point]:
    """The set-points of a request. Raises RequestError for the first that is wrong."""
    count, before = len(intake.indices), intake.stamp_s
    found: list[Point] = []
    for number, row in enumerate(rows):
        if len(row) not in (1 + count, 1 + 2 * count):
            names = ", ".join(intake.names)
            text = (
                f"points: set-point {number} has {len(row)} numbers; needed are time_s and the positions of "
                f"{names}, {1 + count} numbers, or also their velocities, {1 + 2 * count}"
            )
            raise RequestError(RequestCode.INVALID_PARAMS, text, ["points", number])
        stamp = row[0]
        if before is not None and stamp <= before:
            text = (
                f"points: time_s of set-point {number} is {stamp!r}, not later than {before!r} of the one "
                "before"
            )
            raise RequestError(ResultCode.OLD_TIMESTAMP, text, ["points", number, 0], {"time_s": before})
        before = stamp
        found.append((stamp, tuple(row[1 : 1 + count]), tuple(row[1 + count :])))
    return found


def _check_first(gateway: Gateway, positions: Sequence[float], intake: StreamIntake) -> None:
    """The first set-point must be where the machine holds."""
    machine, record = gateway.held, gateway.latest
    assert record is not None
    for number, (index, wanted) in enumerate(zip(intake.indices, positions, strict=True)):
        here, allowed = float(record["reference"][index]), machine.tolerances[index].start
        off = wanted - here
        if machine.mechanism.coordinate_wraps[index]:
            off -= 2.0 * np.pi * np.round(off / (2.0 * np.pi))
        if not abs(off) <= allowed:
            unit = machine.coordinates[index].unit
            text = (
                f"points: the first set-point is {abs(off):.4g} {unit} from the machine in "
                f"{intake.names[number]} ({here:.6g} {unit}), allowed are {allowed:g} {unit}: move there "
                "first, or begin with the present position"
            )
            data: dict[str, Any] = {"coordinate": intake.names[number], "position": here, "allowed": allowed}
            raise RequestError(ResultCode.INVALID_GOAL, text, ["points", 0, 1 + number], data)


HANDLERS = {"stream": begin_stream, "set_points": take_set_points}
