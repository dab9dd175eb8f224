"""The keys of daemons and clients: CURVE pairs, with which ZeroMQ authenticates and encrypts connections.

NAME.public may be given to anyone; NAME.secret (mode 0600) never leaves its owner. A daemon that is reachable
from outside needs its own secret file and a folder with the public files of the clients it lets in.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from ipaddress import ip_address
from pathlib import Path

from linkwork.protocol.allowed_keys import ROLE_WITHOUT_ONE, AllowedKeys, allowed_clients, check_not_writable
from linkwork.protocol.endpoints import ipc_path
from linkwork.protocol.errors import EndpointError
from linkwork.protocol.key_files import read_public, read_secret


@dataclass(frozen=True, slots=True)
class ServerKeys:
    """Keys of a daemon that accepts known clients only."""

    public: bytes
    secret: bytes = field(repr=False)
    allowed: AllowedKeys
    """Roles of the clients that are let in."""
    notice: str = ""
    """Clients whose files state no role, for people; "" without any."""


@dataclass(frozen=True, slots=True)
class ClientKeys:
    """Keys of a client of a daemon that has keys."""

    public: bytes
    secret: bytes = field(repr=False)
    server: bytes
    """Public key of the daemon."""


def server_keys(secret_file: Path, allowed_folder: Path) -> ServerKeys:
    """A daemon's keys: its secret file, and the folder of its clients' *.public files.

    Raises EndpointError.
    """
    public, secret = read_secret(secret_file)
    clients = [client for client in allowed_clients(allowed_folder) if client.public != public]
    if not clients:
        raise EndpointError(
            f"{allowed_folder} holds no client's *.public file, so no client could connect; "
            f"run: linkwork keys allow NAME.public --role operate --folder {allowed_folder}"
        )
    check_not_writable(allowed_folder)
    silent = [client.name for client in clients if not client.stated]
    return ServerKeys(
        public, secret, AllowedKeys(allowed_folder.absolute(), public), _notice(silent, allowed_folder)
    )


def _notice(silent: list[str], folder: Path) -> str:
    if not silent:
        return ""
    return (
        f"{folder}: no role is stated for {', '.join(silent)}, which counts as {ROLE_WITHOUT_ONE.word}; "
        f"state one: linkwork keys allow {silent[0]}.public --role ROLE --folder {folder}"
    )


def client_keys(secret_file: Path, server_public_file: Path) -> ClientKeys:
    """The keys of a client, from its own secret file and the daemon's public file. Raises EndpointError."""
    public, secret = read_secret(secret_file)
    return ClientKeys(public, secret, read_public(server_public_file))


def check_bind(endpoint: str, keys: ServerKeys | ClientKeys | None) -> None:
    """Raises EndpointError when strangers could reach this endpoint and there are no keys."""
    if isinstance(keys, ServerKeys):
        return
    if ipc_path(endpoint) is not None or is_loopback(endpoint):
        return
    raise EndpointError(
        f"refusing to bind {endpoint} without keys: any host that reaches it could move the machine. "
        "Make keys with `linkwork keys make`, allow clients with `linkwork keys allow`, and start with "
        "--keys and --allowed; or bind ipc://PATH or tcp://127.0.0.1:PORT"
    )


def is_loopback(endpoint: str) -> bool:
    """Whether only this computer reaches a tcp endpoint."""
    host = endpoint.removeprefix("tcp://").rpartition(":")[0].strip("[]")
    if not endpoint.startswith("tcp://"):
        return False
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
