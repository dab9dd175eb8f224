"""Load for `linkwork latency --load`: processes that use processor, disk, memory and sockets.

    python -m linkwork.diagnostics.load KIND FOLDER

Each runs at normal priority, works while the gate is open, and ends with its parent, however that ends.
The file that is written has no name, so none is left behind.
"""

import contextlib
import mmap
import os
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import IO, Final

from linkwork.protocol.sockets import RequestDealer, RequestServer
from linkwork.timing.children import Child, Lifeline, ignore_interrupts

CLIENTS: Final = 3
DISK_BYTES, MEMORY_BYTES = 32 * 1024 * 1024, 32 * 1024 * 1024
_CHUNK: Final = 1024 * 1024
_FRAME: Final = bytes(200)
_UNANSWERED: Final = 16
_REST_S: Final = 0.005
_ENDS_WITHIN_S: Final = 2.0


class LoadGate:
    """Whether the load is on: one byte in a file that all processes of a run map."""

    def __init__(self, folder: str) -> None:
        path = Path(folder) / "gate"
        with path.open("a+b") as file:
            if not path.stat().st_size:
                file.write(b"\0")
                file.flush()
            self._byte = mmap.mmap(file.fileno(), 1)

    @property
    def open(self) -> bool:
        """Whether the load works."""
        return self._byte[0] == 1

    def set(self, *, to: bool) -> None:
        """Turn the load on or off."""
        self._byte[0] = int(to)


def kinds() -> list[str]:
    """One kind of load for each process that is started."""
    return [*["processor"] * len(os.sched_getaffinity(0)), "disk", "memory", "echo", *["client"] * CLIENTS]


def described() -> str:
    """The load in words."""
    processors = len(os.sched_getaffinity(0))
    return (
        f"{processors} busy process{'es' if processors > 1 else ''}, writes with fsync in {_disk_folder()}, "
        f"copies of {MEMORY_BYTES >> 20} MiB, {CLIENTS} clients that flood an echo"
    )


@contextmanager
def load(folder: str) -> Iterator[None]:
    """A context in which the load runs while the gate in this folder is open. Raises OSError."""
    with ExitStack() as stack:
        children: list[Child] = []
        stack.callback(_end, children)
        errors: IO[bytes] = stack.enter_context((Path(folder) / "load.errors").open("wb"))
        for kind in kinds():
            argv = [sys.executable, "-m", "linkwork.diagnostics.load", kind, folder]
            children.append(Child.start(argv, stdout=errors, stderr=errors))
        yield


def _end(children: list[Child]) -> None:
    for child in children:
        child.let_go()
    for child in children:
        child.stop(_ENDS_WITHIN_S)
        child.close()


def _processor(gate: LoadGate, _folder: str) -> None:
    while gate.open:
        sum(range(20_000))


def _disk(gate: LoadGate, _folder: str) -> None:
    chunk = os.urandom(_CHUNK)
    with tempfile.TemporaryFile(dir=_disk_folder()) as file:
        while gate.open:
            file.write(chunk)
            file.flush()
            os.fsync(file.fileno())
            if file.tell() >= DISK_BYTES:
                file.seek(0)


def _disk_folder() -> str:
    """A folder on a disk rather than in memory, where there is one."""
    return "/var/tmp" if os.access("/var/tmp", os.W_OK) else tempfile.gettempdir()


def _memory(gate: LoadGate, _folder: str) -> None:
    source, target = bytearray(MEMORY_BYTES), bytearray(MEMORY_BYTES)
    while gate.open:
        target[:] = source
        source = bytearray(target)


def _echo(gate: LoadGate, folder: str) -> None:
    with RequestServer(f"ipc://{folder}/echo.ipc") as server:
        while gate.open:
            received = server.receive(20)
            if received is not None:
                server.send(*received)


def _client(gate: LoadGate, folder: str) -> None:
    with RequestDealer(f"ipc://{folder}/echo.ipc") as dealer:
        unanswered = 0
        while gate.open:
            if unanswered < _UNANSWERED and dealer.send(_FRAME):
                unanswered += 1
            elif dealer.receive(20) is not None:
                unanswered -= 1
            else:
                unanswered = 0


_WORK: Final[dict[str, Callable[[LoadGate, str], None]]] = {
    "processor": _processor,
    "disk": _disk,
    "memory": _memory,
    "echo": _echo,
    "client": _client,
}


def main(kind: str, folder: str) -> None:
    """One process of the load, until its parent is gone."""
    ignore_interrupts()
    lifeline = Lifeline.from_stdin()
    threading.Thread(target=lambda: (lifeline.wait(), os._exit(0)), daemon=True).start()
    gate = LoadGate(folder)
    while True:
        if gate.open:
            with contextlib.suppress(OSError):  # a full disk: the next turn tries again
                _WORK[kind](gate, folder)
        time.sleep(_REST_S)


if __name__ == "__main__":
    main(*sys.argv[1:])
