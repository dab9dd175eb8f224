"""Finds the running controller that a client means."""

from __future__ import annotations

import getpass
import os
from contextlib import suppress
from pathlib import Path

from linkwork.protocol.endpoints import MachineEndpoints, ipc_path, running
from linkwork.protocol.errors import EndpointError, NobodyThere
from linkwork.protocol.keys import is_loopback


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


def telemetry_endpoint(told: str, requests: str) -> str:
    """Return where telemetry is heard of a controller with these requests, whose `status` gives `told`.

    It is the socket beside that of the requests, where there is one. An address of all interfaces stands for
    the host of the requests. Raises EndpointError where only the controller's computer hears it.
    """
    folder, path = ipc_path(requests), ipc_path(told)
    beside = None if folder is None else MachineEndpoints(folder.parent).telemetry
    if beside is not None and Path(beside.removeprefix("ipc://")).exists():
        return beside
    host, _, port = told.removeprefix("tcp://").rpartition(":")
    here = not requests.startswith("tcp:") or is_loopback(requests)
    if not here and host in ("0.0.0.0", "[::]"):
        return f"{requests.rpartition(':')[0]}:{port}"
    if (not here and (path is not None or is_loopback(told))) or (path is not None and not path.exists()):
        raise EndpointError(
            f"the controller at {requests} publishes telemetry at {told}, on its own computer only; start it "
            "with --telemetry tcp://HOST:PORT and keys"
        )
    return told
