"""CURVE keys on disk, in the certificate files that ZeroMQ's libraries share (ZPL).

NAME.public may be given to anyone; NAME.secret (mode 0600) never leaves its owner. A daemon that is reachable
from outside needs its own secret file and a folder with the public files of the clients it lets in.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass, field
from ipaddress import ip_address
from pathlib import Path

from linkwork.protocol.endpoints import ipc_path
from linkwork.protocol.errors import EndpointError

_KEY = r"[0-9a-zA-Z.\-:+=^!/*?&<>()\[\]{}@%$#]{40}"
_LINE = re.compile(rf'^\s*(public-key|secret-key)\s*=\s*"({_KEY})"\s*$', re.MULTILINE)
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.@-]{0,63}")
_ABOUT = {
    "public": "# linkwork: public key of {name}. Give it to the users who may connect to {name}.",
    "secret": "# linkwork: secret key of {name}. Keep it to yourself.",
}


@dataclass(frozen=True, slots=True)
class ServerKeys:
    """What a daemon needs to let in known clients only."""

    public: bytes
    secret: bytes = field(repr=False)
    allowed: frozenset[bytes]
    """Public keys of the clients that are let in."""


@dataclass(frozen=True, slots=True)
class ClientKeys:
    """What a client needs to talk to a daemon that has keys."""

    public: bytes
    secret: bytes = field(repr=False)
    server: bytes
    """Public key of the daemon."""


def write_pair(folder: Path, name: str, public: bytes, secret: bytes) -> tuple[Path, Path]:
    """Writes NAME.public and NAME.secret into the folder (made 0700 when missing); never overwrites.

    Returns both paths. Raises EndpointError.
    """
    if not _NAME.fullmatch(name):
        raise EndpointError(
            f"{name!r} is not a key name: allowed are letters, digits, '_', '-', '.', '@', at most 64"
        )
    lines = {
        "public": f'    public-key = "{public.decode()}"',
        "secret": f'    secret-key = "{secret.decode()}"',
    }
    contents = {"public": lines["public"], "secret": lines["public"] + "\n" + lines["secret"]}
    modes = {"public": 0o644, "secret": 0o600}
    paths = {kind: folder / f"{name}.{kind}" for kind in contents}
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        for path in paths.values():
            if path.exists():
                raise EndpointError(
                    f"{path} exists; keys are never overwritten: choose another name or remove it"
                )
        for kind, path in paths.items():
            descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, modes[kind])
            with os.fdopen(descriptor, "w") as file:
                file.write(f"{_ABOUT[kind].format(name=name)}\nmetadata\ncurve\n{contents[kind]}\n")
    except OSError as error:
        raise EndpointError(f"the keys cannot be written to {folder}: {error.strerror}") from None
    return paths["public"], paths["secret"]


def read_public(path: Path) -> bytes:
    """The public key in a file. Raises EndpointError."""
    return _read(path)["public-key"]


def server_keys(secret_file: Path, allowed_folder: Path) -> ServerKeys:
    """A daemon's keys: its secret file, and the folder of its clients' *.public files.

    Raises EndpointError.
    """
    own = _read_secret(secret_file)
    if not allowed_folder.is_dir():
        raise EndpointError(
            f"{allowed_folder} is not a folder; it must hold the *.public files of the clients you allow"
        )
    allowed = frozenset(read_public(path) for path in sorted(allowed_folder.glob("*.public"))) - {
        own["public-key"]
    }
    if not allowed:
        raise EndpointError(
            f"{allowed_folder} holds no client's *.public file, so no client could connect; "
            "copy the public files of the clients you allow there"
        )
    return ServerKeys(own["public-key"], own["secret-key"], allowed)


def client_keys(secret_file: Path, server_public_file: Path) -> ClientKeys:
    """The keys of a client, from its own secret file and the daemon's public file. Raises EndpointError."""
    own = _read_secret(secret_file)
    return ClientKeys(own["public-key"], own["secret-key"], read_public(server_public_file))


def check_bind(endpoint: str, keys: ServerKeys | ClientKeys | None) -> None:
    """Raises EndpointError when strangers could reach this endpoint and there are no keys."""
    if isinstance(keys, ServerKeys):
        return
    if ipc_path(endpoint) is not None or _is_loopback(endpoint):
        return
    raise EndpointError(
        f"refusing to bind {endpoint} without keys: any host that reaches it could move the machine. "
        "Make keys with `linkwork keys`, list the clients you allow, and name both when you start; "
        "or bind ipc://PATH or tcp://127.0.0.1:PORT"
    )


def _is_loopback(endpoint: str) -> bool:
    host = endpoint.removeprefix("tcp://").rpartition(":")[0].strip("[]")
    if not endpoint.startswith("tcp://"):
        return False
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _read_secret(path: Path) -> dict[str, bytes]:
    found = _read(path)
    if "secret-key" not in found:
        raise EndpointError(f"{path} contains no secret key; name the file that ends in .secret")
    if path.stat().st_mode & 0o077:
        raise EndpointError(f"{path} can be read by others; run: chmod 600 {path}")
    return found


def _read(path: Path) -> dict[str, bytes]:
    try:
        text = path.read_text(encoding="ascii")
    except (OSError, UnicodeDecodeError) as error:
        raise EndpointError(f"the key file {path} cannot be read: {error}") from None
    found = {kind: key.encode() for kind, key in _LINE.findall(text)}
    if "public-key" not in found:
        raise EndpointError(f'{path} is not a key file: it has no line `public-key = "…40 characters…"`')
    return found
