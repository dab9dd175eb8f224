"""Anonymous memory of a plant daemon under malformed frames on many connections.

    python benchmarks/hostile.py [--frames 60000] [--connections 31] [--json]

Flood a private plant with random bytes, with values nested 100 to 1,000 deep, and with protocol messages in
which some bytes were changed. The first tenth of the frames is not counted: buffers fill.
Growth is the last reading minus the first; it stays within a few MiB however many frames there are.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

from linkwork import protocol
from linkwork.protocol.sockets import DeviceClient

READINGS = 10
VECTORS = [path.read_bytes() for path in sorted((Path(protocol.__file__).parent / "vectors").rglob("*.bin"))]


def noise(rng: random.Random) -> bytes:
    """Random bytes."""
    return rng.randbytes(rng.choice((0, 1, 10, 100, 1000, 10_000)))


def deep(rng: random.Random) -> bytes:
    """A message whose type is nested."""
    return b"\x81\xa4type" + b"\x91" * rng.randrange(100, 1000) + b"\xc0"


def changed(rng: random.Random) -> bytes:
    """A message of the protocol with some bytes changed."""
    frame = bytearray(rng.choice(VECTORS))
    for _ in range(rng.randrange(1, 6)):
        frame[rng.randrange(len(frame))] = rng.randrange(256)
    return bytes(frame)


KINDS: dict[str, Callable[[random.Random], bytes]] = {"noise": noise, "deep": deep, "changed": changed}


def anonymous_MiB(pid: int) -> float:
    """Anonymous memory of a process."""
    for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines():
        if line.startswith("Anonymous:"):
            return round(int(line.split()[1]) / 1024, 1)
    return 0.0


def flood(kind: str, frames: int, connections: int) -> list[float]:
    """Readings (MiB) of one plant after each tenth of the frames."""
    rng, readings = random.Random(1), []
    with tempfile.TemporaryDirectory(prefix="lw-") as folder:
        endpoint = f"ipc://{folder}/plant.ipc"
        command = [sys.executable, "-m", "linkwork", "plant", "scara", "--endpoint", endpoint, "--json"]
        env = {**os.environ, "LINKWORK_RUNTIME_DIR": folder}
        plant = subprocess.Popen([*command, "--realtime", "ignore"], env=env, stdout=subprocess.PIPE)
        assert plant.stdout is not None
        try:
            next(line for line in plant.stdout if b'"ready"' in line)
            clients = [DeviceClient(endpoint) for _ in range(connections)]
            for _ in range(READINGS):
                for _ in range(frames // READINGS):
                    client = rng.choice(clients)
                    client.writable(10_000)
                    client.send(KINDS[kind](rng))
                    client.receive_latest()
                readings.append(anonymous_MiB(plant.pid))
            for client in clients:
                client.close()
        finally:
            plant.send_signal(signal.SIGTERM)
            plant.communicate(timeout=30)
    return readings


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--frames", type=int, default=60_000)
    parser.add_argument("--connections", type=int, default=31)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    found = {kind: flood(kind, options.frames, options.connections) for kind in KINDS}
    if options.json:
        print(json.dumps({"frames": options.frames, "anonymous_MiB": found}, indent=1))
        return
    for kind, values in found.items():
        print(f"{kind:<8} {values[0]:>7.1f} MiB, after {options.frames} frames {values[-1]:>7.1f} MiB, "
              f"growth {values[-1] - values[0]:+.1f} MiB")  # fmt: skip


if __name__ == "__main__":
    main()
