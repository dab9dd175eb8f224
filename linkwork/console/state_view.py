"""The view of the state: values, goal, faults, timing, lease, link and log."""

from __future__ import annotations

from collections.abc import Mapping
from html import escape
from typing import Any

from nicegui import ui

from linkwork.console.machine_feed import Known
from linkwork.console.page_parts import PageActions, Rows, card
from linkwork.console.state_words import clearing, fault_lines, shown

_MOST_ROWS = 40


class StateView:
    """Cards that follow `Known`."""

    def __init__(self, actions: PageActions) -> None:
        self._actions = actions
        self._fault_shown: Any = object()
        self._faults = ui.element("div").style("width: 100%")
        with card("Values"):
            self._values = ui.html("", sanitize=False).classes("table-wrap")
        with card("Goal") as self._goal_card:
            self._goal_text = ui.label()
            self._bar = ui.linear_progress(0.0, show_value=False).props('aria-label="Progress of the goal"')
        with card("Timing and connection"):
            self._timing = Rows()

    def refresh(self, known: Known) -> None:
        """Show the latest answers."""
        self._show_faults(known)
        state, status = known.state, known.status
        if state is not None and known.content is not None:
            self._values.set_content(_table(known.content.described, state))
        self._show_goal(state)
        self._timing.show({} if status is None else timing_rows(status, known))

    def _show_goal(self, state: Mapping[str, Any] | None) -> None:
        goal = None if state is None else state["goal"]
        results = [] if state is None else state["results"]
        self._bar.set_visibility(goal is not None)
        if goal is not None:
            self._bar.set_value(round(goal["fraction"], 3))
            self._goal_text.set_text(
                f"goal {goal['goal']} {goal['status']}: {goal['path_s']:.2f} of {goal['duration_s']:.2f} s"
            )
        elif results:
            last = results[-1]
            why = f": {last['text']}" if last["text"] else ""
            self._goal_text.set_text(f"no goal; goal {last['goal']} ended {last['name']}{why}")
        else:
            self._goal_text.set_text("no goal")

    def _show_faults(self, known: Known) -> None:
        state = known.state
        latched = None if state is None else state["fault"]
        way_out = clearing(state)
        key = (latched, way_out, [fault["tick"] for fault in known.faults])
        if key == self._fault_shown:
            return
        self._fault_shown = key
        self._faults.clear()
        with self._faults:
            if way_out is not None:
                title = "Emergency stop" if latched is None else f"Fault: {latched['name']}"
                with card(title, "fault-card") as made:
                    made.props("role=alert")
                    if latched is not None:
                        Rows().show(dict(fault_lines(latched)))
                    ui.button(way_out, on_click=lambda: self._actions.effect(way_out)).props(
                        "no-caps outline"
                    ).style("align-self: start")
            elif known.faults:
                with ui.expansion(f"{len(known.faults)} earlier faults").classes("card"):
                    for fault in known.faults:
                        with ui.element("h2"):
                            ui.label(fault["name"])
                        Rows().show(dict(fault_lines(fault)))


def _table(described: Mapping[str, Any], state: Mapping[str, Any]) -> str:
    """Return the table of driven joints and task coordinates; passive joints only where they are few."""
    positions = {**state["q"], **state["coordinates"]}
    units = {each["name"]: each["unit"] for each in described["coordinates"]}
    driven = {motor["name"]: motor["unit"] for motor in described["motors"]}
    kinds = {each["name"]: each["kind"] for each in described["coordinates"]}
    names = [name for name in positions if name in driven or kinds.get(name) == "task"]
    names += [name for name in positions if name not in names and len(positions) <= _MOST_ROWS]
    rows = []
    for name in names:
        unit = units.get(name, "")
        velocity = state["v"].get(name)
        effort = state["effort"].get(name)
        cells = (
            name,
            shown(positions[name], unit),
            "" if velocity is None else shown(velocity, f"{unit}/s"),
            "" if effort is None else f"{effort:.3f} {driven[name]}",
        )
        rows.append("<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in cells) + "</tr>")
    head = "".join(f"<th scope='col'>{text}</th>" for text in ("", "position", "speed", "effort"))
    return f"<table class='values'><thead><tr>{head}</tr></thead><tbody>{''.join(rows)}</tbody></table>"


def timing_rows(status: Mapping[str, Any], known: Known) -> dict[str, str]:
    """Return timing, connection, lease and log as rows."""
    timing, device, lease = status["timing"], status["device"], status["lease"]
    period, latency = timing["period_us"], timing["latency_us"]
    quantiles = "median {p50:.0f} µs, 99 % {p99:.0f} µs, largest {max:.0f} µs"
    return {
        "controller": f"{status['machine']}, pace {status['pace']}, linkwork {status['version']}",
        "period": quantiles.format(**period),
        "latency": quantiles.format(**latency),
        "ticks": f"{timing['ticks']}, missed {timing['missed']}, lost states {timing['lost']}",
        "plant": device["text"] + ("" if device["connected"] else " (not connected)"),
        "link": f"{100.0 * device.get('success_rate', 0.0):.1f} % of the states arrive in time",
        "brake": "on" if device["brake"] else "off",
        "homed": "yes" if device["homed"] else "no: jogging only",
        "lease": "free" if lease["owner"] is None else f"{lease['owner']}, {lease['left_s']:.1f} s left",
        "law": status["law"],
        "log": status["log"] or status["log_problem"] or "none",
        "real time": status["real_time"],
        "faults": str(len(known.faults)),
    }
