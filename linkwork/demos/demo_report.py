"""A demo for people: its summary, and its trajectories as files for `linkwork send`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from rich.console import Console

from linkwork.demos.demo import Demo
from linkwork.demos.demo_figures import handling_text
from linkwork.recordings.path_plot import amount
from linkwork.terminal.output import number, say, table


def show_summary(summary: dict[str, Any], console: Console) -> None:
    """Tables of errors, efforts and timing, and where plot and log are."""
    say(f"{summary['result']}" + (f": {summary['text']}" if summary["text"] else ""))
    if "error_max" in summary:
        units = summary["units"]
        rows = [
            (name, amount(summary["error_rms"][name], units[name]), amount(most, units[name]))
            for name, most in summary["error_max"].items()
        ]
        if "tool_error_max_m" in summary:
            most, mean = (amount(summary[f"tool_error_{kind}_m"], "m") for kind in ("max", "rms"))
            rows.append(("tool", mean, most))
        if "force_error_rms_N" in summary:
            most, mean = (amount(summary[f"force_error_{kind}_N"], "N") for kind in ("max", "rms"))
            rows.append((f"force, {summary['contact']}", mean, most))
        console.print(table("tracking error", ("", "rms", "max"), rows))
        efforts = [(name, number(value)) for name, value in summary["peak_effort"].items()]
        console.print(table("peak effort", ("joint", "N m, N"), efforts))
    if "following" in summary:
        console.print(_following(summary["following"]))
    if "congruence" in summary:
        console.print(_congruence(summary["congruence"]))
    if "handling" in summary:
        console.print(_handling(summary["handling"]))
    if "belt" in summary:
        console.print(_belt(summary["belt"]))
    if "ticks" in summary:
        timing = [
            (name, *(f"{summary[key][part]:.1f}" for part in ("p50", "p99", "max")))
            for name, key in (("period", "period_us"), ("latency", "latency_us"))
        ]
        title = f"{summary['ticks']} ticks, {summary['missed_ticks']} missed, {summary['mode']}"
        console.print(table(title, ("µs", "p50", "p99", "max"), timing))
    for name in ("plot", "log", "leader_log"):
        if summary.get(name):
            say(f"{name}: {summary[name]}")


def _following(found: dict[str, Any]) -> Any:
    """Return distance and delay of the follower behind its leader (leader_follower)."""
    off = [amount(found[f"error_{kind}_m"], "m") for kind in ("rms", "max")]
    at_once = [amount(found[f"error_at_once_{kind}_m"], "m") for kind in ("rms", "max")]
    title = (
        f"follower behind its leader: {1e3 * found['delay_s']:.1f} ms,"
        f" of which the playback {1e3 * found['playback_delay_s']:.1f} ms"
    )
    rows = [("after that delay", *off), ("at the same moment", *at_once)]
    return table(title, ("distance", "rms", "max"), rows)


def _handling(found: dict[str, Any]) -> Any:
    """Return the place error of each part, misses and cycle time (pick_and_place)."""
    rows = [(name, amount(error, "m")) for name, error in found["place_error_m"].items()]
    return table(handling_text(found), ("part", "place error"), rows)


def _belt(found: dict[str, Any]) -> Any:
    """Return the place error over all parts, those that passed, and the speeds of the belt (delta_belt)."""
    errors = [amount(found[f"place_error_{kind}_m"], "m") for kind in ("rms", "max")]
    low, high = found["belt_speed_m_s"]
    title = f"{handling_text(found)}; {found['passed_by']} passed by; belt {low:.2f} to {high:.2f} m/s"
    return table(title, ("", "rms", "max"), [("place error", *errors)])


def _congruence(found: dict[str, Any]) -> Any:
    """Return the difference of the simple wrist from the compound one, in motion and efforts (arm_6dof)."""
    off, most = amount(found["effort_difference_max_N_m"], "N m"), found["effort_max_N_m"]
    rows = [
        ("tool, position", amount(found["place_difference_max_m"], "m")),
        ("tool, orientation", amount(found["angle_difference_max_rad"], "rad")),
        ("efforts, T' f (simple) - f (compound)", f"{off} of {most:.1f} N m"),
    ]
    return table(f"simple and compound wrist, {found['ticks']} ticks", ("", "largest difference"), rows)


def files_of(name: str, demo: Demo, seconds: float | None = None, speed: float = 1.0) -> dict[str, str]:
    """Name of the file → its text, for every trajectory that the demo follows, in their order.

    seconds: measured length, s; None: the demo's. speed: share of the demo's.
    """
    found: dict[str, str] = {}
    lead: list[str] = []
    for step in demo.steps(demo.seconds if seconds is None else seconds, speed):
        if step.trajectory is None:
            lead += [step.command] if step.command else []
            continue
        file = f"{name}_{step.text.replace(' ', '_')}.yaml"
        head = [f"# {demo.machine}: {step.text}, as `linkwork demo {name}` follows it. From where it starts:"]
        head += [f"#   {command}" for command in (*lead, f"linkwork send {file}")]
        found[file] = "\n".join([*head, *lines_of(step.trajectory)]) + "\n"
        lead = []
    return found


def write_files(folder: Path, texts: Mapping[str, str]) -> list[Path]:
    """Write them there; the folder is made where there is none."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in texts.items():
        (folder / name).write_text(text, encoding="utf-8")
    return [folder / name for name in texts]


def lines_of(trajectory: Mapping[str, Any]) -> list[str]:
    """A trajectory as YAML: one line a key, one a way-point."""
    lines: list[str] = []
    for key, value in trajectory.items():
        if key == "points":
            lines += ["points:", *(f"  - {_flow(point)}" for point in value)]
        else:
            lines.append(f"{key}: {_flow(value)}")
    return lines


def _flow(value: Any) -> str:
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{key}: {_flow(each)}" for key, each in value.items()) + "}"
    if isinstance(value, Sequence) and not isinstance(value, str):
        return "[" + ", ".join(_flow(each) for each in value) + "]"
    if not isinstance(value, int | float):
        return str(value)
    rounded = float(f"{round(value, 9):.10g}")
    return f"{0.0 if rounded == 0.0 else rounded:g}" if abs(rounded) < 1e-4 else f"{rounded:.10g}"
