"""Keep the estimated temperatures of motors over the end of the loop, and of the gateway.

The loop estimates them. The gateway writes the newest estimate to a small file, at most every ten seconds and
when it ends, and gives it to a loop that it starts, cooled down by the time that has passed. In lockstep,
where time is simulated, there is no file: equal sessions give equal logs.
"""

import json
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from linkwork.controller.exchange.orders import MOST_PAIRS, SetTemperatures
from linkwork.machine import Machine
from linkwork.machine.motor_heat import ThermalModel, warm
from linkwork.timing.clock import Clock

WRITE_EVERY_NS = 10_000_000_000
WORTH_WRITING_K = 0.2
"""Change of a temperature for which the file is written again."""


class KeptTemperatures:
    """The newest estimate of the motors with a thermal model, of one machine.

    path: the file; None: kept in memory only. `problem`: why it cannot be written, or empty.
    """

    def __init__(self, machine: Machine, path: Path | None, clock: Clock) -> None:
        self._model, self._clock, self._path = ThermalModel(machine.motors), clock, path
        self._motors = len(machine.motors)
        self._names = [machine.motors[at].joint for at in self._model.motor]
        self._since_ns: int | None = None
        """When the estimate was made, in Unix time; None without one."""
        self._written_ns = 0
        self._written = np.full(len(self._names), -math.inf)
        self.problem = ""
        self._awaited = 0
        """Orders that have not taken effect yet: until then records do not continue the estimate."""

    def note(self, record: np.void) -> None:
        """Take the estimate of a record; write the file when it is due."""
        now_ns = self._clock.unix_ns()
        if not self._awaited and abs(now_ns - self._written_ns) >= WRITE_EVERY_NS:
            self._take(record, now_ns)
            if np.abs(self._model.winding - self._written).max() >= WORTH_WRITING_K:
                self.write()

    def keep(self, record: np.void | None) -> None:
        """Take the last estimate of a loop that has ended, and write the file."""
        if record is not None and not self._awaited:
            self._take(record, self._clock.unix_ns())
            self.write()

    def begin(self) -> tuple[list[SetTemperatures], str]:
        """Return the orders by which a new loop continues the estimate, and that as text.

        Call `continued` when one of them has taken effect.
        """
        orders, text = self._continuation()
        self._awaited = len(orders)
        return orders, text

    def continued(self, _: object = None) -> None:
        """Note that the loop has carried out one of the orders."""
        self._awaited -= 1

    def _continuation(self) -> tuple[list[SetTemperatures], str]:
        unknown = "no earlier estimate of the motors' temperatures: ambient temperature is assumed"
        if self._since_ns is None:
            try:
                self._read()
            except FileNotFoundError:
                return [], unknown
            except (OSError, ValueError, TypeError, KeyError) as error:
                text = f"{self._path} is no estimate of this machine's temperatures ({error})"
                return [], f"{text}: ambient temperature is assumed"
        if self._since_ns is None:
            return [], unknown
        now_ns = self._clock.unix_ns()
        passed_s = max(1e-9 * (now_ns - self._since_ns), 0.0)
        self._since_ns = now_ns
        warm(self._model, np.zeros(self._motors), passed_s)
        told = zip(self._names, self._model.winding.tolist(), strict=True)
        words = ", ".join(f"{name} {hot:.1f} °C" for name, hot in told)
        text = f"the motors' temperatures continue from an estimate {passed_s:.0f} s ago: {words}"
        return list(self._orders()), text

    def _orders(self) -> Iterator[SetTemperatures]:
        told = zip(self._model.winding.tolist(), self._model.body.tolist(), strict=True)
        pairs = [pair for i, (hot, body) in enumerate(told) for pair in ((2 * i, hot), (2 * i + 1, body))]
        for first in range(0, len(pairs), MOST_PAIRS):
            yield SetTemperatures(tuple(pairs[first : first + MOST_PAIRS]))

    def _take(self, record: np.void, now_ns: int) -> None:
        told = zip(record["winding_temperature"].tolist(), record["body_temperature"].tolist(), strict=True)
        for i, (hot, body) in enumerate(told):
            self._model.set(i, hot, body)
        self._since_ns = now_ns

    def _read(self) -> None:
        if self._path is None:
            return
        content: Any = json.loads(self._path.read_text())
        motors = content["motors"]
        for i, name in enumerate(self._names):
            hot, body = (float(motors[name][part]) for part in ("winding_degC", "body_degC"))
            if not (math.isfinite(hot) and math.isfinite(body)):
                raise ValueError(f"{name}: {hot} °C, {body} °C")
            self._model.set(i, hot, body)
        self._since_ns = int(content["unix_ns"])

    def write(self) -> None:
        """Write the file, whole or not at all."""
        if self._path is None or self._since_ns is None:
            return
        told = zip(self._names, self._model.winding.tolist(), self._model.body.tolist(), strict=True)
        motors = {name: {"winding_degC": hot, "body_degC": body} for name, hot, body in told}
        self._written_ns, self._written = self._since_ns, self._model.winding.copy()
        new = self._path.with_suffix(".new")
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            new.write_text(json.dumps({"unix_ns": self._since_ns, "motors": motors}))
            new.replace(self._path)
            self.problem = ""
        except OSError as error:
            self.problem = f"the motors' temperatures cannot be kept in {self._path}: {error.strerror}"
