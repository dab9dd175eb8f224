"""A run with whole daemons, in lockstep, with private processes, sockets, log and record of the plant."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path

from linkwork.campaigns.campaign_plan import RunTask, patched_text
from linkwork.campaigns.in_process import MotionRequest, RunEnd
from linkwork.campaigns.merit import Merit, MeritRecorder
from linkwork.campaigns.run_faults import fault_entries, fault_seed, noise_seed
from linkwork.campaigns.run_worker import RunWorker
from linkwork.client.goal import Goal, GoalFailed
from linkwork.client.robot import Robot
from linkwork.launch.daemons import Rig, RigFailed
from linkwork.protocol.errors import RequestError
from linkwork.recordings.recording import read_recording, read_truth


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
