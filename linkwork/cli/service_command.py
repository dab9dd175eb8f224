"""The command `service`: systemd units for a machine's daemons."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from linkwork.cli.connected import AsJson
from linkwork.cli.daemon_options import DaemonWords, with_daemon_options
from linkwork.terminal.failures import Misuse
from linkwork.terminal.output import emit, say


@with_daemon_options
def service(
    config: Annotated[
        str, typer.Argument(metavar="MACHINE", help="Machine file, or the name of one of linkwork's.")
    ],
    words: DaemonWords,
    user: Annotated[
        bool,
        typer.Option("--user", help="For your own systemd (systemctl --user) instead of the computer's."),
    ] = False,
    output: Annotated[Path, typer.Option(metavar="FOLDER", help="Where to write the two files.")] = Path(),
    as_json: AsJson = False,
) -> None:
    """Write systemd units for plant and controller of a machine, and print how to install them.

    The services report readiness, are restarted when they crash or hang, and always start braked. The other
    options are passed to the daemons.
    """
    import getpass

    from linkwork.launch.unit_files import RUNTIME_FOLDER, UnitOptions, unit_files, unit_names
    from linkwork.machine import load, shipped

    name = load(config).name
    machine = config if config in shipped() else str(Path(config).absolute())
    account = None if user else getpass.getuser()
    plant, controller = ([machine, *each[1:]] for each in (words.plant, words.controller))
    files = unit_files(UnitOptions(name, plant, controller, Path.cwd(), account))
    try:
        output.mkdir(parents=True, exist_ok=True)
        for file, text in files.items():
            (output / file).write_text(text, encoding="utf-8")
    except OSError as error:
        raise Misuse(f"{error.filename or output} cannot be written: {error.strerror}") from None
    paths = [str(output / file) for file in files]
    if as_json:
        emit({"name": name, "files": paths, "account": account})
        return
    for path in paths:
        say(path)
    unit = unit_names(name)["controller"]
    if user:
        say(f"install: cp {' '.join(paths)} ~/.config/systemd/user/ && systemctl --user daemon-reload")
        say(f"start now and with every login: systemctl --user enable --now {unit}")
    else:
        say(f"install: sudo cp {' '.join(paths)} /etc/systemd/system/ && sudo systemctl daemon-reload")
        say(f"start now and with every boot: sudo systemctl enable --now {unit}")
        say(f"clients, as {account}: export LINKWORK_RUNTIME_DIR={RUNTIME_FOLDER}")
