"""The request `confirm_branch`: the assembly mode that `state` shows, or another one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

import numpy as np

from linkwork.arrays import Floats
from linkwork.controller.gateway.order_queue import OrderEffect
from linkwork.controller.gateway.requests.call import Call
from linkwork.controller.gateway.requests.order_outcomes import effect_map
from linkwork.controller.gateway.requests.order_requests import place
from linkwork.controller.orders import MOST_PAIRS, ConfirmBranch, SuggestPose
from linkwork.machine import Machine
from linkwork.machine.checks import assembly_modes
from linkwork.machine.nearest_name import nearest
from linkwork.protocol.codes import RequestCode
from linkwork.protocol.errors import RequestError

if TYPE_CHECKING:
    from linkwork.controller.gateway.gateway import Gateway

_NEAR = 0.05
"""Largest distance (rad, m) of the pose from the positions that the request names."""


def confirm_branch(gateway: Gateway, call: Call) -> None:
    """Place the order; before it, if the request names positions, those that lead the estimate there."""
    positions = call.params().positions
    if positions is None:
        gateway.borrow(call)
        place(gateway, call, ConfirmBranch())
        return
    if call.at_tick is not None:
        text = "at_tick: leave it out beside `positions`, which take effect at once"
        raise RequestError(RequestCode.INVALID_PARAMS, text, ["at_tick"])
    if gateway.latest is None:
        text = "positions: there is no estimate yet from which to seek them; try again"
        raise RequestError(RequestCode.BUSY, text)
    pose = _pose(gateway.held, gateway.latest["q"], positions)
    gateway.borrow(call)
    orders = list(_orders(pose))

    def place_next() -> None:
        if orders:
            place(gateway, call, orders.pop(0), done=lambda _: place_next())
        else:
            place(gateway, call, ConfirmBranch(), done=confirmed)

    def confirmed(effect: OrderEffect) -> None:
        named = ", ".join(f"{name} {float(effect.record['q'][k]):.4g}" for name, k in places.items())
        call.answer(effect_map(call.method, effect, f"the estimate begins again: {named}"))

    names = gateway.held.mechanism.position_names
    places = {name: names.index(name) for name in positions}
    place_next()


def _pose(machine: Machine, present: Floats, positions: Mapping[str, float]) -> Floats:
    """Return the pose (nq; rad, m) that closes near these positions, with the sensors' joints as at present.

    present: the estimate (nq). Raises RequestError (INVALID_PARAMS) for a name that there is not, and if no
    pose is near enough.
    """
    names = list(machine.mechanism.position_names)
    for name in positions:
        if name not in names:
            meant = nearest(name, names)
            hint = f", did you mean {meant!r}?" if meant else ""
            text = f"there is no position {name!r}{hint}; there are {', '.join(names)}"
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
