"""CPU time of commands that a person waits for, over that of Python with the packages of the protocol.

    python -m benchmarks.startup [RUNS]

Prints the median of user and system time of each, and its ratio to `python -c "import zmq, msgpack"`.
"""

from __future__ import annotations

import compileall
import resource
import statistics
import subprocess
import sys
from pathlib import Path

import linkwork

REFERENCE = "import zmq, msgpack"
COMMANDS = {
    REFERENCE: [sys.executable, "-c", REFERENCE],
    "linkwork --version": [str(Path(sys.executable).with_name("linkwork")), "--version"],
    "linkwork stop": [str(Path(sys.executable).with_name("linkwork")), "stop"],
}


def cpu_s(command: list[str]) -> float:
    """Return the user and system time of a process, in seconds."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, capture_output=True, check=False)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main() -> None:
    """Measure, the commands in turn, so that load meets all of them alike; bytecode is there before."""
    compileall.compile_dir(Path(linkwork.__file__).parent, quiet=1)
    runs = int(sys.argv[1]) if len(sys.argv) > 1 else 15
    measured = [{name: cpu_s(command) for name, command in COMMANDS.items()} for _ in range(runs)]
    medians = {name: statistics.median(one[name] for one in measured) for name in COMMANDS}
    for name, median in medians.items():
        print(f"{name:<24}{1e3 * median:6.0f} ms  {median / medians[REFERENCE]:.2f}")


if __name__ == "__main__":
    main()
