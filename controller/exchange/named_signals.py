"""Names in requests: of signals, and of the quantities that conditions compare."""

from collections.abc import Sequence
from typing import Any

from linkwork.controller.exchange.records import RecordLayout
from linkwork.machine import Machine
from linkwork.machine.alias_text import with_own_names
from linkwork.machine.nearest_name import no_such, suggested
from linkwork.machine.sections.signal_section import Signal, SignalValueError
from linkwork.multibody.expressions import ExpressionError
from linkwork.multibody.expressions.conditions import Condition, parse_condition
from linkwork.protocol.codes import RequestCode
from linkwork.protocol.errors import RequestError, spelled

Where = Sequence[str | int]
_OWN_NAMES = (("input", "input"), ("output", "output"), ("coordinate", "coordinate"))
_WITH_SUFFIX = (("q", "position", "position"), ("v", "joint", "velocity"), ("effort", "motor", "effort"))
_FORCES = (("force", "force"), ("force_measured", "component"))
_WHOLE = "tick"
"""The quantity that is an integer in the record."""


def output_value(machine: Machine, name: str, value: Any, where: Where) -> tuple[int, float]:
    """Return number and value of an output signal. Raises RequestError naming the field at `where`."""
    signal = output_named(machine, name, where)
    try:
        return machine.outputs.index(signal), signal.read(value)
    except SignalValueError as error:
        text = f"{spelled(where)}: {error.found} is no value of this signal; allowed: {error.allowed}"
        allowed = {"allowed": error.allowed}
        raise RequestError(RequestCode.INVALID_PARAMS, text, where, allowed) from None


def output_named(machine: Machine, name: str, where: Where) -> Signal:
    """Return the output of this name. Raises RequestError naming the field at `where`."""
    for signal in machine.outputs:
        if signal.name == name:
            return signal
    what = "an input is set by the device" if any(name == each.name for each in machine.inputs) else ""
    raise _refusal(name, [signal.name for signal in machine.outputs], "outputs", what, where)


def digital_input(machine: Machine, name: str, where: Where) -> Signal:
    """Return the digital input of this name. Raises RequestError naming the field at `where`."""
    known = [signal for signal in machine.inputs if signal.is_digital]
    for signal in known:
        if signal.name == name:
            return signal
    others = {signal.name: signal for signal in machine.signals}
    what = ""
    if name in others:
        what = "an analog signal has no edges" if others[name].is_input else "this signal is an output"
    raise _refusal(name, [signal.name for signal in known], "digital inputs", what, where)


def _refusal(name: str, known: list[str], kind: str, what: str, where: Where) -> RequestError:
    if not known and not what:
        kind_text = kind.replace("outputs", "output signals")
        text = f"{spelled(where)}: this machine has no {kind_text}; add them to `signals` in its file"
        return RequestError(RequestCode.UNSUPPORTED, text, where)
    what = what or "there is no such signal" + suggested(name, known)
    text = f"{spelled(where)}: {what}; {kind} are {', '.join(known) or 'none'}"
    return RequestError(RequestCode.INVALID_PARAMS, text, where, {"allowed": known})


def read_condition(machine: Machine, layout: RecordLayout, text: str, where: Where) -> Condition:
    """Parse a condition, which may have aliases, and POINT.x, .y, .z for the task coordinate of this place.

    Raises RequestError with the field and the position of the error in the text.
    """
    places = quantities(layout)
    spoken = {f"{each.of}.{each.kind}": each.name for each in machine.mechanism.coordinates}
    own_names = {name: meant for name, meant in spoken.items() if name not in places} | dict(machine.aliases)
    switches = [signal.name for signal in machine.signals if signal.is_digital]
    field = spelled(where)
    try:
        condition = parse_condition(with_own_names(text, own_names), switches)
    except ExpressionError as error:
        raise RequestError(RequestCode.INVALID_PARAMS, f"{field}: {error}", where) from None
    for name in condition.names:
        if name not in places:
            wrong = f"{field}: {no_such('quantity', name, places)}"
            raise RequestError(RequestCode.INVALID_PARAMS, wrong, where, {"allowed": list(places)})
    return condition


def quantities(layout: RecordLayout) -> dict[str, tuple[int, bool]]:
    """Names that a condition may use, each with its word in a record, and whether that is an integer."""
    found = {name: (layout.offsets[name], name == _WHOLE) for name in ("time_s", _WHOLE)}
    for channel, per in _OWN_NAMES:
        found |= _words(layout, channel, per)
    for channel, per, suffix in _WITH_SUFFIX:
        words = _words(layout, channel, per)
        found |= {f"{name}.{suffix}": word for name, word in words.items()}
    for channel, per in _FORCES:
        found |= {name: word for name, word in _words(layout, channel, per).items() if name not in found}
    return found


def _words(layout: RecordLayout, channel: str, per: str) -> dict[str, tuple[int, bool]]:
    return {name: (layout.offsets[channel] + at, False) for at, name in enumerate(layout.names[per])}
