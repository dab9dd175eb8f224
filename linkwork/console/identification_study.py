"""Identification of the machine's dynamics in steps: design motions, record them, identify, compare, write.

Each step runs a command of linkwork in a process of low priority, and shows what that command says.
"""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import signal
import sys
import tempfile
from asyncio.subprocess import PIPE, Process
from collections.abc import Awaitable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from linkwork.protocol.errors import EndpointError, NobodyThere, RequestError
from linkwork.trajectories.trajectory_file import read_trajectory_file

if TYPE_CHECKING:
    from linkwork.console.console_service import ConsoleService

POINTS: Final = 400
"""Of each curve."""
COMPARED_SHARE: Final = 0.4
"""Duration of the motion to compare with over that of the first."""
_APPROACH_SPEED: Final = 0.3
_AT_BEGIN: Final = 1e-3
_LOOK_S, _REST_S, _LATE_S = 0.05, 0.5, 30.0
"""Between two looks at the state, rest after a motion, and time in which a recording begins."""


class StepFailed(Exception):
    """A step without a result; the text says why."""


class IdentificationStudy:
    """Steps and results of one machine; all pages of a console share them.

    designed, identified: answers of `excite` and `identify`; compared: those of `validate` for the file of
    the controller and for the new one. said: the last words of each step. changes: counts them.
    """

    def __init__(self, service: ConsoleService, machine: str, file: Mapping[str, Any]) -> None:
        self._service = service
        self.folder = Path(tempfile.mkdtemp(prefix="linkwork-identify-"))
        self.source = Path(file["path"])
        self._text: str = file["text"]
        self._machine = self.folder / f"{machine}.yaml"
        self._machine.write_text(self._text, encoding="utf-8")
        self.busy, self.progress, self.changes = "", 0.0, 0
        self.said: dict[str, str] = {}
        self.designed: Mapping[str, Any] | None = None
        self.recorded: list[Path] = []
        self.identified: Mapping[str, Any] | None = None
        self.compared: tuple[Mapping[str, Any], Mapping[str, Any]] | None = None
        self._motions: list[dict[str, Any]] = []
        self._process: Process | None = None
        self._goal_of: str | None = None

    def close(self) -> None:
        """End the process of a step, and remove the files."""
        if self._process is not None and self._process.returncode is None:
            self._process.kill()
        shutil.rmtree(self.folder, ignore_errors=True)

    @property
    def new_file(self) -> Path | None:
        """The identified machine file, before it is applied; None without one."""
        path = self.folder / "identified.yaml"
        return path if self.identified is not None and self.identified["out"] else None

    @property
    def better(self) -> bool:
        """Whether the new file leaves less of the efforts unexplained, in data that were not used."""
        if self.compared is None:
            return False
        old, new = (sum(each["residual_rms"] ** 2 for each in found["fits"]) for found in self.compared)
        return bool(new < old)

    async def run(self, step: str, work: Awaitable[str]) -> None:
        """Run one step at a time; keep its last words."""
        self.busy, self.progress, self.said[step] = step, 0.0, ""
        try:
            self.said[step] = await work
        except StepFailed as error:
            self.said[step] = str(error)
        except RequestError as error:
            self.said[step] = f"{error.name}: {error.message}"
        except (NobodyThere, EndpointError, OSError) as error:
            self.said[step] = str(error)
        finally:
            self.busy, self._process, self._goal_of = "", None, None
            self.changes += 1

    async def cancel(self) -> None:
        """End the step under way, as Ctrl-C does; a search keeps the best motion so far."""
        if self._goal_of is not None:
            with suppress(RequestError, NobodyThere, EndpointError):
                await self._service.ask(self._goal_of, "cancel")
        elif self._process is not None and self._process.returncode is None:
            self._process.send_signal(signal.SIGINT)

    async def design(self, seconds: float, purpose: str, search_s: float) -> str:
        """Design the motion to identify from, and another one to compare with."""
        self._motions, self.designed = [], None
        for seed, share in enumerate((1.0, COMPARED_SHARE)):
            path = self.folder / f"motion-{seed}.yaml"
            words = ["--seconds", max(2.0, share * seconds), "--for", purpose, "--search", share * search_s]
            found = await self._answer(
                "excite", self._machine, *words, "--seed", seed, "--out", path, "--overwrite"
            )
            self.designed = self.designed or found
            motion = await asyncio.to_thread(read_trajectory_file, path)
            self._motions.append(motion.trajectory.model_dump(exclude_none=True, by_alias=True))
        return (
            f"two motions, {' and '.join(f'{each:.1f} s' for each in self.durations_s)}, best of those tried"
        )

    @property
    def durations_s(self) -> list[float]:
        """Durations of the designed motions."""
        return [float(each["points"][-1]["time_from_start_s"]) for each in self._motions]

    async def follow(self, page: str) -> str:
        """Move along the designed motions, and record both."""
        number = len(self.recorded) // 2 + 1
        made = []
        for motion, name in zip(self._motions, ("identify", "compare"), strict=True):
            begin = dict(zip(motion["coordinates"], motion["points"][0]["positions"], strict=True))
            state = self._service.feed.known.state
            if state is None or any(abs(state["q"][each] - at) > _AT_BEGIN for each, at in begin.items()):
                await self._goal(page, "move", {"target": begin, "speed": _APPROACH_SPEED})
            path = self.folder / f"run-{number}-{name}.mcap"
            recording = asyncio.create_task(
                self._said("record", path, "--from-now", *self._service.connection_words)
            )
            try:
                await self._begun(path, recording)
                await self._goal(page, "send", {"trajectory": motion})
                await asyncio.sleep(_REST_S)
            finally:
                if self._process is not None and self._process.returncode is None:
                    self._process.send_signal(signal.SIGINT)
                await recording
            made.append(path)
        self.recorded += made
        return f"recorded {' and '.join(path.name for path in made)}"

    async def identify(self, recording: Path, unseen: Path | None, *, twin: bool) -> str:
        """Identify the parameters; the new machine file stays in the folder of the study."""
        self.identified = self.compared = None
        words = ["--points", POINTS, "--out", self.folder / "identified.yaml", "--overwrite"]
        words += ["--html", self.folder / "report.html"] + (["--twin"] if twin else [])
        words += [] if unseen is None else ["--validate", unseen]
        self.identified = await self._answer("identify", self._machine, recording, *words, fine=(0, 1))
        return "\n".join(self._lines)

    async def compare(self, recording: Path) -> str:
        """Predict a recording that was not used with both machine files."""
        self.compared = None
        old, new = [
            await self._answer("validate", file, recording, "--points", POINTS)
            for file in (self._machine, self.new_file)
        ]
        self.compared = old, new
        if self.better:
            return ""
        return "The new file predicts these data no better than the present one, so it is not offered."

    async def apply(self) -> str:
        """Write the new machine file beside that of the controller."""
        new, folder = self.new_file, self.source.resolve().parent
        if new is None:
            raise StepFailed("there is no new machine file: identify first")
        if not self.source.is_file() or self.source.read_text(encoding="utf-8") != self._text:
            raise StepFailed(f"{self.source} is not the controller's file on this computer: save the new one")
        for number in range(1, 1000):
            path = folder / f"{self.source.stem}.identified{'' if number == 1 else f'-{number}'}.yaml"
            with suppress(FileExistsError), path.open("x", encoding="utf-8") as file:
                file.write(new.read_text(encoding="utf-8"))
                break
        return (
            f"{path} is written. The controller uses it after a restart: linkwork down, then "
            f"linkwork up {path}"
        )

    # Commands and goals.

    async def _answer(self, *words: object, fine: Sequence[int] = (0,)) -> dict[str, Any]:
        """Return the JSON answer of a command. Raises StepFailed with its words for other exit statuses."""
        status, said = await self._said(*words, "--json")
        if status not in fine:
            raise StepFailed("\n".join(self._lines) or f"ended before its result (exit status {status})")
        found: dict[str, Any] = json.loads(said)
        return found

    async def _said(self, *words: object) -> tuple[int, bytes]:
        argv = (sys.executable, "-m", "linkwork.terminal.child_command", *map(str, words))
        env = os.environ | {"LINKWORK_PROGRESS": "lines"}
        process = await asyncio.create_subprocess_exec(*argv, stdin=PIPE, stdout=PIPE, stderr=PIPE, env=env)
        self._process, self._lines = process, []
        assert process.stdout is not None
        assert process.stderr is not None
        reading = asyncio.create_task(process.stdout.read())
        async for line in process.stderr:
            text = line.decode("utf-8", "replace").strip()
            if text.startswith("progress "):
                self.progress = float(text.split()[1])
            elif text:
                self._lines.append(text)
        return await process.wait(), await reading

    async def _begun(self, path: Path, recording: asyncio.Task[Any]) -> None:
        """Wait until a recording is written. Raises StepFailed with the words of the command."""
        async with asyncio.timeout(_LATE_S):
            while not path.exists():
                if recording.done():
                    raise StepFailed("\n".join(self._lines))
                await asyncio.sleep(_LOOK_S)

    async def _goal(self, page: str, method: str, params: Mapping[str, Any]) -> None:
        """Follow a goal to its end. Raises StepFailed where it does not succeed."""
        self._goal_of = page
        goal = (await self._service.ask(page, method, params))["goal"]
        while True:
            await asyncio.sleep(_LOOK_S)
            state = self._service.feed.known.state
            if state is None:
                raise StepFailed("the controller does not answer")
            ended = [each for each in state["results"] if each["goal"] == goal]
            if ended:
                break
            now = state["goal"]
            if now is not None and now["goal"] == goal:
                self.progress = float(now["fraction"])
        self._goal_of = None
        if ended[0]["name"] != "SUCCESSFUL":
            raise StepFailed(f"not recorded: goal {goal} ended {ended[0]['name']}: {ended[0]['text']}")
