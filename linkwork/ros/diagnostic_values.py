"""State and status of a machine as the entries of diagnostic_msgs/DiagnosticArray."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final, NamedTuple

from linkwork.protocol.codes import DeviceFault, DeviceStatus

OK, WARN, ERROR, STALE = range(4)
_SUCCESS: Final = 0.99
"""Share of fresh states below which the link to the plant is worth a warning."""


class Diagnostic(NamedTuple):
    """One entry: name, level (OK, WARN, ERROR, STALE), message and values."""

    name: str
    level: int
    message: str
    values: Mapping[str, object]


def diagnostics(state: Mapping[str, Any], status: Mapping[str, Any]) -> Iterator[Diagnostic]:
    """Yield the entries for the controller, the plant, and each motor that the device reports."""
    yield _controller(state, status)
    yield _plant(state["device"], status["device"])
    device = state["device"]
    motors: Mapping[str, Any] = device.get("motors") or {}
    temperatures: Mapping[str, float] = device.get("temperature") or {}
    for name in dict.fromkeys((*motors, *temperatures)):
        yield _motor(name, motors.get(name, {}), temperatures.get(name))


def no_answer(problem: str) -> Iterator[Diagnostic]:
    """Yield the entry for a controller that does not answer."""
    yield Diagnostic("controller", STALE, problem, {})


def _controller(state: Mapping[str, Any], status: Mapping[str, Any]) -> Diagnostic:
    timing, fault, owner = status["timing"], state["fault"], state["lease"]["owner"]
    values = {
        "state": state["state"],
        "law": state["law"],
        "pace": state["pace"],
        "lease": owner or "free",
        "ticks": timing["ticks"],
        "missed periods": timing["missed"],
        "lost states": timing["lost"],
        "limited": ", ".join(state["limited"]) or "no",
    }
    if fault is not None:
        values |= {key: fault[key] for key in ("name", "where", "value", "limit", "unit", "clears_when")}
        return Diagnostic("controller", ERROR, fault["text"], values)
    if state["state"] in ("estop", "unconfigured"):
        return Diagnostic("controller", ERROR, state["state"], values)
    if state["limited"]:
        return Diagnostic("controller", WARN, f"limited by {values['limited']}", values)
    if status.get("log_problem"):
        return Diagnostic("controller", WARN, f"log: {status['log_problem']}", values)
    return Diagnostic("controller", OK, state["state"], values)


def _plant(device: Mapping[str, Any], link: Mapping[str, Any]) -> Diagnostic:
    values = {key: device.get(key) for key in ("connected", "enabled", "sto", "brake", "homed")}
    values |= {key: link.get(key) for key in ("lost_in_a_row", "success_rate")}
    if not device.get("connected"):
        return Diagnostic("plant", ERROR, device.get("text") or "no plant is connected", values)
    if device.get("fault"):
        return Diagnostic(
            "plant", ERROR, f"{_fault(device['fault'])} {device.get('text', '')}".strip(), values
        )
    if device.get("sto"):
        return Diagnostic("plant", WARN, "safe torque off", values)
    if link.get("success_rate", 1.0) < _SUCCESS:
        return Diagnostic("plant", WARN, f"{link['success_rate']:.1%} of the states arrive in time", values)
    return Diagnostic("plant", OK, device.get("text") or "connected", values)


def _motor(name: str, report: Mapping[str, int], temperature: float | None) -> Diagnostic:
    values: dict[str, object] = {} if temperature is None else {"temperature (°C)": temperature}
    values |= report
    status = DeviceStatus(report.get("status", 0))
    if report.get("fault") or status & DeviceStatus.FAULT:
        return Diagnostic(f"motor {name}", ERROR, _fault(report.get("fault", 0)), values)
    if status & DeviceStatus.STO:
        return Diagnostic(f"motor {name}", WARN, "safe torque off", values)
    return Diagnostic(
        f"motor {name}", OK, "enabled" if status & DeviceStatus.ENABLED else "not enabled", values
    )


def _fault(number: int) -> str:
    """Return the name of a device's fault; those of a vendor are numbers."""
    named = {int(each): each.name for each in DeviceFault if each != DeviceFault.VENDOR}
    return named.get(number, f"fault {number} of the vendor")
