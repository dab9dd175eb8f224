"""A demo's trajectories as files for `linkwork send`, each with the commands that lead to its beginning."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from linkwork.demos.demo import Demo


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
