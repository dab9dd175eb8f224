"""systemd units for plant and controller of one machine: `linkwork service`.

Both daemons are services of Type=notify: they report when they are ready and ping the watchdog while their
loop makes progress (`linkwork.timing.notify`).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from linkwork.launch.daemons import daemon_argv

RUNTIME_FOLDER: Final = "/run/linkwork"
"""Sockets of system services; clients need LINKWORK_RUNTIME_DIR with this value."""
WATCHDOG_S: Final = 20
"""Longer than a lockstep plant may be silent; a hung loop is ended after at most this time."""

_HARDENING: Final = """\
NoNewPrivileges=yes
RestrictSUIDSGID=yes
LockPersonality=yes
"""
_SYSTEM_HARDENING: Final = """\
ProtectSystem=full
ProtectControlGroups=yes
ProtectKernelModules=yes
ProtectKernelLogs=yes
ProtectKernelTunables=yes
ProtectHostname=yes
RestrictNamespaces=yes
"""


@dataclass(frozen=True)
class UnitOptions:
    """name: the machine's. plant, controller: arguments of the daemons, the machine file first.

    folder: working folder of both. account: user of system services; None: units of a user's own systemd.
    """

    name: str
    plant: Sequence[str]
    controller: Sequence[str]
    folder: Path
    account: str | None = None


def unit_names(name: str) -> dict[str, str]:
    """File names of the units, by role."""
    return {role: f"linkwork-{name}-{role}.service" for role in ("plant", "controller")}


def unit_files(options: UnitOptions) -> dict[str, str]:
    """The text of both units, by file name."""
    names = unit_names(options.name)
    target = "default.target" if options.account is None else "multi-user.target"
    plant = _unit(options, "plant", options.plant, stop_s=30)
    needs = f"Requires={names['plant']}\nAfter={names['plant']}\n"
    controller = _unit(options, "controller", options.controller, needs=needs, stop_s=90)
    return {
        names["plant"]: plant,
        names["controller"]: f"{controller}\n[Install]\nWantedBy={target}\n",
    }


def _unit(options: UnitOptions, role: str, words: Sequence[str], *, needs: str = "", stop_s: int) -> str:
    command = " ".join(quoted(word) for word in daemon_argv(role, words))
    system = options.account is not None
    place = (
        f"User={options.account}\n"
        f"RuntimeDirectory={Path(RUNTIME_FOLDER).name}\n"
        "RuntimeDirectoryMode=0700\n"
        "RuntimeDirectoryPreserve=yes\n"
        f"Environment=LINKWORK_RUNTIME_DIR={RUNTIME_FOLDER}\n"
        if system
        else ""
    )
    network = "After=network.target\n" if system else ""
    return f"""\
[Unit]
Description=linkwork {role} of {options.name}
{needs}{network}StartLimitIntervalSec=60
StartLimitBurst=5

[Service]
Type=notify
ExecStart={command}
WorkingDirectory={_path(options.folder)}
{place}WatchdogSec={WATCHDOG_S}
TimeoutStartSec=300
TimeoutStopSec={stop_s}
# SIGTERM goes to the daemon alone: it stops the machine, then ends its own processes.
KillMode=mixed
Restart=on-failure
RestartSec=1
# 2: wrong usage or file, 3: refused. Another start would end the same way.
RestartPreventExitStatus=2 3
LimitRTPRIO=99
LimitMEMLOCK=infinity
# Each connection of a client is an open file.
LimitNOFILE=65536
# Not here, because they would break real time: RestrictRealtime, PrivateDevices, ProtectClock.
{_HARDENING}{_SYSTEM_HARDENING if system else ""}"""


def quoted(word: str) -> str:
    """A word of ExecStart: quoted, with systemd's own characters escaped."""
    text = word.replace("\\", "\\\\").replace('"', '\\"').replace("%", "%%").replace("$", "$$")
    return f'"{text}"'


def _path(path: Path) -> str:
    """A path as the value of a setting, which takes no quotes."""
    return str(path).replace("%", "%%")
