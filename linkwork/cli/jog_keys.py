"""Jogging with the keyboard, dead-man: the machine moves only while a key repeats."""

import os
import select
import sys
import termios
import time
import tty
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from rich.console import Console

from linkwork.client.robot import Robot
from linkwork.terminal.failures import Misuse

HOLD_S = 0.6
"""After a key's first stroke; terminals begin to repeat within half a second."""
REPEAT_S = 0.15
"""Between repeated strokes."""
_EVERY_S = 0.1
_CHOOSE = "123456789"
_FORWARD, _BACK, _QUIT = ("+", "=", "C", "A"), ("-", "_", "D", "B"), ("q", "\x03", "\x04")


class JogHold:
    """Decide from key strokes and the time whether the machine may move; a pure state machine."""

    def __init__(self) -> None:
        self._key = ""
        self._until = 0.0

    def press(self, key: str, now: float) -> None:
        """Register a stroke: the first of a key holds until the terminal repeats it, each further one a
        moment.
        """
        repeated = key == self._key and now < self._until
        self._key = key
        self._until = now + (REPEAT_S if repeated else HOLD_S)

    def held(self, now: float) -> str:
        """Return the key that is held, or ""."""
        return self._key if now < self._until else ""


def jog_with_keys(
    robot: Robot,
    described: Mapping[str, Any],
    fraction: float,
    console: Console,
    further: Sequence[str] = (),
    act: Callable[[], None] = lambda: None,
) -> None:
    """Jog until q: digits choose the joint, + and - (or the arrows) move it while they are held.

    fraction: of each joint's velocity limit. `act` is called for each stroke of the `further` keys. Raises
    Misuse without a terminal.
    """
    if not sys.stdin.isatty():
        raise Misuse(
            "jogging with keys needs a terminal; otherwise: linkwork jog NAME=VELOCITY --for SECONDS"
        )
    joints = described["joints"]
    console.print(
        "  ".join(f"[bold]{key}[/] {joint['name']}" for key, joint in zip(_CHOOSE, joints, strict=False))
        + "   [bold]+ -[/] or arrows: hold to move   [bold]q[/]: end"
    )
    chosen, man, moving = 0, JogHold(), False
    with raw_terminal() as fd:
        while True:
            for key in keys(fd, _EVERY_S):
                if key in _QUIT:
                    robot.stop()
                    return
                if key in _CHOOSE[: len(joints)]:
                    chosen = _CHOOSE.index(key)
                    console.print(f"{joints[chosen]['name']}\r")
                elif key in further:
                    act()
                elif key in _FORWARD + _BACK:
                    man.press("+" if key in _FORWARD else "-", time.monotonic())
            key = man.held(time.monotonic())
            if key:
                joint = joints[chosen]
                speed = fraction * (joint["limits"]["velocity"] or 1.0)
                robot.jog({joint["name"]: speed if key == "+" else -speed})
            elif moving:
                robot.stop()
            moving = bool(key)


@contextmanager
def raw_terminal() -> Iterator[int]:
    """Read keys as they are struck, without echo; restore the terminal afterwards."""
    fd = sys.stdin.fileno()
    before = termios.tcgetattr(fd)
    try:
        tty.setcbreak(fd)
        yield fd
    finally:
        termios.tcsetattr(fd, termios.TCSADRAIN, before)


def keys(fd: int, timeout_s: float) -> list[str]:
    """Return the strokes of the next moment; an arrow (ESC [ A) counts as its last letter."""
    if not select.select([fd], [], [], timeout_s)[0]:
        return []
    text = os.read(fd, 256).decode(errors="replace")
    if not text:
        return ["q"]  # the terminal is gone
    return [key for part in text.split("\x1b[") for key in (part if part else "")]
