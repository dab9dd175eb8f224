"""The state of a machine in words: what it does, what limits it, what clears a fault."""

import math
from collections.abc import Mapping, Sequence
from typing import Any, Final

from linkwork.display_units import channel_unit, in_display_units, shown_in

_STATES: Final = {
    "unconfigured": "waits for its plant",
    "inactive": "braked; enable it to move it",
    "active": "holds its position",
    "stopping": "comes to rest",
    "fault": "braked by a fault",
    "estop": "braked by an emergency stop",
}
_GOALS: Final = {
    "running": "moves along goal {goal}",
    "settling": "settles at the end of goal {goal}",
    "paused": "pauses on the path of goal {goal}",
    "stopping": "comes to rest on the path of goal {goal}",
}
_LIMITED: Final = {
    "effort": "a motor is at its largest effort",
    "effort_rate": "a motor's effort changes at its largest rate",
    "jog_velocity": "the jog is slowed down to the speed limits",
    "jog_position": "the jog has reached a position limit or the edge of the workspace",
    "leverage": "near a pose in which the motors cannot control one motion",
    "path_rate": "the goal is slowed down until the motors can follow it",
    "constraint_force": "the load on a constraint is above its limit",
    "stream": "a stream is held back from its set-points",
    "heat": "a motor is hot: its largest effort is lowered",
}
_STEPS: Final = {
    "inactive": "Enable the machine to move it.",
    "active": "",
    "fault": "Remove the cause of the fault, then recover (view State).",
    "estop": "When it is safe, reset (view State).",
}
_NEAR: Final = 0.999
_BUTTONS: Final = {"fault": "recover", "estop": "reset"}
"""Request that clears a latched state."""


def doing(state: Mapping[str, Any] | None, problem: str) -> str:
    """Return what the machine does, as the end of a sentence; the problem where it is not known."""
    if state is None:
        return problem or "no answer"
    goal = state["goal"]
    if goal is not None and goal["status"] in _GOALS:
        return _GOALS[goal["status"]].format(**goal)
    if state["state"] == "active" and state["stream"] is not None:
        return f"follows set-points ({state['stream']['status']})"
    if state["state"] == "active" and any(abs(rate) > 1e-3 for rate in state["v"].values()):
        return "moves by hand or by a jog"
    return _STATES.get(state["state"], str(state["state"]))


def limited_by(state: Mapping[str, Any] | None, described: Mapping[str, Any] | None = None) -> str:
    """Return what limits the machine now, '' without a limit; with `described`, which motors do."""
    if state is None:
        return ""
    words = [_LIMITED.get(name, name.replace("_", " ")) for name in state["limited"]]
    if "effort" in state["limited"] and described is not None and (motors := _at_limit(state, described)):
        words[state["limited"].index("effort")] = motors
    return "; ".join(words)


def _at_limit(state: Mapping[str, Any], described: Mapping[str, Any]) -> str:
    """Return the motors at their largest effort, with that effort; '' where none is in this very tick."""
    most = {motor["name"]: motor["limits"]["effort"] or math.inf for motor in described["motors"]}
    most |= {name: heat["effort_limit"] for name, heat in state.get("heat", {}).items()}
    found = [
        f"{motor['name']} ({most[motor['name']]:.4g} {motor['unit']})"
        for motor in described["motors"]
        if abs(state["effort"].get(motor["name"], 0.0)) >= _NEAR * most[motor["name"]]
    ]
    return f"largest effort reached: {', '.join(found)}" if found else ""


def next_step(state: Mapping[str, Any] | None, *, has_plant: bool, operates: bool) -> str:
    """Return what to do next, '' where nothing is to be done."""
    if state is None:
        return ""
    if not has_plant:
        return "No plant is connected: start it again. What is shown of the machine was measured before."
    if not operates:
        return "This page observes. Press Operate to move the machine."
    return _STEPS.get(state["state"], "")


def result_words(state: Mapping[str, Any] | None) -> str:
    """Return the goal under way, or how the last one ended; '' before the first."""
    if state is None or (state["goal"] is None and not state["results"]):
        return ""
    if state["goal"] is not None:
        return goal_words(state["goal"])
    last = state["results"][-1]
    return f"goal {last['goal']} ended {last['name']}" + (f": {last['text']}" if last["text"] else "")


def fault_words(state: Mapping[str, Any] | None) -> str:
    """Return the latched fault with place and cause, '' without one."""
    fault = None if state is None else state["fault"]
    if fault is None:
        return ""
    where = f" at {fault['where']}" if fault["where"] else ""
    return f"{fault['name']}{where}: {in_display_units(fault['text'])}"


def goal_words(goal: Mapping[str, Any]) -> str:
    """Return a goal under way with its progress."""
    percent = 100.0 * goal["fraction"]
    return (
        f"goal {goal['goal']} {goal['status']}: {goal['path_s']:.2f} of {goal['duration_s']:.2f} s, "
        f"{percent:.0f} %"
    )


def overrun_words(window: Mapping[str, Any], since_start: Mapping[str, Any]) -> str:
    """Return the causes of overruns with their numbers since the start and in the last ticks."""
    causes = [
        f"{cause.replace('_', ' ')} {count} ({window['overruns'].get(cause, 0)})"
        for cause, count in since_start["overruns"].items()
    ]
    return f"{', '.join(causes)} (in the last {window['ticks']} ticks)" if causes else "none"


def clearing(state: Mapping[str, Any] | None) -> str | None:
    """Return the request that clears the latched state, None where nothing is latched."""
    return None if state is None else _BUTTONS.get(state["state"])


def channel_units(channels: Sequence[str], described: Mapping[str, Any]) -> list[str]:
    """Return the unit of each telemetry channel, '' where it is not known."""
    units = {each["name"]: each["unit"] for each in described["coordinates"]}
    return [channel_unit(*channel.partition("/")[::2], units) for channel in channels]


def fault_lines(fault: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Return the rows of a fault's card: heading and text, without empty ones."""
    factor, unit = shown_in(fault["unit"])
    rows = [
        ("cause", in_display_units(fault["text"])),
        ("where", fault["where"] or ""),
        ("value", "" if fault["value"] is None else f"{fault['value'] * factor:.6g} {unit}"),
        ("limit", "" if fault["limit"] is None else f"{fault['limit'] * factor:.6g} {unit}"),
        ("at", f"{fault['time_s']:.3f} s, tick {fault['tick']}"),
        ("clears when", fault["clears_when"]),
        ("flight record", fault["record"] or ""),
    ]
    return [(heading, text) for heading, text in rows if text]
