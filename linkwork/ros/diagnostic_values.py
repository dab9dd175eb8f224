"""State and status of a machine as the entries of diagnostic_msgs/DiagnosticArray."""

from collections.abc import Iterator, Mapping
from typing import Any, Final, NamedTuple

from linkwork.protocol.codes import DeviceFault, DeviceStatus

OK, WARN, ERROR, STALE = range(4)
_SUCCESS: Final = 0.99
"""Share of fresh states below which the link to the plant is worth a warning."""
_FAULTS: Final = {int(each): each.name for each in DeviceFault if each != DeviceFault.VENDOR}


class Diagnostic(NamedTuple):
    """One entry: name, values, level (OK, WARN, ERROR, STALE) and message."""

    name: str
    values: Mapping[str, object]
    level: int
    message: str


def diagnostics(state: Mapping[str, Any], status: Mapping[str, Any]) -> Iterator[Diagnostic]:
    """Yield the entries for the controller, the plant, and each motor that the device reports."""
    timing, fault, device, link = status["timing"], state["fault"] or {}, state["device"], status["device"]
    values = {key: state[key] for key in ("state", "law", "pace")} | {
        "lease": state["lease"]["owner"] or "free",
        "ticks": timing["ticks"],
        "missed periods": timing["missed"],
        "lost states": timing["lost"],
        "limited": ", ".join(state["limited"]),
        **{f"fault {key}": value for key, value in fault.items() if key != "text"},
    }
    yield Diagnostic("controller", values, *_worst(
        (fault, ERROR, fault.get("text", "")),
        (state["state"] in ("estop", "unconfigured"), ERROR, state["state"]),
        (state["limited"], WARN, f"limited by {values['limited']}"),
        (status["log_problem"], WARN, f"log: {status['log_problem']}"),
        otherwise=state["state"],
    ))  # fmt: skip
    values = {key: device.get(key) for key in ("connected", "enabled", "sto", "brake", "homed")}
    rate = link.get("success_rate", 1.0)
    yield Diagnostic("plant", values | {"success_rate": rate}, *_worst(
        (not device["connected"], ERROR, device["text"] or "no plant is connected"),
        (device["fault"], ERROR, f"{_fault(device['fault'])}: {device['text']}"),
        (device["sto"], WARN, "safe torque off"),
        (rate < _SUCCESS, WARN, f"{rate:.1%} of the states arrive in time"),
        otherwise=device["text"] or "connected",
    ))  # fmt: skip
    motors, temperatures = device.get("motors") or {}, device.get("temperature") or {}
    for name in dict.fromkeys((*motors, *temperatures)):
        report = motors.get(name, {"status": DeviceStatus.ENABLED, "fault": 0})
        bits = DeviceStatus(report["status"])
        yield Diagnostic(f"motor {name}", {**report, "temperature (°C)": temperatures.get(name)}, *_worst(
            (report["fault"] or bits & DeviceStatus.FAULT, ERROR, _fault(report["fault"])),
            (bits & DeviceStatus.STO, WARN, "safe torque off"),
            otherwise="enabled" if bits & DeviceStatus.ENABLED else "not enabled",
        ))  # fmt: skip


def no_answer(problem: str) -> Iterator[Diagnostic]:
    """Yield the entry for a controller that does not answer."""
    yield Diagnostic("controller", {}, STALE, problem)


def _worst(*causes: tuple[object, int, str], otherwise: str) -> tuple[int, str]:
    """Return level and message of the first cause that holds, or OK and the other message."""
    return next(((level, text) for holds, level, text in causes if holds), (OK, otherwise))


def _fault(number: int) -> str:
    """Return the name of a device's fault; those of a vendor are numbers."""
    return _FAULTS.get(number, f"fault {number} of the vendor")
