"""The request `preload`: the internal force of redundant motors."""

from __future__ import annotations

from typing import TYPE_CHECKING

from linkwork.controller.gateway.requests.call import Call
from linkwork.controller.orders import SetPreload
from linkwork.machine.nearest_name import nearest
from linkwork.protocol.codes import RequestCode
from linkwork.protocol.errors import RequestError

if TYPE_CHECKING:
    from linkwork.controller.gateway.gateway import Gateway


def preload_order(gateway: Gateway, call: Call) -> SetPreload:
    """The order. Raises RequestError: a motor that there is not, or more than the file allows."""
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
            meant = nearest(name, names)
            hint = f", did you mean {meant!r}?" if meant else ""
            text = f"there is no motor {name!r}{hint}; there are {', '.join(names)}"
            raise RequestError(RequestCode.INVALID_PARAMS, text, ["effort", name])
        most = machine.controller.preload[names.index(name)].most
        if abs(effort) > most:
            text = (
                f"effort: {name} can be pre-loaded by at most {most:g} (controller.preload of the machine"
                f" file), not by {effort:g}"
            )
            data = {"value": effort, "limit": most}
            raise RequestError(RequestCode.INVALID_PARAMS, text, ["effort", name], data)
        pairs.append((names.index(name), effort))
    return SetPreload(tuple(pairs))
