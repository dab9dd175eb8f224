"""Confirm the assembly mode: the poses that the sensors fit, as ghosts to choose from."""

import asyncio
import json
import math
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from nicegui import ui

from linkwork.console.machine_feed import Content, Known
from linkwork.console.page_parts import PageActions, card
from linkwork.protocol.codes import Role

_SEARCH_S: Final = 120.0
_MOST_MODES: Final = 12
_SAME: Final = 1e-3
"""Largest difference (rad, m) between a mode and the pose that the controller assumes."""


class AssemblyView:
    """Card that is visible where a confirmation may be needed and the machine is not active."""

    def __init__(self, actions: PageActions) -> None:
        self._actions = actions
        self._modes: list[Mapping[str, Any]] = []
        self._chosen: int | None = None
        self._present: int | None = None
        with card("Assembly mode", "preview-card") as self._card:
            self._text = ui.label("The sensors fit several poses. Compare them with the real machine.")
            with ui.element("div").classes("bar"):
                self._search = ui.button("show the modes", on_click=self._show).props("no-caps outline")
                self._choices = ui.element("div").classes("bar")
                self._hide = ui.button("hide", on_click=self._clear).props("no-caps flat")
            self._answer = ui.label().props("role=status")
            self._guess = ui.label().classes("section-guess")
            self._confirm = ui.button("confirm", on_click=self._send).props("no-caps")
        self._card.set_visibility(False)
        self._clear()

    def refresh(self, known: Known, *, operates: bool) -> None:
        """Follow the machine."""
        content, state = known.content, known.state
        several = content is not None and content.described["settings"]["assemblies"] == "several"
        fault = None if state is None else state["fault"]
        flipped = fault is not None and fault["name"] == "BRANCH_FLIP"
        needed = several or flipped or self._actions.needed == "confirm_branch"
        self._card.set_visibility(needed and state is not None and state["state"] != "active")
        if state is not None and state["state"] == "active" and self._modes:
            self._clear()
        service = content is not None and content.described["role"] == Role.SERVICE.word
        self._confirm.set_enabled(operates and service and self._chosen is not None)

    def choose(self, mode: int) -> None:
        """Choose a mode, counted from 0."""
        if not 0 <= mode < len(self._modes):
            return
        self._chosen = mode
        self._actions.tell({"type": "mode-seen", "mode": mode})
        self._confirm.set_visibility(True)
        self._confirm.set_text(f"confirm mode {mode + 1}")
        if mode == self._present:
            self._answer.set_text(f"Mode {mode + 1} is the one that the controller assumes.")
            self._guess.set_text("")
            return
        other = "another mode" if self._present is None else f"mode {self._present + 1}"
        self._answer.set_text(
            f"The controller assumes {other}. If the real machine is in mode {mode + 1}, confirm it: the"
            " controller then begins in this mode. These lines of the machine file let it start there:"
        )
        self._guess.set_text(_sections(self._modes[mode]))

    async def _show(self) -> None:
        known = self._actions.service.feed.known
        content, state = known.content, known.state
        if content is None or state is None:
            return
        self._clear()
        self._answer.set_text("searching …")
        self._search.disable()
        try:
            modes = await asyncio.to_thread(search_modes, content, state)
        except ValueError as error:
            self._answer.set_text(str(error))
            return
        finally:
            self._search.enable()
        self._modes = modes[:_MOST_MODES]
        self._present = present_mode([mode["q"] for mode in self._modes], state["q"], content.described)
        drawn = await asyncio.to_thread(
            self._actions.service.drawing.drawn, content, [mode["q"] for mode in self._modes]
        )
        self._actions.tell({"type": "modes", **drawn})
        self._answer.set_text(f"{len(self._modes)} modes. Choose the one that looks like the real machine.")
        self._hide.set_visibility(True)
        with self._choices:
            for k in range(len(self._modes)):
                ui.button(str(k + 1), on_click=lambda k=k: self.choose(k)).props(
                    f'no-caps outline aria-label="mode {k + 1}"'
                )

    async def _send(self) -> None:
        state = self._actions.service.feed.known.state
        if self._chosen is None or state is None:
            return
        given = {}
        if self._chosen != self._present:
            given["positions"] = dict(zip(state["q"], self._modes[self._chosen]["q"], strict=True))
        await self._actions.effect("confirm_branch", **given)
        self._actions.needed = ""
        self._clear()

    def _clear(self) -> None:
        self._modes, self._chosen, self._present = [], None, None
        self._choices.clear()
        self._answer.set_text("")
        self._guess.set_text("")
        self._confirm.set_visibility(False)
        self._hide.set_visibility(False)
        self._actions.tell({"type": "modes"})


def search_modes(content: Content, state: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Return the assembly modes within the joint limits, with the motors' joints where they are.

    In a process, since it takes seconds. Raises ValueError with the reason why there are none.
    """
    measured = [f"{motor['name']}={state['q'][motor['name']]:.9g}" for motor in content.described["motors"]]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"{content.described['machine']}.yaml"
        path.write_text(content.described["file"]["text"], encoding="utf-8")
        argv = [sys.executable, "-m", "linkwork", "model", str(path), *measured, "--assemblies", "--json"]
        try:
            done = subprocess.run(argv, capture_output=True, text=True, timeout=_SEARCH_S, check=False)
        except subprocess.TimeoutExpired:
            raise ValueError(f"the search for assembly modes took more than {_SEARCH_S:g} s") from None
    if done.returncode != 0:
        raise ValueError(f"no assembly modes: {done.stderr.strip() or done.stdout.strip()}")
    found: list[Mapping[str, Any]] = json.loads(done.stdout)["modes"]
    return [mode for mode in found if mode["within_limits"]]


def present_mode(
    modes: Sequence[Sequence[float]], q: Mapping[str, float], described: Mapping[str, Any]
) -> int | None:
    """Return the number of the mode at q (rad, m), None where none is; whole turns do not count."""
    units = {each["name"]: each["unit"] for each in described["joints"]}

    def difference(name: str, one: float, other: float) -> float:
        return abs(math.remainder(one - other, math.tau) if units.get(name) == "rad" else one - other)

    for number, mode in enumerate(modes):
        if all(difference(name, at, own) < _SAME for (name, at), own in zip(q.items(), mode, strict=True)):
            return number
    return None


def _sections(mode: Mapping[str, Any]) -> str:
    """Return the sections of a machine file that select a mode."""
    sections = []
    for section in ("initial", "initial_guess"):
        values = ", ".join(f"{name}: {value:.9g}" for name, value in mode[section].items())
        sections.append(f"{section}: {{{values}}}")
    return "\n".join(sections)
