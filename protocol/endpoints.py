"""Places of files and sockets: the runtime folder, a machine's folder in it, and the locks of its daemons.

Binding an ipc path that is in use succeeds and silently steals it, so a lock (flock) is always taken first. A
lock ends with its process, however that ends; the file that it leaves has no meaning.
"""

from __future__ import annotations

import fcntl
import json
import os
import re
import stat
import sys
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from linkwork.protocol.errors import EndpointError, Taken

SOCKET_PATH_BYTES = 107
"""Longest path of a Unix socket."""
LAST_PORT = 65535
_TCP = r"tcp://[^\s/]+:(\d{1,9}|\*)"
_REMEDY = "make room in the folder and the right to write to it, or set LINKWORK_RUNTIME_DIR to another one"
_NAME = r"[A-Za-z0-9][A-Za-z0-9_.-]{0,63}"


def runtime_dir() -> Path:
    """The folder for sockets and locks of this user, made with mode 0700 when missing.

    $LINKWORK_RUNTIME_DIR, else $XDG_RUNTIME_DIR/linkwork, else /dev/shm/linkwork-<uid>, else the same in the
    temporary folder. Raises EndpointError when another user owns it or may write to it, or it
    cannot be created. The mode of a folder that is there is left as it is.
    """
    folder = _choose()
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        status = folder.lstat()
    except OSError as error:
        raise EndpointError(
            f"cannot create the runtime folder {folder}: {error.strerror}; "
            "set LINKWORK_RUNTIME_DIR to another folder"
        ) from None
    if not stat.S_ISDIR(status.st_mode):
        raise EndpointError(
            f"the runtime folder {folder} is not a folder; set LINKWORK_RUNTIME_DIR to another one"
        )
    if status.st_uid != os.getuid():
        raise EndpointError(
            f"the runtime folder {folder} belongs to user {status.st_uid}, not to you ({os.getuid()}); "
            "set LINKWORK_RUNTIME_DIR to a folder that you own"
        )
    if status.st_mode & 0o022:
        raise EndpointError(
            f"others may write to the runtime folder {folder} (mode {stat.S_IMODE(status.st_mode):o}), and "
            "could operate the machine; set LINKWORK_RUNTIME_DIR to a folder that only you may write to"
        )
    return folder


def _choose() -> Path:
    chosen = os.environ.get("LINKWORK_RUNTIME_DIR")
    if chosen:
        return Path(chosen).absolute()
    session = os.environ.get("XDG_RUNTIME_DIR")
    if session and os.access(session, os.W_OK | os.X_OK):
        return Path(session) / "linkwork"
    parent = Path("/dev/shm")
    if not os.access(parent, os.W_OK | os.X_OK):
        import tempfile  # rarely needed, and slow to load

        parent = Path(tempfile.gettempdir())
    return parent / f"linkwork-{os.getuid()}"


def state_dir() -> Path:
    """The folder for data kept between runs: $XDG_STATE_HOME/linkwork, else ~/.local/state/linkwork.

    It is not created.
    """
    state = os.environ.get("XDG_STATE_HOME")
    return (Path(state) if state else Path.home() / ".local" / "state") / "linkwork"


@dataclass(frozen=True, slots=True)
class MachineEndpoints:
    """One machine's place in the runtime folder: its sockets, locks and shared memory."""

    folder: Path

    @classmethod
    def named(cls, name: str) -> MachineEndpoints:
        """The seat of the machine of this name; makes its folder. Raises EndpointError with the remedy."""
        if not re.fullmatch(_NAME, name):
            raise EndpointError(
                f"{name!r} is not a machine name: allowed are letters, digits, '_', '-', '.', "
                "at most 64 of them, the first a letter or digit"
            )
        folder = runtime_dir() / name
        try:
            folder.mkdir(mode=0o700, exist_ok=True)
        except OSError as error:
            raise EndpointError(f"cannot create {folder}: {error.strerror}; {_REMEDY}") from None
        seat = cls(folder)
        check_path(folder / "telemetry.ipc")
        return seat

    @property
    def plant(self) -> str:
        """Endpoint of the device link."""
        return f"ipc://{self.folder / 'plant.ipc'}"

    @property
    def requests(self) -> str:
        """Endpoint of the gateway's requests."""
        return f"ipc://{self.folder / 'requests.ipc'}"

    @property
    def telemetry(self) -> str:
        """Endpoint of telemetry and events."""
        return f"ipc://{self.folder / 'telemetry.ipc'}"

    @property
    def orders_path(self) -> Path:
        """Datagram socket of the loop."""
        return self.folder / "orders.sock"

    @property
    def shared_path(self) -> Path:
        """File shared by gateway and loop."""
        return self.folder / "shared.bin"


def check_path(path: Path) -> Path:
    """The path, when a Unix socket may have it. Raises EndpointError otherwise."""
    length = len(os.fsencode(path))
    if length > SOCKET_PATH_BYTES:
        raise EndpointError(
            f"the socket path {path} has {length} bytes, at most {SOCKET_PATH_BYTES} are possible; "
            "set LINKWORK_RUNTIME_DIR to a shorter folder"
        )
    return path


def ipc_path(endpoint: str) -> Path | None:
    """Return the path of an ipc endpoint; None for tcp and abstract names. Raises EndpointError."""
    name = endpoint.removeprefix("ipc://")
    if name == endpoint:
        found = re.fullmatch(_TCP, endpoint)
        if found is None or (found[1] != "*" and int(found[1]) > LAST_PORT):
            raise EndpointError(
                f"{endpoint!r} is not an endpoint; use ipc://PATH or tcp://HOST:PORT with a port from 0 to"
                f" {LAST_PORT}, or * for any free one; clients on other computers need keys (linkwork keys)"
            )
        return None
    if not name.strip("@/") or "\0" in name:
        raise EndpointError(f"{endpoint!r} has no path; write ipc:// and the path of a socket")
    if name.startswith("@"):
        check_path(Path(name))
        return None
    return check_path(Path(name))


class Claim:
    """A held lock. It ends with `release`, by leaving the `with` block, or by the end of the process."""

    def __init__(self, descriptor: int, path: Path) -> None:
        self._descriptor = descriptor
        self.path = path

    def describe(self, text: str) -> None:
        """Replace what others read about the holder; a full folder has no room for it."""
        content = {"pid": os.getpid(), "command": _command(), "text": text}
        with suppress(OSError):
            os.ftruncate(self._descriptor, 0)
            os.pwrite(self._descriptor, json.dumps(content).encode(), 0)

    @property
    def lost(self) -> str:
        """Why other processes no longer find the lock, or empty: its folder was removed while it was held."""
        try:
            found = os.path.samestat(self.path.stat(), os.fstat(self._descriptor))
        except OSError:
            found = False
        return "" if found else f"the runtime folder {self.path.parent} was removed: no program can connect"

    def release(self) -> None:
        """Release the lock. May be called twice."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1

    def __enter__(self) -> Claim:
        return self

    def __exit__(self, *_: object) -> None:
        self.release()


def claim(folder: Path, role: str, text: str = "") -> Claim:
    """Take the lock of a role ("plant", "gateway", "loop") in a folder.

    `text` describes the holder to others. Raises Taken naming the process that has it.
    """
    return claim_file(folder / f"{role}.lock", f"the {role} of {folder.name}", text)


def claim_file(path: Path, what: str, text: str = "") -> Claim:
    """Take the lock file `path`; `what` names the thing in the refusal. Raises Taken, EndpointError."""
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    except OSError as error:
        raise EndpointError(f"cannot open the lock {path}: {error.strerror}; {_REMEDY}") from None
    if not _lock(descriptor, patience_s=0.1):
        holder = _read(path)
        os.close(descriptor)
        about = f": {holder.text}" if holder.text else ""
        raise Taken(
            f"{what} is taken by process {holder.pid} ({holder.command}){about}; "
            "stop that process first, or choose another name or endpoint",
            holder.pid,
            holder.command,
            holder.text,
        )
    held = Claim(descriptor, path)
    held.describe(text)
    return held


def _lock(descriptor: int, patience_s: float) -> bool:
    deadline = time.monotonic() + patience_s
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            if time.monotonic() >= deadline:
                return False
            time.sleep(0.005)  # someone in `running` may be holding it for a moment, only to look
        else:
            return True


@dataclass(frozen=True, slots=True)
class RunningProcess:
    """A live process that holds a role."""

    name: str
    """The machine's seat."""
    pid: int
    command: str
    text: str


def running(role: str) -> list[RunningProcess]:
    """Return the holders of this role now, in any seat of this user, sorted by seat name."""
    found = []
    for path in sorted(runtime_dir().glob(f"*/{role}.lock")):
        with suppress(OSError):
            descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
            try:
                fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
            except BlockingIOError:
                found.append(_read(path))
            finally:
                os.close(descriptor)
    return found


def _read(path: Path) -> RunningProcess:
    pid, command, text = 0, "unknown", ""
    with suppress(OSError, ValueError, AttributeError):
        content = json.loads(path.read_text())
        pid, command = int(content.get("pid", 0)), str(content.get("command", "unknown"))
        text = str(content.get("text", ""))
    return RunningProcess(path.parent.name, pid, command, text)


def _command() -> str:
    with suppress(OSError):
        words = Path("/proc/self/cmdline").read_bytes().decode(errors="replace").split("\0")
        return " ".join(word for word in words if word)[:200]
    return " ".join(sys.argv)[:200]
