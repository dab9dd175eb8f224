"""`linkwork simulate --force`: forces beside those of the file, for one run."""

import json
from pathlib import Path

import numpy as np
import pytest
from scipy.integrate import solve_ivp

from linkwork.arrays import Floats
from linkwork.machine import Machine, load
from linkwork.offline.efforts import with_forces
from linkwork.offline.run import simulate
from tests.command import linkwork
from tests.machine.test_force_element_sections import DATA


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "arm.yaml"
    path.write_text(json.dumps(DATA))
    return path


def test_a_force_at_a_point_moves_the_arm_as_an_independent_integrator_says(file: Path) -> None:
    machine = with_forces(load(file), {"tip.x": "2*sin(3*t) - rate(tip.x)", "hinge": 0.3})
    motion = simulate(machine, 1.0, 5e-4, initial={"hinge": 0.2})

    def slope(t: float, y: Floats) -> list[float]:
        angle, rate = y
        push = 2 * np.sin(3 * t) + 0.4 * np.sin(angle) * rate  # less the rate of the tip's x
        torque = 0.3 - 2.0 * 9.81 * 0.2 * np.cos(angle) - push * 0.4 * np.sin(angle)
        return [rate, torque / (0.028 + 2.0 * 0.2**2)]

    found = solve_ivp(slope, (0.0, 1.0), [0.2, 0.0], method="DOP853", rtol=1e-13, atol=1e-14)
    assert motion.q[-1, 0] == pytest.approx(found.y[0, -1], abs=1e-9)
    assert motion.balance.energy_balance_error_J < 1e-8


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("tup.x=1", "write tip.x"),
        ("hook.x=1", "points: tip.x"),
        ("tip.x", "not a force"),
        ("tip.x=2*nothing", "no coordinate has this name"),
        ("tip.x=abs(t)", "not smooth"),
    ],
)
def test_mistakes_say_what_is_allowed(file: Path, text: str, said: str) -> None:
    ran = linkwork("simulate", str(file), "--duration", "0.1", "--force", text)
    assert ran.returncode == 2
    assert said in " ".join(ran.stderr.split())


def test_the_command_line_adds_forces(file: Path) -> None:
    def end(*more: str) -> float:
        ran = linkwork("simulate", str(file), "--duration", "0.2", "--json", *more)
        assert ran.returncode == 0, ran.stderr
        angle: float = json.loads(ran.stdout)["q"]["hinge"]
        return angle

    assert end("--force", "hinge=3.924*cos(hinge)") == pytest.approx(0.0, abs=1e-12)  # holds the weight
    assert end() < -0.1


def test_a_number_of_a_force_can_be_set_in_operation(file: Path) -> None:
    forces = {"push": {"joint": "hinge", "torque_N_m": 0.0, "plant_only": True}}
    file.write_text(json.dumps({**DATA, "forces": forces}))
    machine: Machine = load(file, ["push.torque_N_m=3.924"])
    motion = simulate(machine, 0.01, initial={"hinge": 0.0})
    assert motion.q[-1, 0] == pytest.approx(0.0, abs=1e-6)
