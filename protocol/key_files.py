"""Key files: one CURVE pair, or its public half, in the certificate format of ZeroMQ's libraries (ZPL)."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Final

from linkwork.protocol.codes import Role
from linkwork.protocol.errors import EndpointError
from linkwork.regular_files import check_regular

PUBLIC: Final = ".public"
_KEY = r"[0-9a-zA-Z.\-:+=^!/*?&<>()\[\]{}@%$#]{40}"
_LINE = re.compile(rf'^\s*(public-key|secret-key)\s*=\s*"({_KEY})"\s*$', re.MULTILINE)
_ROLE = re.compile(r'^\s*role\s*=\s*"?([^"\n]*)"?\s*$', re.MULTILINE)
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.@-]{0,63}")
_ABOUT = {
    "public": "# linkwork: public key of {name}. Give it to the users who may connect to {name}.",
    "secret": "# linkwork: secret key of {name}. Keep it to yourself.",
    "allowed": "# linkwork: public key of {name}, which may connect with this role.",
}
_MOST_BYTES = 64 * 1024


def check_name(name: str) -> None:
    """Check that this is a key name. Raises EndpointError."""
    if not _NAME.fullmatch(name):
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
    stated = _ROLE.findall(text)
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
    found = {kind: key.encode() for kind, key in _LINE.findall(text)}
    if "public-key" not in found:
        raise EndpointError(f'{path} is not a key file: it has no line `public-key = "…40 characters…"`')
    return found
