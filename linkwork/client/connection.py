"""Finds the running controller that a client means, and waits for daemons that are still starting.

The user gets a message. In a checkout that has changed, daemons build their kernels first.
"""

import getpass
import os
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from linkwork.client.request_client import RequestClient
from linkwork.protocol.codes import RequestCode
from linkwork.protocol.endpoints import MachineEndpoints, ipc_path, running
from linkwork.protocol.errors import EndpointError, NobodyThere, RequestError
from linkwork.protocol.keys import is_loopback

CONNECT_S = 3.0
START_S = 900.0
PLANT_S = 10.0
"""How long a plant that runs is given to be found by the controller."""
WAITED_FOR = ("enable", "move", "send")
_LOOK_S = 0.25
_STARTING = "starting"
"""Text in a gateway's lock until it is ready."""
Say = Callable[[str], None]


def default_owner() -> str:
    """The name in which requests are made unless another is given: user@host."""
    user = str(os.getuid())
    with suppress(OSError, KeyError):
        user = getpass.getuser()
    return f"{user}@{os.uname().nodename}"[:64]


def find_controller(name: str | None = None) -> MachineEndpoints:
    """The seat of the running controller of this machine, or of the only one that runs.

    Raises NobodyThere when there is none, EndpointError when there are several and no name was given.
    """
    names = [found.name for found in running("gateway")]
    for group in running("group"):  # its controller has crashed, or is not there yet
        if group.name not in names and (name == group.name or not (name or names)):
            raise NobodyThere(
                f"{group.name} is up, but its controller does not run yet ({group.text}); try again, or see "
                f"`linkwork logs {group.name}`"
            )
    if name is not None:
        if name not in names:
            there = f"running: {', '.join(names)}" if names else "none is running"
            raise NobodyThere(
                f"no controller of {name!r} is running ({there}); start it with `linkwork up {name}`"
            )
        return MachineEndpoints.named(name)
    if not names:
        raise NobodyThere(
            "no controller is running; start one with `linkwork up scara`, or see `linkwork demo scara`"
        )
    if len(names) > 1:
        raise EndpointError(
            f"several controllers are running: {', '.join(names)}; choose one with --robot NAME"
        )
    return MachineEndpoints.named(names[0])


def find_plant(name: str | None = None) -> MachineEndpoints:
    """The seat of the running plant of this machine, or of the only one that runs.

    Raises NobodyThere when there is none, EndpointError when there are several and no name was given.
    """
    names = [found.name for found in running("plant")]
    if name is None and len(names) > 1:
        raise EndpointError(f"several plants are running: {', '.join(names)}; choose one with --robot NAME")
    if name not in (None, *names) or not names:
        there = f"running: {', '.join(names)}" if names else "none is running"
        raise NobodyThere(
            f"no plant {f'of {name!r} ' if name else ''}is running ({there}); start it with "
            f"`linkwork plant {name or 'scara'} --inject`"
        )
    return MachineEndpoints.named(name or names[0])


def telemetry_endpoint(stated: str, requests: str) -> str:
    """Return where telemetry is heard of a controller with these requests, whose `status` gives `stated`.

    It is the socket beside that of the requests, where there is one. An address of all interfaces stands for
    the host of the requests. Raises EndpointError where only the controller's computer hears it.
    """
    folder, path = ipc_path(requests), ipc_path(stated)
    beside = None if folder is None else MachineEndpoints(folder.parent).telemetry
    if beside is not None and Path(beside.removeprefix("ipc://")).exists():
        return beside
    host, _, port = stated.removeprefix("tcp://").rpartition(":")
    here = not requests.startswith("tcp:") or is_loopback(requests)
    if not here and host in ("0.0.0.0", "[::]"):
        return f"{requests.rpartition(':')[0]}:{port}"
    if (not here and (path is not None or is_loopback(stated))) or (path is not None and not path.exists()):
        raise EndpointError(
            f"the controller at {requests} publishes telemetry at {stated}, on its own computer only; start "
            "it with --telemetry tcp://HOST:PORT and keys"
        )
    return stated


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
    deadline, remarked = time.monotonic() + START_S, False
    while starting(client.endpoint) and time.monotonic() < deadline:
        if say is not None and not remarked:
            say("the controller is starting. Waiting")
            remarked = True
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
    begun, remarked = time.monotonic(), False
    while True:
        try:
            return ask()
        except RequestError as error:
            waited_s = time.monotonic() - begun
            loop = error.code == RequestCode.NO_LOOP and error.data.get("starting") and waited_s < START_S
            plant = error.code == RequestCode.NO_PLANT and waited_s < PLANT_S
            if not loop and not (plant and _holders("plant", endpoint)):
                raise
            if say is not None and not remarked:
                say(f"{error.message}. Waiting")
                remarked = True
        time.sleep(_LOOK_S)
