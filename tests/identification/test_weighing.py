"""A part is weighed on a running machine: the simulated five-bar in lockstep, which grips a point mass."""

import tempfile
from pathlib import Path

import pytest

from linkwork import Robot
from linkwork.client.injector import Injector
from linkwork.identification.weighing import weigh_part
from linkwork.launch.daemons import Rig
from linkwork.machine import load
from tests.system.running import patient_five_bar


@pytest.mark.slow
def test_a_part_is_weighed_by_motions_of_the_running_machine(tmp_path: Path):
    file = str(patient_five_bar(tmp_path))
    machine = load(file)
    arguments = [file, "--pace", "lockstep", "--realtime", "ignore"]
    part = {"mechanism": "payload", "of": "right_forearm", "mass_kg": 0.3, "at_m": [0.25, 0.0, 0.0]}
    with (
        tempfile.TemporaryDirectory(prefix="lw-", dir="/tmp") as runtime,
        Rig("five_bar", [*arguments, "--inject"], [*arguments, "--log", str(tmp_path)], Path(runtime)) as rig,
    ):
        rig.wait_ready(lambda _: None)
        with Robot(endpoint=rig.requests) as robot, Injector(rig.seat.plant) as plant:
            robot.enable()
            found = weigh_part(robot, machine, "tool", lambda: plant.inject(part), seconds=3.0, search_s=0.3)
            assert abs(found.mass_kg - 0.3) < 4.0 * found.mass_sigma_kg + 0.003
            assert found.mass_sigma_kg < 0.03
            assert abs(found.com_m[0]) < 4.0 * found.com_sigma_m[0] + 0.003
