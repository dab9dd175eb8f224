"""Daemons that are still starting are waited for, with a message to the user.

On a fresh computer they compile their kernels first, which takes up to a minute or two.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from linkwork.protocol.codes import RequestCode
from linkwork.protocol.endpoints import ipc_path, running
from linkwork.protocol.errors import NobodyThere, RequestError
from linkwork.protocol.request_client import RequestClient

CONNECT_S = 3.0
START_S = 900.0
PLANT_S = 10.0
"""How long a plant that runs is given to be found by the controller."""
WAITED_FOR = ("enable", "move", "send")
_LOOK_S = 0.25
_STARTING = "starting"
"""Text in a gateway's lock until it is ready."""
Say = Callable[[str], None]


def starting(endpoint: str) -> bool:
    """Whether a controller at this endpoint has been started and does not answer yet."""
    return any(one.text == _STARTING for one in _holders("gateway", endpoint))


def _holders(role: str, endpoint: str) -> list[Any]:
    path = ipc_path(endpoint)
    return [] if path is None else [one for one in running(role) if one.name == path.parent.name]


def reach(client: RequestClient, say: Say | None) -> None:
    """Wait until the controller answers. Raises NobodyThere immediately where none is starting."""
    if client.connected(CONNECT_S):
        return
    deadline, told = time.monotonic() + START_S, False
    while starting(client.endpoint) and time.monotonic() < deadline:
        if say is not None and not told:
            say("the controller is starting. Waiting")
            told = True
        if client.connected(_LOOK_S):
            return
    if not client.connected(CONNECT_S):
        keys = ""
        if client.endpoint.startswith("tcp:"):
            keys = ", and does it accept these keys" if client.encrypted else ", and does it need --keys"
        raise NobodyThere(f"no answer from {client.endpoint}; is the controller running there{keys}?")


def patiently(endpoint: str, method: str, ask: Callable[[], Any], say: Say | None) -> Any:
    """Send a request by `ask`, and repeat it while the answer is that loop or plant are still starting.

    endpoint, method: name the request in remarks, which `say` shows. Raises the error of the last try.
    """
    if method not in WAITED_FOR:
        return ask()
    begun, told = time.monotonic(), False
    while True:
        try:
            return ask()
        except RequestError as error:
            waited_s = time.monotonic() - begun
            loop = error.code == RequestCode.NO_LOOP and error.data.get("starting") and waited_s < START_S
            plant = error.code == RequestCode.NO_PLANT and waited_s < PLANT_S
            if not loop and not (plant and _holders("plant", endpoint)):
                raise
            if say is not None and not told:
                say(f"{error.message}. Waiting")
                told = True
        time.sleep(_LOOK_S)
