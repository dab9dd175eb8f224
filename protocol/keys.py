"""Key files of CURVE, and the folder of the clients that may connect: one *.public file each, with its role.

NAME.public may be given to anyone; NAME.secret (mode 0600) never leaves its owner. A daemon that is reachable
from outside needs its own secret file and a folder with the public files of the clients it lets in.
A file without a role counts as `operate`, so that folders made before roles existed stay valid. A key in
several files has the least of their roles.
"""

import os
import re
from dataclasses import dataclass, field
from ipaddress import ip_address
from pathlib import Path
from typing import Final

from linkwork.protocol.codes import Role
from linkwork.protocol.endpoints import ipc_path
from linkwork.protocol.errors import EndpointError
from linkwork.regular_files import check_regular

ROLE_WITHOUT_ONE: Final = Role.OPERATE
_Signature = tuple[tuple[str, int, int, int], ...]


@dataclass(frozen=True, slots=True)
class AllowedClient:
    """One file of the folder."""

    name: str
    public: bytes
    role: Role
    stated: bool
    """Whether the file states the role."""


class AllowedKeys:
    """Roles by public key, always those that the folder holds now.

    Each question compares names, times and sizes of the files with those read last, and reads them again when
    one differs. Files that are unreadable allow no client. Safe to ask from several threads.
    """

    def __init__(self, folder: Path, own: bytes) -> None:
        self._folder, self._own = folder, own
        self._known: tuple[_Signature, dict[bytes, Role]] = ((), {})

    def role_of(self, key: bytes) -> Role | None:
        """Return the role of a public key; None where it may not connect."""
        signature, roles = self._known
        found = _signature(self._folder)
        if found != signature:
            roles = self._read(found)
            self._known = found, roles
        return roles.get(key)

    def _read(self, signature: _Signature) -> dict[bytes, Role]:
        roles: dict[bytes, Role] = {}
        for name, *_ in signature:
            try:
                key, role = read_allowed(self._folder / name)
            except EndpointError:
                continue
            role = role or ROLE_WITHOUT_ONE
            roles[key] = min(role, roles.get(key, role))
        roles.pop(self._own, None)
        return roles


def allowed_clients(folder: Path) -> list[AllowedClient]:
    """The clients in the folder, by name. Raises EndpointError, also for a file that is no key file."""
    if not folder.is_dir():
        raise EndpointError(
            f"{folder} is not a folder; it must hold the *.public files of the clients you allow"
        )
    found = []
    for path in sorted(folder.glob("*" + PUBLIC)):
        key, role = read_allowed(path)
        found.append(AllowedClient(path.stem, key, role or ROLE_WITHOUT_ONE, role is not None))
    return found


def check_not_writable(folder: Path) -> None:
    """Check that other users cannot add themselves to the folder. Raises EndpointError."""
    for path in (folder, *sorted(folder.glob("*" + PUBLIC))):
        if path.stat().st_mode & 0o002:
            raise EndpointError(
                f"{path} can be changed by every user of this computer; run: chmod o-w {path}"
            )


def allow(folder: Path, file: Path, role: Role) -> Path:
    """Let the owner of a public key in, with a role; a client that the folder holds gets this role instead.

    The file in the folder holds the key and this role, nothing else of the given file. Raises EndpointError.
    """
    if file.suffix != PUBLIC:
        raise EndpointError(f"{file} does not end in .public; ask the client for its NAME.public")
    check_name(file.stem)
    public, path = read_public(file), folder / file.name
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        for known in allowed_clients(folder):
            if (known.name == file.stem) != (known.public == public):
                what = "another key" if known.name == file.stem else f"this key as {known.name}"
                raise EndpointError(f"{folder} allows {what}; run: linkwork keys revoke {known.name}")
        write_allowed(path, public, role)
    except OSError as error:
        raise EndpointError(f"{path} cannot be written: {error.strerror}") from None
    return path


def revoke(folder: Path, name: str) -> list[Path]:
    """Remove a client's file, and every other file with the same key; returns them. Raises EndpointError."""
    name = name.removesuffix(PUBLIC)
    names = sorted(path.stem for path in folder.glob("*" + PUBLIC))
    if name not in names:
        there = f"it allows {', '.join(names)}" if names else "it allows no client"
        raise EndpointError(f"{folder} has no client {name!r}; {there}")
    path = folder / f"{name}{PUBLIC}"
    same = {path}
    try:
        public = read_public(path)
        same |= {folder / f"{one.name}{PUBLIC}" for one in allowed_clients(folder) if one.public == public}
    except EndpointError:
        pass  # an unreadable file allows no client, and goes too
    try:
        for each in same:
            each.unlink(missing_ok=True)
    except OSError as error:
        raise EndpointError(f"{path} cannot be removed: {error.strerror}") from None
    return sorted(same)


def _signature(folder: Path) -> _Signature:
    """Names of the key files with what changes when a file does: time, size and number."""
    found = []
    try:
        with os.scandir(folder) as entries:
            for entry in entries:
                if entry.name.endswith(PUBLIC):
                    about = entry.stat()
                    found.append((entry.name, about.st_mtime_ns, about.st_size, about.st_ino))
    except OSError:
        return ()
    return tuple(sorted(found))


PUBLIC: Final = ".public"
_KEY = r"[0-9a-zA-Z.\-:+=^!/*?&<>()\[\]{}@%$#]{40}"
_LINE = rf'^\s*(public-key|secret-key)\s*=\s*"({_KEY})"\s*$'
_ROLE = r'^\s*role\s*=\s*"?([^"\n]*)"?\s*$'
_NAME = r"[A-Za-z0-9][A-Za-z0-9_.@-]{0,63}"
_ABOUT = {
    "public": "# linkwork: public key of {name}. Give it to the users who may connect to {name}.",
    "secret": "# linkwork: secret key of {name}. Keep it to yourself.",
    "allowed": "# linkwork: public key of {name}, which may connect with this role.",
}
_MOST_BYTES = 64 * 1024


def check_name(name: str) -> None:
    """Check that this is a key name. Raises EndpointError."""
    if not re.fullmatch(_NAME, name):
        raise EndpointError(
            f"{name!r} is not a key name: allowed are letters, digits, '_', '-', '.', '@', at most 64"
        )


def write_pair(folder: Path, name: str, public: bytes, secret: bytes) -> tuple[Path, Path]:
    """Writes NAME.public and NAME.secret into the folder (made 0700 when missing); never overwrites.

    Returns both paths. Raises EndpointError.
    """
    check_name(name)
    public_line = f'    public-key = "{public.decode()}"'
    contents = {"public": public_line, "secret": f'{public_line}\n    secret-key = "{secret.decode()}"'}
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
            _create(
                path, f"{_ABOUT[kind].format(name=name)}\nmetadata\ncurve\n{contents[kind]}\n", modes[kind]
            )
    except OSError as error:
        raise EndpointError(f"the keys cannot be written to {folder}: {error.strerror}") from None
    return paths["public"], paths["secret"]


def write_allowed(path: Path, public: bytes, role: Role) -> None:
    """Write the file of a client that may connect, in place of one that is there. Raises OSError."""
    about = _ABOUT["allowed"].format(name=path.stem)
    text = f'{about}\nmetadata\n    role = "{role.word}"\ncurve\n    public-key = "{public.decode()}"\n'
    made = path.with_name(f".{path.name}.{os.getpid()}")
    made.unlink(missing_ok=True)
    _create(made, text, 0o644)
    made.replace(path)


def read_public(path: Path) -> bytes:
    """The public key in a file. Raises EndpointError."""
    return _keys(path, _text(path))["public-key"]


def read_allowed(path: Path) -> tuple[bytes, Role | None]:
    """The public key of a client, and the role that the file states or None. Raises EndpointError."""
    text = _text(path)
    stated = re.findall(_ROLE, text, re.MULTILINE)
    words = {role.word: role for role in Role}
    if len(stated) > 1 or any(word not in words for word in stated):
        raise EndpointError(
            f"{path} states the role {', '.join(map(repr, stated))}; allowed is one of {', '.join(words)}"
        )
    return _keys(path, text)["public-key"], words[stated[0]] if stated else None


def read_secret(path: Path) -> tuple[bytes, bytes]:
    """The public and the secret key in a file that only its owner may read. Raises EndpointError."""
    found = _keys(path, _text(path))
    if "secret-key" not in found:
        raise EndpointError(f"{path} contains no secret key; name the file that ends in .secret")
    if path.stat().st_mode & 0o077:
        raise EndpointError(f"{path} can be read by others; run: chmod 600 {path}")
    return found["public-key"], found["secret-key"]


def _create(path: Path, text: str, mode: int) -> None:
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, mode)
    with os.fdopen(descriptor, "w") as file:
        file.write(text)


def _text(path: Path) -> str:
    try:
        check_regular(path)
        with path.open(encoding="ascii") as file:
            return file.read(_MOST_BYTES)
    except (OSError, UnicodeDecodeError) as error:
        raise EndpointError(f"the key file {path} cannot be read: {error}") from None


def _keys(path: Path, text: str) -> dict[str, bytes]:
    found = {kind: key.encode() for kind, key in re.findall(_LINE, text, re.MULTILINE)}
    if "public-key" not in found:
        raise EndpointError(f'{path} is not a key file: it has no line `public-key = "…40 characters…"`')
    return found


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
