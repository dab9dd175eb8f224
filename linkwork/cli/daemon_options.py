"""Options of plant and controller in other commands: `linkwork up`, `linkwork service`."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import Any, Final, get_type_hints

from linkwork.controller.__main__ import PaceChoice, controller
from linkwork.plant.__main__ import plant

_BOTH: Final = ("realtime", "cpu")
_PLANT: Final = ("plant_set", "driver", "driver_set", "seed", "truth", "faults", "inject")
_CONTROLLER: Final = (
    "pace", "lockstep", "law", "log", "no_log", "twin", "telemetry", "endpoint", "keys", "allowed",
)  # fmt: skip


@dataclass(frozen=True)
class DaemonWords:
    """Arguments of the daemons, the machine file first; `given`: the options once, as they were given."""

    plant: list[str]
    controller: list[str]
    given: list[str]


def with_daemon_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options of the daemons to a command.

    The function's first two parameters are the machine file and the `DaemonWords`; the command line gets the
    options in place of the second.
    """
    hints = get_type_hints(function, include_extras=True)
    config, _, *own = inspect.signature(function).parameters.values()
    shared = _options()
    parameters = [each.replace(annotation=hints[each.name]) for each in (config, *own)]
    parameters += [each.replace(kind=inspect.Parameter.KEYWORD_ONLY) for each in shared.values()]

    def command(**given: Any) -> Any:
        options = {name: given.pop(name) for name in shared}
        machine = given.pop(config.name)
        return function(machine, _words(machine, options), **given)

    command.__name__, command.__doc__ = function.__name__, function.__doc__
    command.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    command.__annotations__ = {each.name: each.annotation for each in parameters}
    return command


def _options() -> dict[str, inspect.Parameter]:
    found: dict[str, inspect.Parameter] = {}
    for daemon, names in ((controller, (*_BOTH, *_CONTROLLER)), (plant, _PLANT)):
        hints = get_type_hints(daemon, include_extras=True)
        parameters = inspect.signature(daemon).parameters
        found |= {name: parameters[name].replace(annotation=hints[name]) for name in names}
    return found


def _words(machine: str, options: dict[str, Any]) -> DaemonWords:
    if options["lockstep"]:  # the plant knows it by its other name
        options = {**options, "lockstep": False, "pace": PaceChoice.LOCKSTEP}
    defaults = {name: parameter.default for name, parameter in _options().items()}
    words = {name: _as_words(name, value) for name, value in options.items() if value != defaults[name]}

    def chosen(names: Sequence[str]) -> list[str]:
        return [machine, *(word for name in names for word in words.get(name, ()))]

    return DaemonWords(
        chosen((*_BOTH, "pace", *_PLANT)),
        chosen((*_BOTH, *_CONTROLLER)),
        chosen((*_BOTH, *_CONTROLLER, *_PLANT)),
    )


def _as_words(name: str, value: Any) -> list[str]:
    flag = "--" + name.replace("_", "-")
    if value is True:
        return [flag]
    if isinstance(value, list):
        return [word for each in value for word in (flag, each)]
    if isinstance(value, Enum):
        return [flag, str(value.value)]
    return [flag, str(value.absolute() if isinstance(value, Path) else value)]
