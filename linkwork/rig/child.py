"""Pytest in a separate process that ends, as by Ctrl-C, when its parent does.

`python -m linkwork.rig.child WORD…` takes pytest's words; standard input is the lifeline.
"""

import os
import signal
import sys
from threading import Thread

import pytest

from linkwork.timing.children import Lifeline


def main(words: list[str]) -> int:
    """Run pytest; return its exit status."""
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background job inherits it ignored
    lifeline = Lifeline.from_stdin()
    Thread(target=_interrupted_by, args=(lifeline,), daemon=True).start()
    return int(pytest.main(words))


def _interrupted_by(lifeline: Lifeline) -> None:
    lifeline.wait()
    os.kill(os.getpid(), signal.SIGINT)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
