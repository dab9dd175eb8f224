"""Convert any error to one message and an exit status; never a traceback for a user's mistake."""

import signal
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final

from linkwork.display_units import in_display_units, refusal
from linkwork.terminal.output import complain, emit

INTERRUPTED = 128 + signal.SIGINT
DONE, GOAL_FAILED, USAGE, REFUSED, NOBODY_THERE = range(5)
"""Exit statuses; the same numbers as protocol.codes.ExitCode, without loading the protocol."""


class Misuse(Exception):
    """The command line makes no sense; the text says what would."""


_MISTAKES: Final = (
    *("FmuNotBuilt", "ImportProblem", "LatencyError", "NoDriver", "NoRecording", "NoReport", "NoStates"),
    "ValuesDepend",
)
"""Errors whose text says all that a user needs, as that of `Misuse`; their modules take long to load."""


def require(user: str, extra: str, *modules: str) -> None:
    """Raise Misuse where `user` needs modules that are not installed; they belong to an extra of linkwork."""
    from importlib.util import find_spec

    missing = [module for module in modules if find_spec(module) is None]
    if missing:
        names = " and ".join(missing)
        needs = f"{user} need {names}, which {'are' if len(missing) > 1 else 'is'} not installed"
        raise Misuse(f"{needs}: pip install 'linkwork[{extra}]'")


def write_text(path: Path, text: str) -> None:
    """Write a file. Raises Misuse where that fails."""
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise Misuse(f"{path} cannot be written: {error.strerror}") from None


def write_texts(folder: Path, texts: Mapping[str, str]) -> list[Path]:
    """Write texts by file name to a folder, which is made where there is none; return the paths.

    Raises Misuse where that fails.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise Misuse(f"{folder} cannot be written: {error.strerror}") from None
    for name, text in texts.items():
        write_text(folder / name, text)
    return [folder / name for name in texts]


def run(main: Callable[[], Any], *, as_json: bool) -> int:
    """Run a command and return its exit status.

    With `as_json` an error is also written to standard output, as {"error": {…}}, so that there is always
    exactly one object.
    """
    try:
        if (wrong := refusal()) is not None:
            raise Misuse(wrong)
        status = main()
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:  # the reader of the output has closed
        sys.stderr.close()
        return DONE
    except Exception as error:
        status, content = explain(error)
        text = content["message"]
        typed = status == USAGE or content.get("path", [])[:1] == ["trajectory"]
        complain(text if typed else in_display_units(text))  # a file's own numbers stay as they are
        if as_json:
            emit({"error": content})
    return int(status or DONE)


def explain(error: Exception) -> tuple[int, dict[str, Any]]:
    """Return the exit status of an error, and its message as plain data.

    Reraises unknown exceptions, which are defects.
    """
    from linkwork.protocol.errors import EndpointError, NobodyThere, RequestError, Taken

    match error:
        case EOFError():
            text = f"an input or a file ended too early: {error}"
            return USAGE, {"name": "END_OF_INPUT", "message": text}
        case Misuse():
            return USAGE, {"name": "USAGE", "message": str(error)}
        case RequestError():
            text = error.message.removeprefix(f"{error.name.lower().replace('_', ' ')}: ")
            return REFUSED, error.as_map() | {"message": f"{error.name}: {text}"}
        case NobodyThere():
            return NOBODY_THERE, {"name": "NOBODY_THERE", "message": str(error)}
        case Taken():
            return REFUSED, {"name": "TAKEN", "message": str(error)}
        case EndpointError():
            return USAGE, {"name": "ENDPOINT", "message": str(error)}
    if type(error).__name__ in _MISTAKES:
        return USAGE, {"name": "USAGE", "message": str(error)}
    return _explain_rare(error)


def _explain_rare(error: Exception) -> tuple[int, dict[str, Any]]:
    """As `explain`, for errors whose modules take long to load."""
    from linkwork.client.goal import GoalFailed
    from linkwork.client.injector import InjectionRefused
    from linkwork.launch.daemons import RigFailed
    from linkwork.launch.group import GroupFailed
    from linkwork.machine.problems import MachineError

    match error:
        case MachineError():
            problems = [vars(problem) for problem in error.problems]
            return USAGE, {"name": "INVALID_FILE", "message": str(error), "problems": problems}
        case GoalFailed():
            return GOAL_FAILED, {**error.result, "message": f"{error.name}: {error.result['text']}"}
        case InjectionRefused():
            status = USAGE if error.code.name == "INVALID" else REFUSED
            problems = [problem.model_dump(exclude={"type"}) for problem in error.problems]
            return status, {"name": error.code.name, "message": str(error), "problems": problems}
        case RigFailed():
            return NOBODY_THERE, {"name": "NOT_STARTED", "message": str(error)}
        case GroupFailed():
            return error.status, {"name": "NOT_STARTED", "message": str(error), "said": list(error.said)}
    raise error
