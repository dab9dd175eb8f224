"""`linkwork demo`: a machine in motion, its summary, and its trajectories as files for `linkwork send`."""

from collections.abc import Mapping, Sequence
from typing import Any

from rich.console import Console

from linkwork.demos import demo_named
from linkwork.demos.demo import Demo
from linkwork.demos.demo_options import DemoOptions
from linkwork.demos.demo_run import run_demo
from linkwork.reports.quantities import amount
from linkwork.terminal.failures import DONE, GOAL_FAILED, write_texts
from linkwork.terminal.output import console, emit, number, say, table


def demo(options: DemoOptions) -> int:
    """Run `linkwork demo NAME`."""
    shown = demo_named(options.name)
    if options.write is not None:
        files = files_of(options.name, shown, options.seconds, options.speed)
        paths = [str(path) for path in write_texts(options.write, files)]
        if options.as_json:
            emit({"files": paths})
        else:
            say("\n".join(paths))
        return DONE
    summary = run_demo(shown, options, console)
    if options.as_json:
        emit(summary)
    else:
        show_summary(summary, console)
    return DONE if summary["result"] in ("SUCCESSFUL", "CANCELLED") else GOAL_FAILED


_SECTIONS = {
    "following": "follower behind its leader",
    "congruence": "simple and compound wrist: largest differences",
    "handling": "parts picked and placed",
    "fastest": "the same path, uniform and fastest",
    "belt": "parts picked from the belt",
    "bearing": "force of the bearing",
}
"""Figures that some demos have besides the usual ones, and the titles of their tables."""
_UNITS = {"_N_m": "N m", "_m_s": "m/s", "_m": "m", "_rad": "rad", "_s": "s", "_N": "N"}


def show_summary(summary: dict[str, Any], console: Console) -> None:
    """Tables of errors, efforts and timing, and where plot and log are."""
    say(f"{summary['result']}" + (f": {summary['text']}" if summary["text"] else ""))
    if "error_max" in summary:
        units = summary["units"]
        rows = [
            (name, amount(summary["error_rms"][name], units[name]), amount(most, units[name]))
            for name, most in summary["error_max"].items()
        ]
        for key, label, unit in (("tool_error", "tool", "m"), ("force_error", "force, {contact}", "N")):
            if f"{key}_max_{unit}" in summary:
                most, mean = (amount(summary[f"{key}_{kind}_{unit}"], unit) for kind in ("max", "rms"))
                rows.append((label.format(**summary), mean, most))
        console.print(table("tracking error", ("", "rms", "max"), rows))
        efforts = [(name, number(value)) for name, value in summary["peak_effort"].items()]
        console.print(table("peak effort", ("joint", "N m, N"), efforts))
    for name, title in _SECTIONS.items():
        if name in summary:
            section = [row for key, value in summary[name].items() for row in _rows(key, value)]
            console.print(table(title, ("", ""), section))
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


def _rows(key: str, value: Any) -> list[tuple[str, str]]:
    """Return the rows of a figure: its name without the unit, and the value, or range, with the unit."""
    unit = next((name for suffix, name in _UNITS.items() if key.endswith(suffix)), "")
    label = key.removesuffix("_" + unit.replace(" ", "_").replace("/", "_")).replace("_", " ")
    if isinstance(value, Mapping):
        return [(f"{label}, {name}", amount(each, unit)) for name, each in value.items()]
    values = value if isinstance(value, list) else [value]
    return [(label, " to ".join(amount(each, unit) for each in values))]


def files_of(name: str, demo: Demo, seconds: float | None = None, speed: float = 1.0) -> dict[str, str]:
    """Name of the file → its text, for every trajectory that the demo follows, in their order.

    seconds: measured length, s; None: the demo's. speed: share of the demo's.
    """
    found = {} if demo.beside_steps is None else files_of(name, demo.second, seconds, speed)
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
