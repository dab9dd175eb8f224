"""`linkwork keys`: CURVE key pairs, and the roles of the clients that a daemon accepts."""

from typing import Any

from linkwork.cli.options.files import AllowKeyOptions, ListKeysOptions, MakeKeysOptions, RevokeKeyOptions
from linkwork.protocol.codes import Role
from linkwork.protocol.keys import allow as allow_key
from linkwork.protocol.keys import allowed_clients
from linkwork.protocol.keys import revoke as revoke_key
from linkwork.protocol.sockets import generate_keys
from linkwork.terminal.output import emit, say


def make(options: MakeKeysOptions) -> None:
    """Run `linkwork keys make`."""
    public, secret = generate_keys(options.folder, options.name)
    if options.as_json:
        emit({"public": str(public), "secret": str(secret)})
    else:
        say(f"{public}: give it to the users who may connect to {options.name}")
        say(f"{secret}: keep it to yourself")


def allow(options: AllowKeyOptions) -> None:
    """Run `linkwork keys allow`."""
    path = allow_key(options.folder, options.file, Role[options.role.upper()])
    if options.as_json:
        emit({"file": str(path), "name": path.stem, "role": options.role})
    else:
        say(f"{path}: {path.stem} may connect, role {options.role}")


def revoke(options: RevokeKeyOptions) -> None:
    """Run `linkwork keys revoke`."""
    removed = revoke_key(options.folder, options.name)
    if options.as_json:
        emit({"removed": [str(path) for path in removed]})
        return
    for path in removed:
        say(f"{path}: removed; its key is refused from now on")


def list_clients(options: ListKeysOptions) -> None:
    """Run `linkwork keys list`."""
    clients = allowed_clients(options.folder)
    rows: list[dict[str, Any]] = [
        {"name": one.name, "role": one.role.word, "stated": one.stated, "public_key": one.public.decode()}
        for one in clients
    ]
    if options.as_json:
        emit({"folder": str(options.folder), "clients": rows})
        return
    if not rows:
        say(f"{options.folder} allows no client")
    for row in rows:
        note = "" if row["stated"] else "  (its file states no role)"
        say(f"{row['role']:<8}  {row['name']}  {row['public_key']}{note}")
