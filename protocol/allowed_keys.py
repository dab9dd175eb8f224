"""The folder of the clients that may connect to a daemon: one *.public file each, which states its role.

A file without a role counts as `operate`, so that folders made before roles existed stay valid. A key in
several files has the least of their roles.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from linkwork.protocol.codes import Role
from linkwork.protocol.errors import EndpointError
from linkwork.protocol.key_files import PUBLIC, check_name, read_allowed, read_public, write_allowed

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
        """The role of this public key; None where it may not connect."""
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
