"""Single runs of a campaign in a worker process: offline, or with whole daemons; their results and logs."""

import json
import math
import os
import tempfile
import threading
import time
from collections.abc import Sequence
from dataclasses import astuple, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linkwork.arrays import Floats
from linkwork.campaigns.campaign_plan import (
    RunRecipe,
    RunTask,
    changed_document,
    patched_text,
    plant_settings,
)
from linkwork.campaigns.in_process import InProcessRun, MotionRequest, RunEnd, Take
from linkwork.campaigns.merit import SUCCESSFUL, Merit, MeritRecorder
from linkwork.campaigns.run_faults import fault_entries, fault_seed, faults_with, noise_seed
from linkwork.campaigns.stability_margin import NotAtRest, ideal_machine, smallest, stability_margins
from linkwork.client.goal import Goal, GoalFailed
from linkwork.client.robot import Robot
from linkwork.controller.exchange.orders import Order
from linkwork.controller.exchange.records import layout_for
from linkwork.controller.gateway.records.event_detection import EventDetector
from linkwork.controller.gateway.records.log_segment import LogSource, Segment
from linkwork.controller.gateway.records.logged_orders import arrival_events
from linkwork.controller.gateway.records.messages import Messages
from linkwork.launch.daemons import Rig, RigFailed
from linkwork.machine import Machine, MachineError, for_controller
from linkwork.machine.loading import machine_in, plant_mechanism_with
from linkwork.machine.repeats import parse_machine
from linkwork.machine.yaml_document import Document
from linkwork.plant.faults.pushes import pushable
from linkwork.plant.simulator.start_values import StartNotAssembled
from linkwork.protocol.codes import Pace
from linkwork.protocol.errors import RequestError
from linkwork.recordings.recording import read_recording, read_truth
from linkwork.terminal.failures import Misuse


class RunWorker:
    """Carries out runs of one campaign. Machines are built once; a run changes the plant alone."""

    def __init__(self, recipe: RunRecipe) -> None:
        self.recipe = recipe
        self._documents: dict[str, Document] = {}
        self._machines: dict[str, Machine] = {}
        self._latest: dict[str, tuple[tuple[float, ...], Machine]] = {}
        """By variant: values of the parameters that build a machine, and that machine."""
        self._building = [place for place, each in enumerate(recipe.parameters) if each.plant or each.machine]

    def machine(self, task: RunTask) -> Machine:
        """Return the machine of a run, its plant included. Raises MachineError."""
        built = tuple(task.values[place] for place in self._building)
        known = self._latest.get(task.variant)
        if known is None or known[0] != built:
            known = self._latest[task.variant] = built, self._build(task)
        return known[1]

    def _build(self, task: RunTask) -> Machine:
        recipe, variant = self.recipe, task.variant
        if variant not in self._machines:
            self._documents[variant] = parse_machine(recipe.machines[variant])
            self._machines[variant] = for_controller(machine_in(self._documents[variant]))
        machine = self._machines[variant]
        if any(each.machine for each in recipe.parameters):
            machine = for_controller(
                machine_in(changed_document(self._documents[variant], recipe.parameters, task.values))
            )
        settings = plant_settings(recipe.parameters, task.values)
        if settings:
            mechanism = plant_mechanism_with(machine, settings)
            machine = replace(machine, plant_mechanism=mechanism, plant_set=tuple(settings))
        return pushable(machine) if recipe.faults else machine

    def run(self, task: RunTask, also: Take | None = None) -> tuple[Merit, RunEnd]:
        """Carry out a run; return its figures and its end. also: receives the records too."""
        machine = self.machine(task)
        requests = self.recipe.motions[task.trajectory]
        recorder = MeritRecorder(machine, self.recipe.measured, len(requests))

        def take(table: Any, true_q: Any) -> None:
            recorder.add(table, true_q)
            if also is not None:
                also(table, true_q)

        faults = faults_with(self.recipe, task, machine)
        run = InProcessRun(machine, requests, take, noise_seed(self.recipe, task), faults)
        end = run.run()
        return recorder.merit(end.name), end

    def margin(self, task: RunTask) -> Merit:
        """Return the smallest stability margins of all motors: gain, phase (deg), delay (s). Raises
        NotAtRest.
        """
        machine = ideal_machine(self.recipe.machines[task.variant])
        found = smallest(stability_margins(machine, self.recipe.motions[task.trajectory]))
        return Merit(SUCCESSFUL, "", astuple(found))

    def outcome(self, task: RunTask, also: Take | None = None) -> tuple[Merit, RunEnd]:
        """Carry out a run by the means of its campaign; return its figures and its end.

        A run whose machine cannot be built has no figures. also: receives the records, except daemons' ones.
        """
        try:
            if task.margin:
                return self.margin(task), RunEnd(0, "")
            if self.recipe.daemons:
                return run_by_daemons(self, task)
            return self.run(task, also)
        except (MachineError, StartNotAssembled) as error:
            return Merit("NOT_BUILT", "", ()), RunEnd(0, str(error))
        except NotAtRest as error:
            return Merit("NOT_AT_REST", "", ()), RunEnd(0, str(error))

    def line(self, task: RunTask) -> bytes:
        """Carry out a run; return its result as one line of JSON."""
        try:
            merit, end = self.outcome(task)
        except Exception as error:
            error.add_note(f"in run {task.run}; alone: linkwork campaign FILE --run {task.run}")
            raise
        return result_line(task.run, merit, end.text)


def result_line(run: int, merit: Merit, text: str) -> bytes:
    """Return a result as one line of JSON."""
    values = [value if math.isfinite(value) else None for value in merit.values]
    told = {"run": run, "result": merit.result, "fault": merit.fault, "text": text, "figures": values}
    return json.dumps(told, separators=(",", ":")).encode() + b"\n"


_workers = threading.local()


def carry_out(recipe: RunRecipe, tasks: Sequence[RunTask]) -> tuple[list[bytes], float]:
    """Carry out runs in this process, one after another; return their lines, and how long they took (s)."""
    begun = time.monotonic()
    known: RunWorker | None = getattr(_workers, "worker", None)
    if known is None or known.recipe.identity != recipe.identity:
        known = _workers.worker = RunWorker(recipe)
    return [known.line(task) for task in tasks], time.monotonic() - begun


def begin_worker() -> None:
    """Set up a worker process: it ends with its parent, and leaves Ctrl-C to it."""
    import multiprocessing
    import signal
    from multiprocessing.connection import wait

    signal.signal(signal.SIGINT, signal.SIG_IGN)
    parent = multiprocessing.parent_process()
    assert parent is not None
    sentinel = parent.sentinel

    def watch() -> None:
        wait([sentinel])
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


def run_by_daemons(worker: RunWorker, task: RunTask) -> tuple[Merit, RunEnd]:
    """Carry out a run; return its figures and its end, without goal and orders.

    Raises RigFailed where a daemon does not start, or the log is damaged.
    """
    recipe, machine = worker.recipe, worker.machine(task)
    requests = recipe.motions[task.trajectory]
    name = text = ""
    with tempfile.TemporaryDirectory(prefix="campaign-") as made:
        folder = Path(made)
        config, truth = folder / "machine.yaml", folder / "truth"
        config.write_text(patched_text(machine.document, {}), encoding="utf-8")
        pace = [str(config), "--pace", "lockstep", "--realtime", "ignore"]
        plant = [*pace, "--seed", str(noise_seed(recipe, task)), "--truth", str(truth)]
        for setting in machine.plant_set:
            plant += ["--plant-set", setting]
        if recipe.faults:
            line = folder / "faults.yaml"
            content = {"seed": fault_seed(recipe, task), "faults": fault_entries(recipe, task)}
            line.write_text(json.dumps(content), encoding="utf-8")
            plant += ["--faults", str(line)]
        with Rig(machine.name, plant, [*pace, "--log", str(folder / "log")]) as rig:
            rig.wait_ready(lambda _: None)
            with Robot(endpoint=rig.requests) as robot:
                log = robot.status["log"]
                try:
                    robot.enable()
                    for request in requests:
                        _request(robot, request).wait()
                except RequestError as refused:
                    name, text = refused.name, refused.message
                except GoalFailed:
                    pass  # the records say how it ended
        recording, found = read_recording(Path(str(log))), read_truth(truth)
        if recording.damage:
            raise RigFailed(recording.damage)
        table = recording.table
    recorder = MeritRecorder(machine, recipe.measured, len(requests))
    recorder.add(table, found.q[found.rows_at(table["time_s"])])
    return recorder.merit(name), RunEnd(0, text, name)


def _request(robot: Robot, request: MotionRequest) -> Goal:
    if request.method == "move":
        return robot.move(request.params["target"], speed=request.params["speed"], wait=False)
    return robot.send(request.params["trajectory"])


def logged_run(worker: RunWorker, task: RunTask, folder: Path) -> tuple[Merit, RunEnd, Path | None]:
    """Carry out a run and write its log; return its figures, its end, and the path of the log.

    A run whose machine cannot be built has no log.

    Raises Misuse where the log cannot be written, or exists.
    """
    tables: list[NDArray[Any]] = []
    merit, end = worker.outcome(task, lambda table, _: tables.append(table.copy()))
    if not tables:
        return merit, end, None
    path = folder / f"run-{task.run}.mcap"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        _write(worker.machine(task), tables, end.orders, path)
    except FileExistsError:
        raise Misuse(f"{path} exists: remove it, or give another folder with --log") from None
    except OSError as error:
        raise Misuse(f"--log {folder}: {error.strerror}") from None
    return merit, end, path


def _write(
    machine: Machine,
    tables: Sequence[NDArray[Any]],
    orders: Sequence[tuple[Order, Floats | None]],
    path: Path,
) -> None:
    layout = layout_for(machine)
    source = LogSource.for_machine(machine, layout, Pace.LOCKSTEP)
    segment = Segment(path, replace(source, machine_file=patched_text(machine.document, {})))
    given = {order.id: (order, words) for order, words in orders}
    story = EventDetector(layout, Messages(machine))
    for table in tables:
        words = np.ascontiguousarray(table).view(np.float64).reshape(len(table), -1)
        done = 0
        for row in story.rows(words):
            segment.ticks(words[done : row + 1])
            done = max(done, row + 1)
            order, block = given.get(int(table[row]["order_arrived"]), (None, None))
            for name, content in arrival_events(order, table[row], block) if order is not None else ():
                segment.event(name, content)
            for _, name, content in story.detect(row, table[row]):
                segment.event(name, content)
        segment.ticks(words[done:])
    segment.close()
