"""Load cells in the loop: the watch over what closures bear, and a wanted force of a guide."""

from pathlib import Path

import numpy as np
import pytest

from linkwork.controller.exchange.faults import FaultCode
from linkwork.controller.exchange.orders import OrderOutcome
from linkwork.controller.motion.references.reference import GoalStatus
from linkwork.machine import Machine, load
from linkwork.machine.catalogue import shipped_path
from linkwork.machine.checks.force_stability import gauged_map, rigid_map
from linkwork.multibody.dynamics.constrained_dynamics import projected
from linkwork.protocol.codes import ResultCode
from tests.controller.laws.test_hybrid import two_motors
from tests.controller.loop.in_process import InProcess
from tests.controller.loop.pressing_rig import ENDED, PressingRig
from tests.controller.loop.test_closed_chains import move

TARGET = {"left": 1.9, "right": 1.2}
CELL = "\nforce_sensors:\n  cell: {constraint: %s}\n\nmotors:"
HEAVY = "right_forearm.mass_kg=+150%"


def with_cell(text: str, path: Path, constraint: str, *plant_set: str) -> Machine:
    """The machine of a file's text, with a load cell in a constraint ("" for none)."""
    if constraint:
        text = text.replace("\nmotors:", CELL % constraint, 1)
    path.write_text(text, encoding="utf-8")
    return load(path, plant_set)


@pytest.mark.parametrize("constraint", ["tip", ""], ids=["cell", "model"])
def test_the_watch_over_loads_goes_by_what_is_measured(tmp_path: Path, constraint: str) -> None:
    """A rod of the plant is heavier than the model knows: only a cell finds out what the bearing bears."""
    text = shipped_path("five_bar").read_text(encoding="utf-8")
    text = text.replace("    type: revolute\n    a: {", "    type: revolute\n    max_force_N: 10\n    a: {")
    rig = InProcess(with_cell(text, tmp_path / "five_bar.yaml", constraint, HEAVY))
    rig.enable()
    move(rig, TARGET)
    ends = (GoalStatus.SUCCEEDED, GoalStatus.ENDED)
    samples = rig.until(lambda sample: sample["goal_status"] in ends)
    fault = samples[-1]["fault"]
    if constraint:
        assert fault == FaultCode.CONSTRAINT_FORCE
        read = np.linalg.norm(samples[-1]["force_measured"])
        assert samples[-1]["fault_value"] == read > samples[-1]["fault_limit"] == 10.0
        assert np.linalg.norm(samples[-1]["constraint_force"][:3]) < 9.5
    else:
        assert fault == FaultCode.NONE


@pytest.mark.parametrize(("constraint", "worst"), [("guide", 0.2), ("", 5.0)], ids=["cell", "model"])
def test_a_wanted_force_of_a_guide_is_held_by_its_cell(tmp_path: Path, constraint: str, worst: float) -> None:
    text = Path(two_motors(tmp_path).path).read_text(encoding="utf-8")
    machine = with_cell(text, tmp_path / "gauged.yaml", constraint, "rod.mass_kg=+20%")
    rig = PressingRig(machine)
    rig.enable()
    points = [{"time_from_start_s": 2.0, "positions": [0.9]}]
    trajectory = {"coordinates": ["crank"], "points": points, "force": {"guide": 20.0}}
    trajectory["tolerances"] = {"crank": {"path": 0.1, "goal": 0.1}}
    assert rig.ask("send", trajectory=trajectory)["order_outcome"] == OrderOutcome.DONE
    truth, forces, samples = machine.plant_mechanism.workspace(), [], []
    while not samples or samples[-1]["goal_status"] not in ENDED:
        samples.append(rig.tick())
        truth.q[:], truth.v[:] = rig.simulator.q, rig.simulator.v
        truth.effort[:] = rig.simulator.measured.effort
        projected(*truth.arguments)
        forces.append(float(truth.multipliers[0]))
    assert samples[-1]["goal_code"] == ResultCode.SUCCESSFUL
    error = np.abs(np.array(forces[1000:]) - 20.0).max()
    if constraint:
        assert error < worst
        np.testing.assert_array_equal(samples[-1]["force"], samples[-1]["force_measured"])
    else:
        assert error > 1.0, "the model's weight error is a force error"


def test_a_cells_delay_counts_where_stability_is_judged() -> None:
    def largest(step: np.ndarray) -> float:
        return float(np.abs(np.linalg.eigvals(step)).max())

    e, u, integral, before, g, gain = [], 1.0, 1.0, 1.0, 0.02, 0.5
    for _ in range(400):  # e_j = -u_{j-2}, step by step
        error = -before
        integral, before, u = integral + g * error, u, gain * error + integral + g * error
        e.append(error)
    assert abs(e[-1]) < 1e-2
    assert largest(gauged_map(0.001, gain, 20.0)) < 1.0
    assert largest(gauged_map(0.001, 0.99, 20.0)) > largest(rigid_map(0.001, 0.98, 20.0))
