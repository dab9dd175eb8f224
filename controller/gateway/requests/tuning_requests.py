"""The requests `set_gain`, `payload` and `preload`: what may be changed while the machine runs, in bounds."""

from collections.abc import Callable
from typing import Any

import numpy as np

from linkwork.controller.exchange.orders import (
    MOST_COUPLED,
    SetGainMatrices,
    SetGains,
    SetPayload,
    SetPreload,
)
from linkwork.controller.gateway.gateway import Gateway
from linkwork.controller.gateway.goals.payload_change import rewalk
from linkwork.controller.gateway.order_queue import OrderEffect
from linkwork.controller.gateway.requests.call import Answering, Call, run_steps
from linkwork.controller.gateway.requests.order_outcomes import effect_map, place
from linkwork.controller.planning.goals.goal_set import index_of
from linkwork.machine import Machine
from linkwork.machine.gains import NO_BOUNDS, Rows, asymmetry, not_definite, out_of_bounds, write_rows
from linkwork.machine.nearest_name import no_such, suggested
from linkwork.machine.sections.bounds import PayloadBounds
from linkwork.protocol.codes import RequestCode
from linkwork.protocol.errors import RequestError


def _set_gain(gateway: Gateway, call: Call) -> Answering:
    params = call.params()
    alone = {name: getattr(params, name) for name in ("bandwidth_rad_s", "damping_ratio")}
    coupled = params.position_per_s2 is not None or params.rate_per_s is not None
    if coupled == any(value is not None for value in alone.values()) or (coupled and params.coordinates):
        text = "name a gain: bandwidth_rad_s, damping_ratio, or both; or position_per_s2 with rate_per_s"
        raise RequestError(RequestCode.INVALID_PARAMS, text, ["bandwidth_rad_s"])
    if coupled:
        names, matrices = _matrices(gateway, params)
        gateway.borrow(call)
        effect: OrderEffect = yield place(gateway, call, matrices)
        return effect_map(call.method, effect, f"gain matrices of {', '.join(names)}")
    for name, value in alone.items():
        low, high = gateway.machine.controller.bounds_of(name)
        if value is not None and not low <= value <= high:
            remedy = "" if low < high else f"; {NO_BOUNDS}"
            text = f"{name}: {value:g} is not between {low:g} and {high:g}{remedy}"
            data = {"value": value, "low": low, "high": high}
            raise RequestError(RequestCode.INVALID_PARAMS, text, [name], data)
    names = params.coordinates or []
    chosen = tuple(index_of(gateway.machine, each, ["coordinates", i]) for i, each in enumerate(names))
    gateway.borrow(call)
    gains = [
        own if value is None else value for value, own in zip(alone.values(), _present(gateway), strict=True)
    ]

    def taken() -> None:
        if not chosen:
            gateway.tuning.gains = (gains[0], gains[1])

    order = SetGains(params.bandwidth_rad_s or 0.0, params.damping_ratio or 0.0, chosen)
    effect = yield place(gateway, call, order, taken=taken)
    if chosen:
        given = [f"{name} {value:g}" for name, value in alone.items() if value is not None]
        return effect_map(call.method, effect, f"{', '.join(given)} of {', '.join(names)}")
    return effect_map(call.method, effect, f"bandwidth {gains[0]:g} rad/s, damping ratio {gains[1]:g}")


def _matrices(gateway: Gateway, params: Any) -> tuple[list[str], SetGainMatrices]:
    """Return the names of the coordinates and the order. Raises RequestError."""
    machine, first = gateway.machine, "position_per_s2"
    position = _named(machine, first, params.position_per_s2 or {})
    rate = _named(machine, "rate_per_s", params.rate_per_s or {})
    pairs = [pair for rows in (position, rate) for pair in rows.items()]
    names = list(dict.fromkeys(name for row, others in pairs for name in (row, *others)))
    if len(names) > MOST_COUPLED:
        text = f"{first}: at most {MOST_COUPLED} coordinates at a time, found {', '.join(names)}"
        raise RequestError(RequestCode.INVALID_PARAMS, text, [first])
    blocks = np.zeros((2, len(names), len(names)))
    for block, rows in zip(blocks, (position, rate), strict=True):
        write_rows(block, rows, names)
    problem = asymmetry(first, position) or asymmetry("rate_per_s", rate) or not_definite(*blocks)
    if problem := problem or next(out_of_bounds(machine.controller, *blocks), None):
        text = f"{problem.name}: {problem.text}: {problem.found}; allowed: {problem.allowed}"
        raise RequestError(RequestCode.INVALID_PARAMS, text, [problem.name, *problem.rows])
    upper = np.triu_indices(len(names))
    indices = [float(machine.mechanism.coordinate_index(name)) for name in names]
    return names, SetGainMatrices((*indices, *blocks[:, *upper].ravel().tolist()))


def _named(machine: Machine, key: str, given: Rows) -> Rows:
    """Return rows by the machine's own names of coordinates. Raises RequestError."""
    known = machine.mechanism.coordinate_names
    return {
        known[index_of(machine, first, [key, first])]: {
            known[index_of(machine, second, [key, first, second])]: value for second, value in row.items()
        }
        for first, row in given.items()
    }


def _present(gateway: Gateway) -> tuple[float, float]:
    """The gains asked for last, which those at work may still be on their way to; else those at work."""
    if gateway.tuning.gains is not None:
        return gateway.tuning.gains
    settings, record = gateway.machine.controller, gateway.latest
    if record is None:
        return settings.bandwidth_rad_s, settings.damping_ratio
    return float(record["bandwidth"]), float(record["damping_ratio"])


def _payload(gateway: Gateway, call: Call) -> Answering:
    params = call.params()
    bounds = _bounds(gateway, params.point)
    moments = params.inertia_kg_m2
    xx, yy, zz, xy, xz, yz = moments
    principal = np.linalg.eigvalsh([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
    _check("mass_kg", params.mass_kg, bounds.max_mass_kg, "kg")
    _check("com_m", float(np.linalg.norm(params.com_m)), bounds.max_com_m, "m")
    _check("inertia_kg_m2", float(principal[-1]), bounds.max_inertia_kg_m2, "kg m²")
    slack = 1e-9 * max(float(principal[-1]), 0.0)
    if principal[0] < -slack or principal[0] + principal[1] < principal[2] - slack:
        text = (
            "inertia_kg_m2: no rigid body has these moments; the largest may not exceed the sum of the others"
        )
        raise RequestError(RequestCode.INVALID_PARAMS, text, ["inertia_kg_m2"])
    numbers = (params.mass_kg, *params.com_m, xx, xy, xz, yy, yz, zz)
    gateway.borrow(call)
    at_tick = call.at_tick

    def loads() -> dict[str, tuple[float, ...]]:
        others = {name: load for name, load in gateway.tuning.payloads.items() if name != params.point}
        return others | ({params.point: numbers} if params.mass_kg else {})

    def taken() -> None:
        gateway.tuning.payloads = loads()
        gateway.tuning.loads += 1

    x, y, z = params.com_m
    order = SetPayload(bounds.index, params.mass_kg, (x, y, z), (xx, xy, xz, yy, yz, zz))
    placed = place(gateway, call, order, taken=taken)
    if at_tick is not None and at_tick > gateway.tick:
        goal = gateway.goal_queue.waiting(at_tick) or gateway.goal_queue.running(gateway.latest)
        run_steps(rewalk(gateway, goal, loads(), at_tick=at_tick))
    effect: OrderEffect = yield placed
    told = yield from rewalk(gateway, gateway.goal_queue.running(gateway.latest), gateway.tuning.payloads)
    text = f"{params.mass_kg:g} kg at {params.point}"
    return effect_map(call.method, effect, f"{text}; {told}" if told else text)


def _bounds(gateway: Gateway, point: str) -> PayloadBounds:
    known = {one.name: one for one in gateway.machine.payloads}
    if point in known:
        return known[point]
    if not known:
        text = "point: this machine has no payload points; give controller.payloads in the machine file"
        raise RequestError(RequestCode.INVALID_PARAMS, text, ["point"])
    text = f"point: no payload is allowed at {point!r}{suggested(point, known)}; there are {', '.join(known)}"
    raise RequestError(RequestCode.INVALID_PARAMS, text, ["point"], {"allowed": list(known)})


def _check(name: str, value: float, most: float, unit: str) -> None:
    if value > most * (1.0 + 1e-12):
        text = f"{name}: {value:g} {unit} is more than the {most:g} {unit} that the machine file allows"
        raise RequestError(RequestCode.INVALID_PARAMS, text, [name], {"value": value, "limit": most})


HANDLERS: dict[str, Callable[[Gateway, Call], Answering]] = {"set_gain": _set_gain, "payload": _payload}


def preload_order(gateway: Gateway, call: Call) -> SetPreload:
    """Return the order of a pre-load request.

    Raises RequestError for a motor that does not exist, or more than the machine file allows.
    """
    machine = gateway.held
    names = [motor.joint for motor in machine.motors]
    if len(names) <= machine.dof:
        now = " under the constraints that hold" if machine.switchable else ""
        text = (
            f"there is no internal force to set: the machine has no more motors than degrees of freedom{now}"
        )
        raise RequestError(RequestCode.UNSUPPORTED, text)
    pairs: list[tuple[int, float]] = []
    for name, effort in call.params().effort.items():
        if name not in names:
            text = no_such("motor", name, names)
            raise RequestError(RequestCode.INVALID_PARAMS, text, ["effort", name])
        most = machine.preload[names.index(name)].most
        if abs(effort) > most:
            text = (
                f"effort: {name} can be pre-loaded by at most {most:g} (controller.preload of the machine"
                f" file), not by {effort:g}"
            )
            data = {"value": effort, "limit": most}
            raise RequestError(RequestCode.INVALID_PARAMS, text, ["effort", name], data)
        pairs.append((names.index(name), effort))
    return SetPreload(tuple(pairs))
