"""The requests `confirm_branch` and `switch`: the assembly mode, and constraints that close or open."""

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from linkwork.arrays import Floats
from linkwork.controller.exchange.orders import (
    MOST_PAIRS,
    ConfirmBranch,
    OrderOutcome,
    SuggestPose,
    SwitchConstraint,
)
from linkwork.controller.gateway.gateway import Gateway
from linkwork.controller.gateway.order_queue import OrderEffect
from linkwork.controller.gateway.requests.call import Answering, Call
from linkwork.controller.gateway.requests.order_outcomes import (
    ANSWER_WITHIN_S,
    carry_out,
    effect_map,
    place,
    until,
)
from linkwork.controller.supervision.state_machine import State
from linkwork.machine import Machine
from linkwork.machine.checks import assembly_modes
from linkwork.machine.constraint_sets import names_of
from linkwork.machine.nearest_name import no_such, suggested
from linkwork.protocol.codes import RequestCode
from linkwork.protocol.errors import RequestError

_NEAR = 0.05
"""Largest distance (rad, m) of the pose from the positions that the request names."""


def confirm_branch(gateway: Gateway, call: Call) -> Answering:
    """Place the order; before it, if the request names positions, those that lead the estimate there."""
    positions = call.params().positions
    if positions is None:
        gateway.borrow(call)
        return (yield from carry_out(gateway, call, ConfirmBranch()))
    if call.at_tick is not None:
        text = "at_tick: leave it out beside `positions`, which take effect at once"
        raise RequestError(RequestCode.INVALID_PARAMS, text, ["at_tick"])
    if gateway.latest is None:
        text = "positions: there is no estimate yet from which to seek them; try again"
        raise RequestError(RequestCode.BUSY, text)
    pose = _pose(gateway.held, gateway.latest["q"], positions)
    gateway.borrow(call)
    for part in _orders(pose):
        yield place(gateway, call, part)
    effect: OrderEffect = yield place(gateway, call, ConfirmBranch())
    names = gateway.held.mechanism.position_names
    named = ", ".join(f"{name} {float(effect.record['q'][names.index(name)]):.4g}" for name in positions)
    return effect_map(call.method, effect, f"the estimate begins again: {named}")


def _pose(machine: Machine, present: Floats, positions: Mapping[str, float]) -> Floats:
    """Return the pose (nq; rad, m) that closes near these positions, with the sensors' joints as at present.

    present: the estimate (nq). Raises RequestError (INVALID_PARAMS) for a name that there is not, and if no
    pose is near enough.
    """
    names = list(machine.mechanism.position_names)
    for name in positions:
        if name not in names:
            text = no_such("position", name, names)
            raise RequestError(RequestCode.INVALID_PARAMS, text, ["positions", name])
    found, reason = assembly_modes.pose_near(machine, present, positions, _NEAR)
    if found is None:
        text = f"positions: the machine cannot be closed near them at the measured positions: {reason}"
        raise RequestError(RequestCode.INVALID_PARAMS, text, ["positions"])
    for name, value in positions.items():
        own = float(found[names.index(name)])
        if not abs(own - value) < _NEAR:
            text = (
                f"positions: the nearest pose that closes at the measured positions has {name} = {own:.6g},"
                f" not {value:g}; `linkwork model MACHINE --assemblies` lists the assembly modes"
            )
            data = {"value": value, "limit": own}
            raise RequestError(RequestCode.INVALID_PARAMS, text, ["positions", name], data)
    return found


def _orders(pose: Floats) -> Iterator[SuggestPose]:
    """Return the orders that give a whole pose."""
    for begin in range(0, len(pose), MOST_PAIRS):
        part = np.arange(begin, min(begin + MOST_PAIRS, len(pose)))
        yield SuggestPose(tuple((int(index), float(pose[index])) for index in part))


def switch_constraint(gateway: Gateway, call: Call) -> Answering:
    """Handle `switch`: the answer comes with the state in which the device says what became of it."""
    params = call.params()
    bit = _place(gateway, params.constraint)
    if call.at_tick is None:
        _refuse_without_model(gateway, bit, on=params.on)
    gateway.borrow(call)

    effect: OrderEffect = yield place(gateway, call, SwitchConstraint(bit, params.on))
    if effect.outcome is OrderOutcome.NOTHING_TO_DO:
        text = f"{params.constraint} is {'on' if params.on else 'off'} already"
        return effect_map(call.method, effect, text)
    late = f"the plant has not reported in time whether {params.constraint} was switched"
    effect = yield until(gateway, _answered, ANSWER_WITHIN_S, RequestError(RequestCode.NO_PLANT, late))
    told = gateway.wording.switch(effect.record)
    if told is None:
        state = effect_map("", effect)["state"]
        text = f"unknown whether {params.constraint} was switched: the controller's state is {state}"
        raise RequestError(RequestCode.WRONG_STATE, text, data={"state": state})
    if not told["switched"]:
        raise RequestError(RequestCode.NOT_SWITCHED, told["text"], data=dict(told))
    return effect_map(call.method, effect, told["text"]) | told


def _answered(record: np.void) -> bool:
    ended = int(record["state"]) in (State.FAULT, State.ESTOP, State.UNCONFIGURED)
    return bool(np.any(record["switched"])) or ended or not int(record["connected"])


def _place(gateway: Gateway, name: str) -> int:
    known = gateway.machine.switchable
    if name in known:
        condition = gateway.machine.closed_when[known.index(name)]
        if condition:
            text = f"constraint: {name} follows the signals, `{condition}`; set these instead"
            raise RequestError(RequestCode.UNSUPPORTED, text, ["constraint"])
        return known.index(name)
    if not known:
        text = "this machine has no constraint that can be switched; give one `switchable: true` in its file"
        raise RequestError(RequestCode.UNSUPPORTED, text)
    text = f"constraint: {name!r} cannot be switched{suggested(name, known)}; there are {', '.join(known)}"
    raise RequestError(RequestCode.INVALID_PARAMS, text, ["constraint"], {"allowed": list(known)})


def _refuse_without_model(gateway: Gateway, bit: int, *, on: bool) -> None:
    """Refuse a set of constraints under which the controller cannot run the machine."""
    closed = gateway.closed
    wanted = closed | 1 << bit if on else closed & ~(1 << bit)
    found = gateway.sets[wanted]
    if isinstance(found, str):
        raise unsupported(names_of(gateway.machine, wanted), found)


def unsupported(names: tuple[str, ...], why: str) -> RequestError:
    """The refusal of a set of constraints, which are named."""
    held = f"{' and '.join(names)} held" if names else "none of the switchable constraints held"
    data: dict[str, Any] = {"closed": list(names)}
    text = f"the controller could not run the machine if {held}: {why}"
    return RequestError(RequestCode.UNSUPPORTED, text, data=data)
