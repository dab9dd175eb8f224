"""Detection of an injected fault: code, delay, and reaction of the machine."""

from typing import Any

from linkwork.controller.exchange.faults import FAULTS, FaultCode
from linkwork.controller.supervision.state_machine import State
from linkwork.machine.nearest_name import no_such
from linkwork.rig.collected import FaultSeen
from linkwork.rig.happened import VIOLATIONS, Happened

_QUIET = ("name", "state", "applied", "text", "time_s", "braked_after_ticks")
"""Keys of an injected fault that a message leaves out."""


class FaultDetection:
    """Codes of which one is expected after the newest injected fault of a record began.

    Raises KeyError for a code that does not exist.
    """

    def __init__(self, record: Happened, names: tuple[str, ...]) -> None:
        known = [*(code.name for code in FaultCode if code), *VIOLATIONS]
        for name in names:
            if name not in known:
                raise KeyError(no_such("fault", name, known))
        self._record, self._names = record, names

    def within(self, ticks: int | None = None, *, seconds: float | None = None) -> FaultSeen:
        """Raise AssertionError, saying what happened instead, unless the fault was latched so soon.

        Counted from the beginning of the newest injected fault: a fault that is found in the very tick that
        reads the first wrong state has a delay of 0 ticks.
        """
        if ticks is None and seconds is None:
            raise TypeError("give ticks or seconds")
        period_s = self._record.period_s
        allowed = ticks if ticks is not None else round((seconds or 0.0) / period_s)
        seen = self._seen(allowed)
        if self._record.findings is not None:
            self._record.findings.faults.append(seen)
        if not seen.holds:
            raise AssertionError(self._instead(seen, allowed))
        return seen

    @property
    def came(self) -> bool:
        """Whether one of the expected codes was latched."""
        watchdog = any(one["braked_after_ticks"] is not None for one in self._record.kills)
        names = [name for _, name in self._record.incidents] + ["DEVICE_WATCHDOG"] * watchdog
        return any(name in self._names for name in names)

    def _begin(self) -> tuple[dict[str, Any], int]:
        """The newest injected fault, and its first device tick."""
        begun = [dict(one) for one in self._record.injected if one.get("applied", True)]
        if not begun:
            raise AssertionError("no fault was injected in this record: there is no instant to count from")
        newest = max(begun, key=lambda one: int(one["from_tick"]))
        return newest, int(newest["from_tick"])

    def _seen(self, allowed: int) -> FaultSeen:
        record = self._record
        injected, begin = self._begin()
        found = [(row, name) for row, name in record.incidents if record.device_tick[row] >= begin]
        braked = injected.get("braked_after_ticks")
        if braked is not None:
            name, delay, reaction = FaultCode.DEVICE_WATCHDOG.name, int(braked), "brake"
            detected_s = injected["time_s"] + delay * record.period_s
        elif found:
            row, name = next((each for each in found if each[1] in self._names), found[0])
            delay = int(record.device_tick[row]) - begin
            reaction, detected_s = (
                State(int(record.table["state"][row])).name.lower(),
                float(record.time_s[row]),
            )
        else:
            return FaultSeen(injected, self._names, None, "", None, None, allowed, "", None, {}, holds=False)
        stopping_s, distance = self._stop(detected_s)
        return FaultSeen(
            injected=injected,
            expected=self._names,
            found=name,
            text=FAULTS[FaultCode[name]].text if name in FaultCode.__members__ else self._result_text(),
            delay_ticks=delay,
            delay_s=delay * record.period_s,
            allowed_ticks=allowed,
            reaction=reaction,
            stopping_s=stopping_s,
            stopping_distance=distance,
            holds=name in self._names and delay <= allowed,
        )

    def _result_text(self) -> str:
        return str(self._record.result["text"]) if self._record.result is not None else ""

    def _stop(self, begin_s: float) -> tuple[float | None, dict[str, float]]:
        """Time to rest and way of each joint from then on; None where the record ends before."""
        record = self._record
        try:
            part = record.until_rest(begin_s)
        except AssertionError:
            return None, {}
        joints = record.machine.mechanism.joint_names
        ways = record.ways(part)
        time_s = record.motion[0][part]
        took = float(time_s[-1] - time_s[0])
        return took, dict(zip(joints, ways.tolist(), strict=True))

    def _instead(self, seen: FaultSeen, allowed: int) -> str:
        wanted = " or ".join(self._names)
        injected = ", ".join(
            f"{key} {value}"
            for key, value in seen.injected.items()
            if value is not None and key not in _QUIET
        )
        asked = f"after {injected}, {wanted} was expected within {allowed} ticks"
        if seen.found is None:
            result = self._record.result
            ended = f"; the goal ended with {result['name']}" if result is not None else ""
            return f"{asked}; no fault was latched in {len(self._record)} ticks{ended}"
        return f"{asked}; {seen.found} ({seen.text}) was latched after {seen.delay_ticks} ticks"
