"""`linkwork driver check`: a sound driver passes, and each way to break the contract is found."""

from __future__ import annotations

import json
import re
import subprocess
import sys

import numpy as np
import pytest

from linkwork.diagnostics.conformance.driver_check import DriverCheck, MovingExamination
from linkwork.machine import load
from linkwork.plant.drivers.driver import Reading, Setup
from linkwork.plant.drivers.findings import ExerciseVerdict
from tests.command import linkwork
from tests.plant.toy_driver import Mute, Toy
from tests.plant.udp_device import CONFIG, ROOT, running

SETUP = Setup({}, 1, 1, 0.002)


def verdicts(kind, setup=SETUP):
    return {each.name: each for each in DriverCheck(kind, setup).findings()}


def test_a_sound_driver_passes():
    found = verdicts(Toy)
    others = {"can be constructed, and returns its description", "brakes when commands stop arriving"}
    assert {each.verdict for name, each in found.items() if name not in others} == {ExerciseVerdict.PASSED}
    assert "no watchdog" in found["can be constructed, and returns its description"].text
    assert len(found) == 11


class Changing(Toy):
    def describe(self):
        self.writes += 1
        return type(super().describe())(f"toy {self.writes}", 1, 1)


class DriftingToy(Toy):
    def read(self, reading: Reading) -> bool:
        self.position += 1.0
        return super().read(reading)


class Hollow(Toy):
    def read(self, reading: Reading) -> bool:
        super().read(reading)
        reading.velocity[0] = np.nan
        return True


class Odd(Toy):
    def read(self, reading: Reading) -> bool:
        super().read(reading)
        reading.status |= 1 << 20
        return True


class Careless(Toy):
    """Keeps the command, and so what its owner writes into it later."""

    def write(self, command):
        super().write(command)
        self.kept = command

    def read(self, reading: Reading) -> bool:
        super().read(reading)
        reading.effort[0] = self.before.effort[0] if hasattr(self, "before") else 0.0
        self.before = self.kept
        return True


class Forgetful(Toy):
    def read(self, reading: Reading) -> bool:
        super().read(reading)
        return None


class Lavish(Toy):
    def __init__(self, setup):
        super().__init__(Setup())


class Broken(Toy):
    def start(self):
        raise OSError("no bus")


class StuckToy(Toy):
    def stop(self):
        if not self.started:
            raise RuntimeError("not started")
        super().stop()


@pytest.mark.parametrize(
    ("kind", "exercise", "verdict", "text"),
    [
        (
            Changing,
            "can be constructed, and returns its description",
            "failed",
            "a different description each time",
        ),
        (Mute, "starts and returns a sample", "failed", "no sample"),
        (Broken, "starts and returns a sample", "failed", "OSError: no bus"),
        (Forgetful, "starts and returns a sample", "failed", "return True or False"),
        (DriftingToy, "stays at rest while braked", "failed", "100 of its units"),
        (Hollow, "returns finite numbers and known status bits", "failed", "velocity is not finite"),
        (Odd, "returns finite numbers and known status bits", "failed", "unknown bits"),
        (Careless, "keeps no reference to the command", "failed", "changed after write"),
        (Lavish, "refuses an option it does not know", "warning", "misspelt"),
        (StuckToy, "can be stopped repeatedly, and started again", "failed", "not started"),
    ],
)
def test_each_breach_is_found(kind, exercise, verdict, text):
    found = verdicts(kind)[exercise]
    assert found.verdict == verdict
    assert text in found.text


def test_wrong_signs_are_found(tmp_path):
    text = CONFIG.read_text().replace("gear: 20} # the", "gear: 20, reversed: true} # the")
    path = tmp_path / "motor.yaml"
    path.write_text(text)
    machine = load(path)
    with running("--lockstep") as (port, _):
        from linkwork.plant.drivers.udp import Udp

        setup = Setup({"port": port, "lockstep": True}, 1, 1, 0.002)
        found = [
            each
            for each in MovingExamination(Udp, setup).for_machine(machine).moves()
            if "moves" in each.name
        ]
        assert [each.verdict for each in found] == ["failed"]
        assert "set `reversed`" in found[0].text


def test_the_command_tells_all_of_it_in_one_object():
    with running("--lockstep") as (port, _):
        words = ["driver", "check", "udp", "--config", str(CONFIG), "--move", "--json"]
        settings = ["--driver-set", f"port={port}", "--driver-set", "lockstep=true"]
        command = [sys.executable, "-m", "linkwork", *words, *settings]
        ran = subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    said = json.loads(ran.stdout)
    assert (said["passed"], said["moved"], len(said["findings"])) == (True, True, 15)
    moved = next(each for each in said["findings"] if each["name"].startswith("moves arm"))
    assert moved["verdict"] == "passed"


def test_mistakes_on_its_command_line():
    for words, text in (
        (["udp", "--move"], "--move needs --config"),
        (["upd:"], "is not a driver"),
        (["udp", "--driver-set", "port"], "KEY=VALUE"),
    ):
        ran = linkwork("driver", "check", *words)
        assert ran.returncode == 2
        assert text in ran.stderr


def test_the_pages_table_has_every_option_and_the_page_shows_a_driver():
    page = (ROOT / "docs" / "drivers.md").read_text()
    from linkwork.plant.drivers.udp import _RULES

    assert set(_RULES) <= set(re.findall(r"`(\w+)`", page.split("## The driver `udp`")[1]))
    code = re.search(r"```python\n(.*?)```", page, re.DOTALL)[1]
    space = {}
    exec(code, space)
    found = verdicts(space["Arm"])
    assert found["starts and returns a sample"].verdict == "passed"
