"""Runs a demo: both daemons started, every step done, everything ended; then the figures."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import numpy as np
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

from linkwork.client.goal import GoalFailed
from linkwork.client.robot import Robot
from linkwork.demos.demo import Demo, DemoOptions, DemoStep, Stage
from linkwork.demos.demo_figures import DemoRun, recorded
from linkwork.launch.console_process import console_beside
from linkwork.launch.daemons import Rig, stamp
from linkwork.machine import Machine, load
from linkwork.machine.loading import name_in
from linkwork.protocol.codes import ResultCode
from linkwork.protocol.errors import RequestError
from linkwork.recordings.log_file import Ticks, read_ticks
from linkwork.recordings.log_follower import first_segment, segments_of
from linkwork.recordings.recording import Truth, read_truth
from linkwork.recordings.tracking import Tracking
from linkwork.terminal.failures import Misuse

Show = Callable[[int, float], None]
Reached = list[tuple[DemoStep, int]]
"""Measured steps that were begun, each with its goal's number."""


def run_demo(demo: Demo, options: DemoOptions, console: Console) -> dict[str, Any]:
    """Run the demo, with its second machine after the first; return its summary, plain data.

    Ctrl-C ends it early: the machine is stopped and braked, everything ends, the result is CANCELLED. Raises
    Misuse for options that the demo does not have, RigFailed when a daemon does not start, NobodyThere when
    one ends under way.
    """
    if demo.leader and options.lockstep:
        raise Misuse("two machines run in this demo, each by its own clock: leave --lockstep out")
    options.out.mkdir(parents=True, exist_ok=True)
    summary, recording = _run(demo, demo.machine, options, console)
    if recording is None:
        return summary
    if demo.beside and summary["result"] == ResultCode.SUCCESSFUL.name:
        second, other = _run(demo, demo.beside, options, console)
        summary |= {"result": second["result"], "text": second["text"], "beside": second}
        recording = replace(recording, beside=other)
    plot = Path(summary["log"]).with_suffix(".png")
    demo.draw(recording, plot, demo.title)
    return {**summary, **demo.report(recording), "plot": str(plot)}


def _run(
    demo: Demo, machine: str, options: DemoOptions, console: Console
) -> tuple[dict[str, Any], DemoRun | None]:
    """Run the steps on one machine: what happened, and the recording if a measured tick was reached."""
    pace = ["--pace", "lockstep", "--realtime", "ignore"] if options.lockstep else []
    config = machine if options.force_sensor else forces_by_model(machine, options.out)
    if options.exact:
        config = exact_sensors(config, options.out)
    different = [word for setting in options.plant_set for word in ("--plant-set", setting)]
    plant = [config, *pace, "--seed", str(options.seed), *different]
    record = options.out.absolute() / f"{name_in(machine)}-{stamp()}.plant"
    if demo.truth:
        plant += ["--truth", str(record)]
    log = ["--log", str(options.out.absolute())]
    controller = [config, *pace, "--law", options.law, *log]
    seconds = demo.seconds if options.seconds is None else options.seconds
    summary: dict[str, Any] = {"result": "CANCELLED", "text": "interrupted", "law": options.law}
    summary["mode"] = "lockstep" if options.lockstep else "real time"
    recording = None
    with _interruptible(), suppress(KeyboardInterrupt):
        reached: Reached = []
        units: dict[str, str] = {}
        steps = demo.steps(seconds, options.speed)
        name = name_in(machine) or machine
        with Rig(name, plant, controller) as rig, _leader(demo, options, console) as leader:
            _wait(rig, console)
            page = (
                console_beside(["--endpoint", rig.requests], wait=True) if options.console else nullcontext()
            )
            with page, Robot(endpoint=rig.requests) as robot, _bar(console, steps) as show:
                summary["log"] = robot.status["log"]
                summary |= {} if leader is None else {"leader_log": leader.status["log"]}
                units = {each["name"]: each["unit"] for each in robot.describe()["coordinates"]}
                try:
                    _go_through(robot, leader, steps, show, reached)
                    summary |= {"result": ResultCode.SUCCESSFUL.name, "text": ""}
                except GoalFailed as failed:
                    summary |= {"result": failed.name, "text": failed.result["text"]}
                except RequestError as refused:
                    summary |= {"result": refused.name, "text": refused.message}
                summary |= _timing(robot)
                _leave(robot)
                if leader is not None:
                    _leave(leader)
        try:
            machine_file = load(config, options.plant_set)
            recording = recorded(options, seconds, units, _ticks(summary, machine_file), reached)
        except ValueError as error:
            return summary | {"text": summary["text"] or str(error), "plot": None}, None
        if "leader_log" in summary:
            recording = replace(recording, leader=_log(summary["leader_log"]))
        if demo.truth:
            recording = with_truth(recording, read_truth(record), machine_file)
            summary["plant_record"] = str(record)
    return summary, recording


@contextmanager
def _leader(demo: Demo, options: DemoOptions, console: Console) -> Iterator[Robot | None]:
    """Start plant and controller of the demo's leader; None where the demo has no leader."""
    if not demo.leader:
        yield None
        return
    config = moved_by_hand(demo.leader, options.out)
    controller = [config, "--log", str(options.out.absolute())]
    with Rig(name_in(config) or demo.leader, [config, "--seed", str(options.seed)], controller) as rig:
        _wait(rig, console)
        with Robot(endpoint=rig.requests) as leader:
            yield leader


def _wait(rig: Rig, console: Console) -> None:
    """Wait until both daemons are ready; show the plant's messages about compilation."""
    with console.status("starting plant and controller") as status:

        def show(text: str) -> None:
            if "kernels" in text:
                status.update(text)
                if not console.is_terminal:
                    console.print(text)

        rig.wait_ready(show)


def _go_through(
    robot: Robot, leader: Robot | None, steps: Sequence[DemoStep], show: Show, reached: Reached
) -> None:
    """Enables, then one step after another. Raises GoalFailed, RequestError."""
    there = robot.state["q"] | robot.state["coordinates"]
    stage = Stage(robot, {name: there[name] for name in robot.describe()["goal_coordinates"]}, leader)
    robot.enable()
    for index, step in enumerate(steps):
        goal = step.begin(stage)
        if goal is None:
            continue
        if step.measured is not None:
            reached.append((step, goal.number))

        def progress(part: float, index: int = index) -> None:
            show(index, part)

        goal.wait(on_progress=progress)


def _leave(robot: Robot) -> None:
    with suppress(RequestError):  # a machine in fault is braked already
        robot.disable()


def _timing(robot: Robot) -> dict[str, Any]:
    timing = robot.status["timing"]
    return {
        "ticks": timing["ticks"],
        "missed_ticks": timing["missed"],
        "period_us": timing["period_us"],
        "latency_us": timing["latency_us"],
    }


def _log(path: str) -> Ticks:
    return read_ticks(*segments_of(first_segment(Path(path))))


def _ticks(summary: dict[str, Any], machine: Machine) -> Ticks:
    """Return the log with the machine's own names: it has them as ROS 2 field names, wrist.1 as wrist_1."""
    from linkwork.controller.records import CHANNELS, layout_for

    names, log = layout_for(machine).names, _log(summary["log"])
    return Ticks(log.table, {one.name: names[one.per] for one in CHANNELS if one.name in log.names})


@contextmanager
def _bar(console: Console, steps: Sequence[DemoStep]) -> Iterator[Show]:
    """One bar over all steps: call it with the step's index and 0 … 1."""
    columns = (TextColumn("{task.description:<12}"), BarColumn(), TextColumn("{task.percentage:>3.0f} %"))
    whole = sum(step.share for step in steps)
    with Progress(*columns, TimeElapsedColumn(), console=console, disable=not console.is_terminal) as bar:
        task = bar.add_task("enabling", total=whole)

        def show(index: int, part: float) -> None:
            done = sum(step.share for step in steps[:index]) + steps[index].share * part
            bar.update(task, description=steps[index].text, completed=done)

        yield show


@contextmanager
def _interruptible() -> Iterator[None]:
    """SIGTERM is an interrupt too."""
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def as_it_was(tracking: Tracking, truth: Truth, machine: Machine, ticks: Ticks) -> Tracking:
    """The tracking with the plant's own coordinates instead of the controller's estimate of them."""
    from linkwork.multibody.tree.coordinates import coordinates
    from linkwork.multibody.tree.kinematics import kinematics

    mechanism = machine.plant_mechanism
    columns = [mechanism.coordinate_names.index(name) for name in tracking.coordinates]
    work, actual = mechanism.workspace(), np.empty_like(tracking.actual)
    for row, q in enumerate(truth.q[truth.rows_at(ticks.table["time_s"][tracking.rows])]):
        work.q[:] = q
        kinematics(*work.arguments)
        coordinates(*work.arguments)
        actual[row] = work.theta[columns]
    return replace(tracking, actual=actual)


def with_truth(recording: DemoRun, truth: Truth, machine: Machine) -> DemoRun:
    """The recording with every part as the plant did it, and the plant's own figures."""
    parts = tuple(
        replace(part, tracking=as_it_was(part.tracking, truth, machine, recording.ticks))
        for part in recording.parts
    )
    return replace(recording, parts=parts, plant=plant_figures(truth, machine))


def plant_figures(truth: Truth, machine: Machine) -> dict[str, Any]:
    """`closure_residual_max`: how far the plant's closures ever were open (scaled: typical lengths, or rad).

    `passive_effort_max`: largest effort that anything but constraints put on each joint without a motor.
    `parts_m`: where the loose parts were at the end, where there are some.
    """
    from linkwork.multibody.constraints.rows import constraint_rows
    from linkwork.multibody.formulations.projection import position_residual
    from linkwork.multibody.tree.kinematics import kinematics

    mechanism = machine.plant_mechanism
    driven = {motor.index for motor in machine.motors}
    work, worst = mechanism.workspace(), 0.0
    for q in truth.q if machine.is_constrained else ():
        work.q[:] = q
        kinematics(*work.arguments)
        constraint_rows(*work.arguments)
        worst = max(worst, position_residual(*work.arguments))
    efforts = np.abs(truth.effort).max(axis=0)
    passive = {
        name: float(effort)
        for index, (name, effort) in enumerate(zip(mechanism.joint_names, efforts, strict=True))
        if index not in driven
    }
    figures: dict[str, Any] = {"closure_residual_max": worst, "passive_effort_max": passive}
    if truth.parts:
        last = {name: centres[-1] for name, centres in truth.parts.items()}
        figures["parts_m"] = {name: at.tolist() for name, at in last.items() if np.all(np.isfinite(at))}
    return figures


HAND_STIFFNESS_N_M: Final = 150.0
HAND_DAMPING_N_S_M: Final = 20.0
HAND_MOTION: Final = (
    ("x", [1, 0, 0], 0.0, 0.05, 1.5),
    ("y", [0, 1, 0], 0.32, 0.03, 3.0),
)
"""Of each axis: name, direction, middle and amplitude (m) of the hand's motion, its rate (rad/s)."""


def forces_by_model(machine: str, folder: Path) -> str:
    """Write a copy of the machine's file, with forces that the model finds; return where it lies."""

    def change(data: Any) -> None:
        data["controller"].setdefault("force", {})["source"] = "model"

    return _changed(machine, folder, change)


def exact_sensors(machine: str, folder: Path) -> str:
    """Write a copy of the machine's file, with sensors without noise and resolution; return its path."""

    def change(data: Any) -> None:
        for sensor in data["sensors"].values():
            sensor.pop("position", None)

    return _changed(machine, folder, change)


def moved_by_hand(machine: str, folder: Path) -> str:
    """Write a copy of the machine's file in which a hand guides the tool in x and y; return its path.

    The hand holds the tool by a spring and a damper and moves along a figure of eight. Only the plant has
    the force.
    """

    def change(data: Any) -> None:
        pull = "{k:g}*({size:g}*sin({rate:g}*t) + {middle:g} - tool.{axis}) - {d:g}*rate(tool.{axis})"
        for axis, direction, middle, size, rate in HAND_MOTION:
            text = pull.format(
                k=HAND_STIFFNESS_N_M, d=HAND_DAMPING_N_S_M, size=size, rate=rate, middle=middle, axis=axis
            )
            entry = {"point": "tool", "direction": direction, "force_N": text, "plant_only": True}
            data.setdefault("forces", {})[f"hand_{axis}"] = entry

    return _changed(machine, folder, change)


def _changed(machine: str, folder: Path, change: Callable[[Any], None]) -> str:
    from ruamel.yaml import YAML

    from linkwork.machine.catalogue import shipped, shipped_path
    from linkwork.machine.repeats import parse_machine

    path = shipped_path(machine) if machine in shipped() else Path(machine)
    data = parse_machine(path.read_bytes(), str(path)).data
    change(data)
    written = folder / f"{data['name']}.yaml"
    yaml: Any = YAML(typ="safe", pure=True)
    yaml.sort_base_mapping_type_on_output = False  # the order is that of the joints, motors and sensors
    with written.open("w", encoding="utf-8") as stream:
        yaml.dump(data, stream)
    return str(written.absolute())
