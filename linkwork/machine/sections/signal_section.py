"""The section `signals`: digital and analog inputs and outputs beside the motors and sensors."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Annotated, Any, Literal

from pydantic import PlainValidator, WithJsonSchema, model_validator

from linkwork.machine.problems import shown
from linkwork.machine.sections.fields import Alias, Number, Range, Section, alias, entry, wrong
from linkwork.machine.signal_values import KEEP, Signal, SignalValueError

_REACTIONS = ("on_fault", "on_link_loss", "on_disable")


def _plain(value: Any) -> Any:
    if value is None or not isinstance(value, (bool, int, float, str)):
        raise wrong("this has the wrong type", shown(value), "on, off, a number, or keep")
    return value


SignalValue = Annotated[
    Any,
    PlainValidator(_plain),
    WithJsonSchema({"anyOf": [{"type": "boolean"}, {"type": "number"}, {"enum": ["on", "off", KEEP]}]}),
]
"""A value of a signal: on or off, or a number in the signal's unit."""


class SignalSpec(Section):
    """One signal: a valve, a lamp, a light barrier, the pressure of a gripper."""

    type: Literal["digital", "analog"] = entry("digital: on or off; analog: a number")
    direction: Literal["input", "output"] = entry(
        "output: the controller sets it; input: the device reports it"
    )
    about: str = entry("Description of the signal", default="")
    alias: Alias | None = alias()
    unit: str = entry("Unit of an analog signal, for people", default="", max_length=20)
    range: Range | None = entry(
        "Smallest and largest value of an analog signal. It must be given", default=None
    )
    initial: SignalValue = entry(
        "Value before the first one is set or reported. Default: off; of an analog signal 0, or the end of "
        "the range nearest to it",
        default=None,
    )
    on_fault: SignalValue = entry(
        "Value of an output from the tick of a fault or an emergency stop on; keep: it stays", default=KEEP
    )
    on_link_loss: SignalValue = entry(
        "Value of an output from the moment the plant's watchdog misses the controller; keep: it stays",
        default=KEEP,
    )
    on_disable: SignalValue = entry(
        "Value of an output once `disable` has braked the machine; keep: it stays", default=KEEP
    )

    simulated: str = entry(
        "How a simulated plant gives an input: a condition of a digital one, an expression of an analog one, "
        "over coordinates, JOINT.position, JOINT.velocity, POINT.x, .y, .z, signals and time_s. Default: its "
        "initial value",
        default="",
        max_length=1000,
    )
    noise: Number = entry(
        "Standard deviation of the noise of a simulated analog input, in its unit", default=0.0, ge=0
    )
    resolution: Number = entry(
        "Step to which a simulated analog input is rounded, after its noise, in its unit; 0: none",
        default=0.0,
        ge=0,
    )
    delay_s: Number = entry("Delay of a simulated input", "s", 0.0, ge=0, le=100)

    @model_validator(mode="after")
    def _fits(self) -> SignalSpec:
        if self.type == "digital":
            for key in ("unit", "range"):
                if getattr(self, key):
                    raise wrong("a digital signal is on or off", key, remedy=f"remove {key}", at=(key,))
        elif self.range is None:
            raise wrong("an analog signal needs its range", "nothing", "range: [LOW, HIGH]", "add range")
        elif not self.range[0] < self.range[1]:
            raise wrong("the range is empty", shown(self.range), "[LOW, HIGH] with LOW < HIGH", at=("range",))
        if self.direction == "output" and self.simulated:
            remedy = "remove simulated"
            raise wrong("the controller sets an output", "simulated", remedy=remedy, at=("simulated",))
        for key in ("noise", "resolution", "delay_s"):
            if getattr(self, key) and not self.simulated:
                message = f"{key} belongs to a simulated input"
                raise wrong(message, key, remedy=f"remove {key}, or give simulated", at=(key,))
        for key in ("noise", "resolution"):
            if getattr(self, key) and self.type == "digital":
                raise wrong("a digital signal is on or off", key, remedy=f"remove {key}", at=(key,))
        if self.direction == "input":
            for key in _REACTIONS:
                if getattr(self, key) != KEEP:
                    message = "an input has no reactions: the device decides its value"
                    raise wrong(message, key, remedy=f"remove {key}", at=(key,))
        self.make("")
        return self

    def make(self, name: str) -> Signal:
        """Return the signal under its name. Raises PydanticCustomError for a value that it cannot have."""
        low, high = self.range or (0.0, 1.0)
        digital = self.type == "digital"
        bare = Signal(name, self.direction == "input", digital, self.unit, low, high)
        initial = min(max(0.0, low), high) if self.initial is None else self._value(bare, "initial")
        reactions = {key: self._value(bare, key) for key in _REACTIONS}
        how = {key: getattr(self, key) for key in ("simulated", "noise", "resolution", "delay_s")}
        return replace(bare, initial=initial, **reactions, **how)  # type: ignore[arg-type]

    def _value(self, signal: Signal, key: str) -> float:
        value = getattr(self, key)
        if value == KEEP and key != "initial":
            return math.nan
        try:
            return signal.read(value)
        except SignalValueError as error:
            keep = "" if key == "initial" else ", or keep"
            raise wrong(
                "the signal cannot have this value", shown(value), error.allowed + keep, at=(key,)
            ) from None
