"""Every figure that has a peer, beside its peers, in one run.

    python -m benchmarks [NAME ...] [--list] [--quick] [--processes 3] [--json FILE] [--write-docs]

Each benchmark runs several times, each time in a fresh process, in turns with the others. A figure is the
median over these processes; its spread is the smallest and the largest ratio. The yardstick, a fixed piece of
Python and numpy, is timed before each process: it shows how steady the computer was. A benchmark whose peer
is not installed is left out, with the reason; `pip install linkwork[bench]` installs the peers.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from platform import python_version
from statistics import median
from typing import Any

import numpy as np
from rich import box
from rich.console import Console
from rich.table import Table

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "benchmarks.md"
LEAST_WIDTH = 110
"""Characters of a line in the terminal."""
PACKAGES = ("linkwork", "numpy", "pin", "mujoco", "casadi", "exudyn", "drake")


@dataclass(frozen=True)
class Figure:
    """One quantity of linkwork and of a peer, in `unit`; ratio: linkwork ÷ peer, as the benchmark pairs them.

    low, high: smallest and largest ratio of the processes. error, peer_error: as `error_of` says, None where
    nothing is approximated.
    """

    name: str
    machine: str
    quantity: str
    unit: str
    linkwork: float
    peer: str
    peer_value: float
    ratio: float
    error_of: str = ""
    error: float | None = None
    peer_error: float | None = None
    low: float = 0.0
    high: float = 0.0


@dataclass(frozen=True)
class Gap:
    """A machine that has no figure beside this peer, with the reason."""

    machine: str
    peer: str
    reason: str


@dataclass(frozen=True)
class Comparison:
    """A script of this folder with `--json`, and how its result becomes figures and gaps.

    arguments and quick: of a full and of a short run. remark: what a reader of the table should know.
    most_processes: processes of a long benchmark.
    """

    title: str
    figures: Callable[[Any], Iterator[Figure | Gap]]
    arguments: tuple[str, ...] = ()
    quick: tuple[str, ...] = ()
    remark: str = ""
    most_processes: int = 3


PINOCCHIO = {"pinocchio": "Pinocchio", "lcaba": "Pinocchio, `lcaba`"}


def _kernels(found: Any) -> Iterator[Figure | Gap]:
    for one in found:
        for peer, words in PINOCCHIO.items():
            if peer not in one["peers"]:
                yield Gap(one["machine"], words, "it ends the process")
                continue
            theirs = one["peers"][peer]
            yield Figure(
                "kernels",
                one["machine"],
                "constrained forward dynamics, called from Python",
                "µs",
                one["ours_us"]["median"],
                words,
                theirs["us"]["median"],
                theirs["ratio"]["median"],
                "closure residual of the accelerations",
                one["off"]["ours"],
                one["off"][peer],
            )


def _ladders(found: Any) -> Iterator[Figure]:
    for one in found:
        for peer, words in (*PINOCCHIO.items(), ("mujoco", "MuJoCo (soft)")):
            yield Figure(
                "ladders",
                f"ladder of {one['loops']} loops",
                "constrained forward dynamics, called from Python",
                "µs",
                one["us"]["linkwork"],
                words,
                one["us"][peer],
                one["ratio"][peer][1],
                "closure residual of the accelerations",
                one["off"]["linkwork"],
                one["off"][peer],
            )

    times = {one["loops"]: one["us"]["linkwork"] for one in found}
    if {20, 80} <= times.keys():
        yield Figure(
            "ladders",
            "ladder of 80 loops",
            "constrained forward dynamics, called from Python",
            "µs",
            times[80],
            "linkwork, 20 loops",
            times[20],
            times[80] / times[20],
        )
    for one in found:
        yield Figure(
            "ladders",
            f"ladder of {one['loops']} loops, 1 s of motion",
            "simulation in fourth-order steps of 1 ms on one processor",
            "s",
            one["second_s"],
            "real time",
            1.0,
            one["second_s"],
            "closure residual at the end, m",
            one["open_m"],
        )


def _arrangements(found: Any) -> Iterator[Figure]:
    for one in found:
        yield Figure(
            "arrangements",
            f"{one['arrangement']}, {one['loops']} loops, {one['degrees_of_freedom']} dof",
            "constrained forward dynamics, called from Python",
            "µs",
            one["us"]["linkwork"],
            "Pinocchio",
            one["us"]["pinocchio"],
            one["ratio"][1],
            "difference of the accelerations, relative",
            one["difference"],
        )


def _campaigns(found: Any) -> Iterator[Figure]:
    rates = {name: found[f"{name}_runs_per_s"] for name in ("one", "two", "dask")}
    for name, words, other, than in (
        ("two", "2 workers", "one", "1 worker"),
        ("dask", "2 workers of Dask", "two", "2 workers"),
    ):
        yield Figure(
            "campaigns",
            f"five_bar, {words}",
            "runs of a campaign",
            "1/s",
            rates[name],
            than,
            rates[other],
            rates[name] / rates[other],
        )


def _batch(found: Any) -> Iterator[Figure]:
    seconds, ratio, error = found["seconds"], found["ratio"], found["error_rad"]
    yield Figure(
        "batch",
        "slider_crank",
        "1,000 machines × 1,000 ms on two processors",
        "s",
        seconds["same_error"],
        "MuJoCo (soft)",
        seconds["mujoco"],
        ratio["same_error"][1],
        "median error at the end, rad",
        error["linkwork"],
        error["mujoco"],
    )
    yield Figure(
        "batch",
        "slider_crank, 1,000 parameter sets",
        "1,000 machines × 1,000 ms on two processors",
        "s",
        seconds["parameters"],
        "linkwork, 1 set",
        seconds["same_step"],
        ratio["parameters"][1],
    )


def _tick_cost(found: Any) -> Iterator[Figure]:
    yield Figure(
        "tick_cost",
        found["machine"],
        "step of the controller, in a move back and forth",
        "µs",
        found["tick_us"]["median"],
        "Pinocchio, dynamics alone",
        found["pinocchio_us"]["median"],
        found["ratio"]["median"],
    )


def _lockstep(found: Any) -> Iterator[Figure]:
    rates = found["per_second"]
    for name in ("holding", "following"):
        yield Figure(
            "lockstep",
            f"scara, {name}",
            "ticks in lockstep beside bare ZeroMQ round trips of the same bytes",
            "1/s",
            rates[name]["median"],
            "bare round trips",
            rates["ping_pong"]["median"],
            found[f"{name}_to_ping_pong"]["median"],
        )


def _codegen(found: Any) -> Iterator[Figure]:
    fastest = found["fastest_casadi"]
    yield Figure(
        "codegen",
        found["machine"],
        "generated C for M, h and A",
        "ns",
        found["ours_ns"],
        f"CasADi ({fastest})",
        found[f"casadi_{fastest}_ns"],
        found["ratio"],
    )


def _simulators(found: Any) -> Iterator[Figure | Gap]:
    peers = {"exudyn": "Exudyn", "drake": "Drake (soft)"}
    for one in found:
        peer = one["peer"]
        if "reason" in one:
            yield Gap(one["machine"], peers[peer], one["reason"])
            continue
        yield Figure(
            "simulators",
            one["machine"],
            "0.5 s of motion, each at the step that reaches the error",
            "ms",
            1e3 * one["seconds"]["linkwork"],
            peers[peer],
            1e3 * one["seconds"][peer],
            one["ratio"][1],
            "largest joint angle at the end, rad",
            one["error_rad"]["linkwork"],
            one["error_rad"][peer],
        )


COMPARISONS = {
    "kernels": Comparison(
        "Constrained forward dynamics of the closed machines",
        _kernels,
        ("--rounds", "100"),
        ("--rounds", "30"),
        "Pinocchio: `constraintDynamics`, which iterates where closures are redundant, as in the delta, and\n"
        "`lcaba` after `computeJointMinimalOrdering`, with proximal iterations (mu 1e-4, accuracy 1e-12).",
    ),
    "ladders": Comparison(
        "Constrained forward dynamics of large mechanisms",
        _ladders,
        ("--loops", "10,20,40,80,100"),
        ("--loops", "10,20", "--rounds", "5"),
        "A ladder of N loops has N + 1 rods on the ground and N couplers. Pinocchio: `constraintDynamics`\n"
        "and `lcaba`; MuJoCo: `mj_forward`. A ratio below 1 to real time means a faster simulation.\n"
        "Within its second all loops are flat twice, at branch poses. The few steps there factor all rows\n"
        "in one piece, and take more than half of the time from 80 loops on.",
    ),
    "arrangements": Comparison(
        "Many loops in several arrangements",
        _arrangements,
        ("--sizes", "10,20"),
        ("--sizes", "20", "--rounds", "3"),
        "`row`: four-bars on the ground; `on_a_pendulum`: on one swinging body; `tree`, `tower`: on the\n"
        "bars of other four-bars; `grid`: with shared rods; `ring`: one loop; `platforms`: on three legs;\n"
        "`legs`: one plate on many legs; `beam`: one beam on parallel rods, with redundant rows.",
    ),
    "batch": Comparison(
        "Many machines in one call",
        _batch,
        (),
        ("--rounds", "2"),
        "MuJoCo: `rollout` in steps of 1 ms; linkwork takes the longest step with which its error is at\n"
        "most MuJoCo's. With 1,000 sets of parameters, linkwork takes steps of 1 ms, as beside it.",
    ),
    "simulators": Comparison(
        "Simulated motion at the same error",
        _simulators,
        (),
        ("--rounds", "3"),
        "Each peer takes the longest step with which its error is at most 1e-4 rad, or the step of its\n"
        "least error; linkwork takes the longest step with which its own error is at most the peer's.\n"
        "Exudyn: generalized-alpha, exact closures. Drake: SAP, nearly rigid ball constraints.",
    ),
    "tick_cost": Comparison(
        "A whole tick of the controller",
        _tick_cost,
        (),
        ("--rounds", "15"),
        "Pinocchio: one call of `constraintDynamics`, which is a part of the tick's work.",
    ),
    "lockstep": Comparison(
        "Ticks of the daemons in lockstep",
        _lockstep,
        ("--rounds", "30"),
        ("--rounds", "5"),
        "These are rates: a ratio of 1 would mean a controller and a plant without any cost.",
    ),
    "campaigns": Comparison(
        "Campaigns on several workers",
        _campaigns,
        ("throughput", "--runs", "1000", "--rounds", "1"),
        ("throughput", "--runs", "60", "--rounds", "1"),
        "These are rates: a ratio of 2 would mean that two workers double the throughput. The start of the\n"
        "workers is part of the time.",
        most_processes=1,
    ),
    "codegen": Comparison("Generated C", _codegen, remark="CasADi: C that it generates from the same model."),
}


def yardstick() -> float:
    """Time a fixed piece of work, ms: Python instructions and small matrix products."""
    matrix, total = np.eye(6) + 0.01, 0.0
    began = time.perf_counter()
    for i in range(20_000):
        total += float((matrix @ matrix)[i % 6, 0])
    return 1e3 * (time.perf_counter() - began)


def measure(
    names: Sequence[str], processes: int, *, quick: bool, say: Callable[[str], None]
) -> dict[str, Any]:
    """Run these benchmarks in turns; return `figures`, `yardstick_ms`, `left_out` (name: reason), `how`."""
    runs: dict[str, list[Figure]] = {name: [] for name in names}
    left_out: dict[str, str] = {}
    gaps: dict[tuple[str, str, str], dict[str, None]] = {}
    marks = []
    places = [str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(places)}
    for turn in range(processes):
        for name in names:
            comparison = COMPARISONS[name]
            if name in left_out or turn >= comparison.most_processes:
                continue
            marks.append(yardstick())
            say(f"{name}, process {turn + 1} of {processes}")
            arguments = comparison.quick if quick else comparison.arguments
            run = subprocess.run(
                [sys.executable, str(ROOT / "benchmarks" / f"{name}.py"), *arguments, "--json"],
                cwd=ROOT, env=environment, capture_output=True, text=True, check=False,
            )  # fmt: skip
            try:
                result = json.loads(run.stdout)
            except ValueError:
                left_out[name] = _why(run.stderr) or f"exit status {run.returncode}"
                continue
            for one in comparison.figures(result):
                if isinstance(one, Gap):
                    gaps.setdefault((name, one.peer, one.reason), {})[one.machine] = None
                else:
                    runs[name].append(one)
    for (name, peer, reason), machines in gaps.items():
        left_out[f"{name}, {peer}: {', '.join(machines)}"] = reason
    figures = [figure for name in names for figure in _combined(runs[name])]
    plural = "es" if processes > 1 else ""
    how = f"{'short runs, ' if quick else ''}up to {processes} fresh process{plural} each"
    return {"figures": figures, "yardstick_ms": sorted(marks), "left_out": left_out, "how": how}


def _why(stderr: str) -> str:
    """Return the reason in the last line of a failed benchmark's output, "" where there is none."""
    last = stderr.strip().rpartition("\n")[2]
    missing = re.search(r"No module named '(\w+)", last)
    return f"{missing[1]} is not installed: pip install 'linkwork[bench]'" if missing else last


def _combined(runs: Sequence[Figure]) -> Iterator[Figure]:
    """Yield the medians over the processes of each quantity, machine and peer."""
    alike: dict[tuple[str, str, str], list[Figure]] = {}
    for figure in runs:
        alike.setdefault((figure.quantity, figure.machine, figure.peer), []).append(figure)
    for same in alike.values():
        ratios = [figure.ratio for figure in same]
        yield Figure(
            **{
                **asdict(same[0]),
                "linkwork": median(figure.linkwork for figure in same),
                "peer_value": median(figure.peer_value for figure in same),
                "ratio": median(ratios),
                "low": min(ratios),
                "high": max(ratios),
            }
        )


HEADINGS = ("machine", "peer", "linkwork", "peer's", "ratio", "spread", "error", "peer's error")


def tables(figures: Sequence[Figure]) -> dict[str, list[tuple[str, ...]]]:
    """Return the rows of cells (as `HEADINGS`) of each benchmark, by its name."""
    found: dict[str, list[tuple[str, ...]]] = {}
    for each in figures:
        values = (f"{_short(value)} {each.unit}" for value in (each.linkwork, each.peer_value))
        errors = ("-" if error is None else f"{error:.0e}" for error in (each.error, each.peer_error))
        low, high = _ratio(each.low), _ratio(each.high)
        spread = "-" if low == high else f"{low}-{high}"
        row = (each.machine, each.peer, *values, _ratio(each.ratio), spread, *errors)
        found.setdefault(each.name, []).append(row)
    return found


def caption(figures: Sequence[Figure], name: str) -> str:
    """Return what the figures of a benchmark measure."""
    own = [figure for figure in figures if figure.name == name]
    text = "; ".join(dict.fromkeys(figure.quantity for figure in own))
    text = f"{text[0].upper()}{text[1:]}"
    errors = "; ".join(dict.fromkeys(figure.error_of for figure in own if figure.error_of))
    return f"{text}. Error: {errors}" if errors else text


def _short(value: float) -> str:
    return f"{value:,.0f}" if value >= 100.0 else f"{value:.3g}"


def _ratio(ratio: float) -> str:
    return f"{ratio:.2f}" if ratio >= 0.1 else f"{ratio:.3f}" if ratio >= 1e-3 else "<0.001"


def page(found: dict[str, Any], when: datetime) -> str:
    """Return the page for the documentation."""
    marks, figures = found["yardstick_ms"], found["figures"]
    versions = ", ".join(f"{name} {number}" for name, number in _versions().items())
    yardstick_ms = f"{median(marks):.0f} ms ({marks[0]:.0f} to {marks[-1]:.0f} ms)"
    lines = [
        "# Benchmarks",
        "",
        "linkwork beside other libraries, measured in turns. A ratio is linkwork's value over the peer's.",
        "A value is the median over the processes of a benchmark, a spread their smallest and largest ratio.",
        "Absolute times vary with the computer; ratios vary less.",
        "",
        "Speed counts at the error beside it. A peer marked as soft satisfies closures approximately, which",
        "is less work.",
        "",
        f"Measured on {when:%d %B %Y}, {found['how']}: {os.cpu_count()} processors,",
        f"Python {python_version()}, {versions}.",
        f"The yardstick, a fixed piece of Python and numpy, takes {yardstick_ms}.",
        "`python -m benchmarks --write-docs` measures all of it again and writes this page.",
    ]
    for name, cells in tables(figures).items():
        lines += ["", f"## {COMPARISONS[name].title}", "", f"{caption(figures, name)}.", ""]
        lines += [f"{COMPARISONS[name].remark}", ""] if COMPARISONS[name].remark else []
        lines += [f"| {' | '.join(HEADINGS)} |", f"| {' | '.join('---' for _ in HEADINGS)} |"]
        lines += [f"| {' | '.join(row)} |" for row in cells]
    if found["left_out"]:
        lines += ["", "## Left out", ""]
        lines += [f"- {what}: {reason}" for what, reason in found["left_out"].items()]
    return "\n".join(lines) + "\n"


def _versions() -> dict[str, str]:
    found = {}
    for name in PACKAGES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found


def _show(found: dict[str, Any], console: Console) -> None:
    marks, figures = found["yardstick_ms"], found["figures"]
    for name, cells in tables(figures).items():
        title = f"{name}: {caption(figures, name)}"
        table = Table(title=title, title_justify="left", box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0))
        for heading in HEADINGS:
            table.add_column(heading, no_wrap=True)
        for row in cells:
            table.add_row(*row)
        console.print(table)
    if marks:
        console.print(f"yardstick {median(marks):.0f} ms ({marks[0]:.0f} to {marks[-1]:.0f})")
    for name, reason in found["left_out"].items():
        console.print(f"left out: {name}: {reason}", markup=False)


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("names", nargs="*", metavar="NAME", help="default: all of --list")
    parser.add_argument("--list", action="store_true", help="list the benchmarks")
    parser.add_argument("--quick", action="store_true", help="short runs, one process each")
    parser.add_argument("--processes", type=int, help="processes of each benchmark (3; 1 with --quick)")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures to this file, too")
    parser.add_argument("--write-docs", action="store_true", help="write docs/benchmarks.md")
    options = parser.parse_args()
    if options.list:
        for name, comparison in COMPARISONS.items():
            print(f"{name:<12}{comparison.title}")
        return
    unknown = [name for name in options.names if name not in COMPARISONS]
    if unknown:
        parser.error(f"no benchmark {', '.join(unknown)}; there are {', '.join(COMPARISONS)}")
    processes = options.processes or (1 if options.quick else 3)
    console = Console(width=max(LEAST_WIDTH, Console().width))
    began = time.perf_counter()
    with Console(stderr=True).status("") as status:
        found = measure(options.names or list(COMPARISONS), processes, quick=options.quick, say=status.update)
    _show(found, console)
    console.print(f"measured in {(time.perf_counter() - began) / 60.0:.1f} min")
    if options.json is not None:
        figures = [asdict(figure) for figure in found["figures"]]
        content = {**found, "figures": figures, "versions": _versions()}
        options.json.write_text(json.dumps(content, indent=1, ensure_ascii=False) + "\n")
    if options.write_docs:
        PAGE.write_text(page(found, datetime.now(UTC)))
        console.print(f"written: {PAGE.relative_to(ROOT)}")


if __name__ == "__main__":
    main()
