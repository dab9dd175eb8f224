"""Runs a demo: both daemons started, every step done, everything ended; then the figures."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import numpy as np
from rich.console import Console

from linkwork.client.goal import Goal, GoalFailed
from linkwork.client.robot import Robot
from linkwork.controller.exchange.records import CHANNELS, layout_for
from linkwork.demos.demo import Demo, DemoStep, Stage
from linkwork.demos.demo_figures import DemoRun, recorded
from linkwork.demos.demo_options import DemoOptions
from linkwork.launch.daemons import Rig, served_beside, stamp
from linkwork.machine import Machine, load
from linkwork.machine.catalogue import shipped, shipped_path
from linkwork.machine.loading import name_in
from linkwork.machine.machine_patches import as_yaml, merged
from linkwork.machine.repeats import parse_machine
from linkwork.multibody.functions import closure_residual_history, coordinate_history
from linkwork.protocol.codes import ResultCode
from linkwork.protocol.errors import RequestError
from linkwork.recordings.log_file import Ticks, read_ticks
from linkwork.recordings.log_follower import first_segment, segments_of
from linkwork.recordings.recording import Truth, read_truth
from linkwork.recordings.tracking import Tracking
from linkwork.terminal.failures import Misuse
from linkwork.terminal.output import goal_bar
from linkwork.timing.signals import terminate_as_interrupt

Reached = list[tuple[DemoStep, Goal]]
"""Measured steps that were begun, each with its goal."""


def run_demo(demo: Demo, options: DemoOptions, console: Console) -> dict[str, Any]:
    """Run the demo, with its second machine after the first; return its summary, plain data.

    Ctrl-C ends it early: the machine is stopped and braked, everything ends, the result is CANCELLED. Raises
    Misuse for options that the demo does not have, RigFailed when a daemon does not start, NobodyThere when
    one ends under way.
    """
    if demo.leader and options.lockstep:
        raise Misuse("two machines run in this demo, each by its own clock: leave --lockstep out")
    options.out.mkdir(parents=True, exist_ok=True)
    summary, recording = _run(demo, options, console)
    if recording is None:
        return summary
    if demo.beside and summary["result"] == ResultCode.SUCCESSFUL.name:
        second, other = _run(demo.second, options, console)
        summary |= {"result": second["result"], "text": second["text"], "beside": second}
        recording = replace(recording, beside=other)
    plot = Path(summary["log"]).with_suffix(".png")
    demo.draw(recording, plot)
    return {**summary, **demo.report(recording), "plot": str(plot)}


def _run(demo: Demo, options: DemoOptions, console: Console) -> tuple[dict[str, Any], DemoRun | None]:
    """Run the steps on its first machine: what happened, and the recording if a measured tick was reached."""
    pace = ["--pace", "lockstep", "--realtime", "ignore"] if options.lockstep else []
    machine = demo.machine
    patch: Mapping[str, Any] = demo.patch
    if not options.force_sensor:  # forces that the model finds
        patch = merged(patch, {"controller": {"force": {"source": "model"}}})
    config = changed_machine(machine, options.out, patch) if patch else machine
    if options.exact:
        config = exact_sensors(config, options.out)
    name, out = name_in(machine) or machine, options.out.absolute()
    record = out / f"{name}-{stamp()}.plant"
    plant = [config, *pace, "--seed", str(options.seed)]
    plant += [word for setting in options.plant_set for word in ("--plant-set", setting)]
    plant += ["--truth", str(record)] if demo.truth else []
    controller = [config, *pace, "--law", options.law, "--log", str(out)]
    seconds = demo.seconds if options.seconds is None else options.seconds
    summary: dict[str, Any] = {"result": "CANCELLED", "text": "interrupted", "law": options.law}
    summary["mode"] = "lockstep" if options.lockstep else "real time"
    with terminate_as_interrupt(), suppress(KeyboardInterrupt):
        steps, reached, recording = demo.steps(seconds, options.speed), Reached(), None
        with _rig(name, plant, controller, console) as rig, _leader(demo, options, console) as leader:
            page = (
                served_beside("console", ["--endpoint", rig.requests], wait=True)
                if options.console
                else nullcontext()
            )
            with page, Robot(endpoint=rig.requests) as robot:
                summary["log"] = robot.status["log"]
                summary |= {} if leader is None else {"leader_log": leader.status["log"]}
                units = {each["name"]: each["unit"] for each in robot.describe()["coordinates"]}
                summary |= _outcome(robot, leader, steps, reached, console) | _timing(robot)
                for each in (robot, leader):
                    with suppress(RequestError):  # a machine in fault is braked already
                        if each is not None:
                            each.disable()
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
def _rig(name: str, plant: list[str], controller: list[str], console: Console) -> Iterator[Rig]:
    """Start both daemons and wait until they are ready."""
    with Rig(name, plant, controller) as rig:
        with console.status("starting plant and controller"):
            rig.wait_ready(lambda _: None)
        yield rig


@contextmanager
def _leader(demo: Demo, options: DemoOptions, console: Console) -> Iterator[Robot | None]:
    """Start plant and controller of the demo's leader; None where the demo has no leader."""
    if not demo.leader:
        yield None
        return
    config = moved_by_hand(demo.leader, options.out)
    controller = [config, "--log", str(options.out.absolute())]
    plant, name = [config, "--seed", str(options.seed)], name_in(config) or demo.leader
    with _rig(name, plant, controller, console) as rig, Robot(endpoint=rig.requests) as leader:
        yield leader


def _outcome(
    robot: Robot, leader: Robot | None, steps: Sequence[DemoStep], reached: Reached, console: Console
) -> dict[str, Any]:
    """Enable the machine and do one step after another, with a bar over all; return how it ended."""
    there = robot.state["q"] | robot.state["coordinates"]
    stage = Stage(robot, {name: there[name] for name in robot.describe()["goal_coordinates"]}, leader)
    done, whole = 0.0, sum(step.share for step in steps)
    try:
        with goal_bar(console, "enabling") as show:
            robot.enable()
            for step in steps:
                goal = step.begin(stage)
                if goal is not None and step.measured is not None:
                    reached.append((step, goal))
                if goal is not None:
                    begun, share = done / whole, step.share / whole
                    goal.wait(on_progress=lambda part: show(begun + share * part, step.text))  # noqa: B023
                done += step.share
    except GoalFailed as failed:
        return {"result": failed.name, "text": failed.result["text"]}
    except RequestError as refused:
        return {"result": refused.name, "text": refused.message}
    return {"result": ResultCode.SUCCESSFUL.name, "text": ""}


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
    names, log = layout_for(machine).names, _log(summary["log"])
    return Ticks(log.table, {one.name: names[one.per] for one in CHANNELS if one.name in log.names})


def with_truth(recording: DemoRun, truth: Truth, machine: Machine) -> DemoRun:
    """The recording with every part as the plant did it, instead of as the controller estimated it, and the
    plant's own figures.
    """
    mechanism, time_s = machine.plant_mechanism, recording.ticks.table["time_s"]

    def as_it_was(tracking: Tracking) -> Tracking:
        columns = [mechanism.coordinate_names.index(name) for name in tracking.coordinates]
        q = truth.q[truth.rows_at(time_s[tracking.rows])]
        return replace(tracking, actual=coordinate_history(mechanism, q)[:, columns])

    parts = tuple(replace(part, tracking=as_it_was(part.tracking)) for part in recording.parts)
    return replace(recording, parts=parts, plant=plant_figures(truth, machine))


def plant_figures(truth: Truth, machine: Machine) -> dict[str, Any]:
    """`closure_residual_max`: how far the plant's closures ever were open (scaled: typical lengths, or rad).

    `passive_effort_max`: largest effort that anything but constraints put on each joint without a motor.
    `parts_m`: where the loose parts were at the end, where there are some.
    """
    mechanism = machine.plant_mechanism
    driven = {motor.index for motor in machine.motors}
    efforts = dict(zip(mechanism.joint_names, np.abs(truth.effort).max(axis=0).tolist(), strict=True))
    figures: dict[str, Any] = {
        "closure_residual_max": float(closure_residual_history(mechanism, truth.q).max(initial=0.0)),
        "passive_effort_max": {
            name: effort for index, (name, effort) in enumerate(efforts.items()) if index not in driven
        },
    }
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


def exact_sensors(machine: str, folder: Path) -> str:
    """Write a copy of the machine's file, with sensors without noise and resolution; return its path."""
    return changed_machine(machine, folder, {}, without="position")


def moved_by_hand(machine: str, folder: Path) -> str:
    """Write a copy of the machine's file in which a hand guides the tool in x and y; return its path.

    The hand holds the tool by a spring and a damper and moves along a figure of eight. Only the plant has
    the force.
    """
    pull = "{k:g}*({size:g}*sin({rate:g}*t) + {middle:g} - tool.{axis}) - {d:g}*rate(tool.{axis})"
    forces = {}
    for axis, direction, middle, size, rate in HAND_MOTION:
        text = pull.format(
            k=HAND_STIFFNESS_N_M, d=HAND_DAMPING_N_S_M, size=size, rate=rate, middle=middle, axis=axis
        )
        entry = {"point": "tool", "direction": direction, "force_N": text, "plant_only": True}
        forces[f"hand_{axis}"] = entry
    return changed_machine(machine, folder, {"forces": forces})


def changed_machine(machine: str, folder: Path, patch: Mapping[str, Any], without: str = "") -> str:
    """Write a copy of the machine's file with a patch; without: a key that all its sensors lose."""
    path = shipped_path(machine) if machine in shipped() else Path(machine)
    data = merged(parse_machine(path.read_bytes(), str(path)).data, patch)
    for sensor in data["sensors"].values():
        sensor.pop(without, None)
    written = folder / f"{data['name']}.yaml"
    written.write_text(as_yaml(data), encoding="utf-8")
    return str(written.absolute())
