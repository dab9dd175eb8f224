"""The view of the state: faults, values, goal, timing, lease, link and log."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from nicegui import ui

from linkwork.console.fault_cards import FaultCards
from linkwork.console.machine_feed import Known
from linkwork.console.page_parts import PageActions, Rows, card, html_table
from linkwork.console.state_words import goal_words, overrun_words, shown

_MOST_ROWS = 40


class StateView:
    """Cards that follow `Known`."""

    def __init__(self, actions: PageActions) -> None:
        self._faults = FaultCards(actions)
        with card("Values"):
            self._values = ui.html("", sanitize=False).classes("table-wrap")
        with card("Goal") as self._goal_card:
            self._goal_text = ui.label()
            self._bar = ui.linear_progress(0.0, show_value=False).props('aria-label="Progress of the goal"')
        with card("Timing and connection"):
            self._timing = Rows()

    def refresh(self, known: Known, *, operates: bool) -> None:
        """Show the latest answers; `operates`: whether this page may clear a fault."""
        self._faults.refresh(known, operates=operates)
        state, status = known.state, known.status
        if state is not None and known.content is not None:
            self._values.set_content(values_table(known.content.described, state))
        self._show_goal(state)
        self._timing.show({} if status is None else timing_rows(status))

    def _show_goal(self, state: Mapping[str, Any] | None) -> None:
        goal = None if state is None else state["goal"]
        results = [] if state is None else state["results"]
        self._bar.set_visibility(goal is not None)
        if goal is not None:
            self._bar.set_value(round(goal["fraction"], 3))
            self._goal_text.set_text(goal_words(goal))
        elif results:
            last = results[-1]
            why = f": {last['text']}" if last["text"] else ""
            self._goal_text.set_text(f"no goal; goal {last['goal']} ended {last['name']}{why}")
        else:
            self._goal_text.set_text("no goal")


def values_table(
    described: Mapping[str, Any], state: Mapping[str, Any], beside: Mapping[str, Any] | None = None
) -> str:
    """Return the table of driven joints and task coordinates; passive joints only where they are few.

    beside: the state of a second recording; its positions, and the differences from them, stand in place of
    speeds and efforts.
    """
    positions = {**state["q"], **state["coordinates"]}
    others = {} if beside is None else {**beside["q"], **beside["coordinates"]}
    units = {each["name"]: each["unit"] for each in described["coordinates"]}
    driven = {motor["name"]: motor["unit"] for motor in described["motors"]}
    kinds = {each["name"]: each["kind"] for each in described["coordinates"]}
    names = [name for name in positions if name in driven or kinds.get(name) == "task"]
    names += [name for name in positions if name not in names and len(positions) <= _MOST_ROWS]
    rows = []
    for name in names:
        unit = units.get(name, "")
        cells = [name, shown(positions[name], unit)]
        if beside is None:
            velocity, effort = state["v"].get(name), state["effort"].get(name)
            cells += [
                "" if velocity is None else shown(velocity, f"{unit}/s"),
                "" if effort is None else f"{effort + 0.0:.3f} {driven[name]}",
            ]
        else:
            other = others.get(name)
            cells += ["", ""] if other is None else [shown(other, unit), shown(positions[name] - other, unit)]
        rows.append(cells)
    more = ("speed", "effort") if beside is None else ("beside", "difference")
    return html_table(("", "position", *more), rows)


def timing_rows(status: Mapping[str, Any]) -> dict[str, str]:
    """Return timing, connection, lease and log as rows."""
    timing, device, lease = status["timing"], status["device"], status["lease"]
    period, latency = timing["period_us"], timing["latency_us"]
    quantiles = "median {p50:.0f} µs, 99 % {p99:.0f} µs, largest {max:.0f} µs"
    return {
        "controller": f"{status['machine']}, pace {status['pace']}, linkwork {status['version']}",
        "period": quantiles.format(**period),
        "latency": quantiles.format(**latency),
        "ticks": f"{timing['ticks']}, missed {timing['missed']}, lost states {timing['lost']}",
        "overruns": overrun_words(timing["window"], timing["since_start"]),
        "plant": device["text"] + ("" if device["connected"] else " (not connected)"),
        "link": f"{100.0 * device.get('success_rate', 0.0):.1f} % of the states arrive in time",
        "brake": "on" if device["brake"] else "off",
        "homed": "yes" if device["homed"] else "no: jogging only",
        "lease": "free" if lease["owner"] is None else f"{lease['owner']}, {lease['left_s']:.1f} s left",
        "law": status["law"],
        "log": status["log"] or status["log_problem"] or "none",
        "real time": status["real_time"],
        "faults": str(status["faults"]),
    }
