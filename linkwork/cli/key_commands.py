"""`linkwork keys`: CURVE key pairs, and the roles of the clients that a daemon accepts."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from linkwork.cli.choices import RoleChoice
from linkwork.cli.connected import AsJson
from linkwork.terminal.output import emit, say

_ABOUT = "Keys for connections between computers, and what each client may do."
Allowed = Annotated[
    Path, typer.Option(metavar="ALLOWED", help="Folder of the allowed clients, the daemons' --allowed.")
]
_FOLDER = Path("allowed")


keys = typer.Typer(no_args_is_help=True, help=_ABOUT)


@keys.callback(help=_ABOUT)
def group() -> None:
    """Commands for CURVE keys."""


@keys.command()
def make(
    name: Annotated[str, typer.Argument(metavar="NAME", help="NAME.secret and NAME.public are created.")],
    folder: Annotated[Path, typer.Option(help="Folder for the keys.")] = Path(),
    as_json: AsJson = False,
) -> None:
    """Make a pair of CURVE keys for a daemon or a client."""
    from linkwork.protocol.sockets import generate_keys

    public, secret = generate_keys(folder, name)
    if as_json:
        emit({"public": str(public), "secret": str(secret)})
    else:
        say(f"{public}: give it to the users who may connect to {name}")
        say(f"{secret}: keep it to yourself")


@keys.command()
def allow(
    file: Annotated[Path, typer.Argument(metavar="NAME.public", help="Public key file of the client.")],
    role: Annotated[
        RoleChoice,
        typer.Option(help="observe: read, stop, estop; operate: also move; service: also change settings."),
    ],
    folder: Allowed = _FOLDER,
    as_json: AsJson = False,
) -> None:
    """Accept a client with a role, or change its role; takes effect at once, also while daemons run."""
    from linkwork.protocol.codes import Role
    from linkwork.protocol.keys import allow as allow_key

    path = allow_key(folder, file, Role[role.name])
    if as_json:
        emit({"file": str(path), "name": path.stem, "role": role.value})
    else:
        say(f"{path}: {path.stem} may connect, role {role.value}")


@keys.command()
def revoke(
    name: Annotated[str, typer.Argument(metavar="NAME", help="Client, as `linkwork keys list` shows it.")],
    folder: Allowed = _FOLDER,
    as_json: AsJson = False,
) -> None:
    """Remove a client: its requests are refused, and its telemetry ends with its connection."""
    from linkwork.protocol.keys import revoke as revoke_key

    removed = revoke_key(folder, name)
    if as_json:
        emit({"removed": [str(path) for path in removed]})
        return
    for path in removed:
        say(f"{path}: removed; its key is refused from now on")


@keys.command(name="list")
def show(folder: Allowed = _FOLDER, as_json: AsJson = False) -> None:
    """List the accepted clients with role and public key."""
    from linkwork.protocol.keys import allowed_clients

    clients = allowed_clients(folder)
    rows: list[dict[str, Any]] = [
        {"name": one.name, "role": one.role.word, "stated": one.stated, "public_key": one.public.decode()}
        for one in clients
    ]
    if as_json:
        emit({"folder": str(folder), "clients": rows})
        return
    if not rows:
        say(f"{folder} allows no client")
    for row in rows:
        note = "" if row["stated"] else "  (its file states no role)"
        say(f"{row['role']:<8}  {row['name']}  {row['public_key']}{note}")
