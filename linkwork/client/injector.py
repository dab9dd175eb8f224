"""Faults put into a running plant: `Injector(endpoint).inject({"sensor": "bias", …})`."""

import time
from collections.abc import Mapping
from typing import Any, Self

from linkwork.protocol.errors import NobodyThere, ProtocolError
from linkwork.protocol.injection import FaultReport, Inject, Injected, InjectRefused, read_answer
from linkwork.protocol.keys import ClientKeys
from linkwork.protocol.sockets import DeviceClient

ALL = "all"


class InjectionRefused(Exception):
    """The plant refused all faults. `refusal` has the reason; its `problems` name the invalid entries."""

    def __init__(self, refusal: InjectRefused) -> None:
        super().__init__(refusal.text)
        self.refusal = refusal
        self.code, self.problems = refusal.code, refusal.problems


class Injector:
    """A connection to a plant's endpoint, beside its controller's. The plant must allow it (`--inject`)."""

    def __init__(self, endpoint: str, keys: ClientKeys | None = None, timeout_s: float = 5.0) -> None:
        self._client = DeviceClient(endpoint, keys)
        self.endpoint, self.timeout_s = endpoint, timeout_s
        self._last_id = 0

    def inject(self, *faults: Mapping[str, Any], seed: int = 0) -> Injected:
        """Inject faults: entries of a time line, as maps. They begin at their given times, or with the next
        tick.

        `Injected.names` are their names, in this order, `Injected.faults` the status of all. Raises
        InjectionRefused, with no fault injected; NobodyThere.
        """
        return self._ask(Inject(id=self._next_id(), seed=seed, faults=[dict(fault) for fault in faults]))

    def clear(self, name: str = ALL) -> Injected:
        """End a fault, or all of them: those that act stop with the next tick, those that wait are gone."""
        return self.inject({"clear": name})

    def history(self) -> Injected:
        """All faults this plant was ever given, what can be done to it (`kinds`), and its present tick."""
        return self._ask(Inject(id=self._next_id()))

    def report(self, name: str) -> FaultReport:
        """The newest fault of this name. Raises LookupError naming those that there are."""
        return newest(self.history().faults, name)

    def close(self) -> None:
        """Close the connection; faults stay."""
        self._client.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _next_id(self) -> int:
        self._last_id += 1
        return self._last_id

    def _ask(self, message: Inject) -> Injected:
        deadline = time.monotonic() + self.timeout_s
        frame = message.pack()
        while not self._client.send(frame):
            if not self._client.writable(_left_ms(deadline)):
                raise NobodyThere(f"no answer from {self.endpoint}: is the plant running there?")
        while True:
            data = self._client.receive(_left_ms(deadline))
            if data is None:
                raise NobodyThere(f"the plant at {self.endpoint} gave no answer within {self.timeout_s:g} s")
            try:
                answer = read_answer(data)
            except ProtocolError:  # a message of a session, which is not ours
                continue
            if answer.id not in (message.id, 0):
                continue
            if isinstance(answer, InjectRefused):
                raise InjectionRefused(answer)
            return answer


def newest(reports: list[FaultReport], name: str) -> FaultReport:
    """The newest report of a name. Raises LookupError naming those that there are."""
    for report in reversed(reports):
        if report.name == name:
            return report
    known = ", ".join(dict.fromkeys(report.name for report in reports)) or "none"
    raise LookupError(f"no fault {name!r} was given; there are {known}")


def _left_ms(deadline: float) -> int:
    return max(0, round(1e3 * (deadline - time.monotonic())))
