"""Messages of the controller's processes before their kernels have been compiled."""

from __future__ import annotations

import sys

from linkwork.multibody.kernels.compiling import COMPILING, when_compiling


def say_when_compiling(what: str) -> None:
    """A line on standard error before the first kernel that this process compiles. Call it before loading."""

    def say() -> None:
        sys.stderr.write(f"compiling {what}, {COMPILING}\n")
        sys.stderr.flush()

    when_compiling(say)
