"""The hybrid law as a map: against the projected form, against the constrained motion, against its bounds."""

from pathlib import Path

import numpy as np
import pytest

from linkwork.controller.laws import Reference, laws_of
from linkwork.controller.laws.force_reference import ForceReference, Grip
from linkwork.controller.laws.hybrid import force_controllability
from linkwork.controller.planning.messages.planner_start import Start
from linkwork.controller.planning.process.planner import plan
from linkwork.machine import Machine, MachineError, for_controller, load
from linkwork.machine.catalogue import shipped_path
from linkwork.machine.checks.force_stability import contact_map, rigid_map
from linkwork.multibody import Workspace
from linkwork.multibody.dynamics.constrained_dynamics import projected
from linkwork.multibody.dynamics.motion_basis import evaluate_shortest
from linkwork.multibody.dynamics.tree_dynamics import dynamics
from linkwork.multibody.tree.coordinates import coordinates
from linkwork.protocol.errors import RequestError
from linkwork.protocol.laws import LawKind

WANTED_N = 20.0


@pytest.fixture(scope="module")
def polisher(tmp_path_factory: pytest.TempPathFactory) -> Machine:
    """Without friction on the table."""
    text = shipped_path("scara_polish").read_text(encoding="utf-8")
    path = tmp_path_factory.mktemp("machine") / "polish.yaml"
    path.write_text(text.replace("    friction: 0.3\n", ""), encoding="utf-8")
    return load(path)


def state(machine: Machine, rng: np.random.Generator) -> Workspace:
    """Random, elbow bent, moving along the table; touching it, as far as the law can tell."""
    work = machine.mechanism.workspace()
    work.q[:] = rng.uniform(-1.0, 1.0, 4)
    work.q[1] = rng.choice([-1, 1]) * rng.uniform(0.5, 2.0)
    work.v[:] = 6.0 * rng.normal(size=4)
    dynamics(*work.arguments)
    coordinates(*work.arguments)
    row = work.J[-1]
    work.v -= row * (row @ work.v) / (row @ row)
    dynamics(*work.arguments)
    coordinates(*work.arguments)
    return work


def reference(machine: Machine, work: Workspace, rng: np.random.Generator) -> Reference:
    """Of s, t and angle, with the table pressed."""
    index = np.array([machine.mechanism.coordinate_index(name) for name in ("s", "t", "angle")])
    forces = ForceReference.sized(1)
    forces.grip[0], forces.wanted[0], forces.push[0] = Grip.PRESS, WANTED_N, WANTED_N
    theta = work.theta[index] + 0.01 * rng.normal(size=3)
    return Reference(index, theta, rng.normal(size=3), rng.normal(size=3), forces)


def held_motion(work: Workspace, force: np.ndarray) -> tuple[np.ndarray, float]:
    """v̇ and λ of the machine whose tool a rigid table holds: M v̇ + h = f + A'λ, A v̇ = b."""
    a, b = work.J[-1:], -work.Jdv[-1:]
    saddle = np.block([[work.M, -a.T], [a, np.zeros((1, 1))]])
    found = np.linalg.solve(saddle, np.concatenate([force + work.friction - work.h, b]))
    return found[:4], float(found[4])


def test_motion_and_force_are_as_wanted_at_once(polisher: Machine) -> None:
    law, rng = laws_of(polisher)[LawKind.HYBRID], np.random.default_rng(1)
    omega = polisher.controller.bandwidth_rad_s
    for _ in range(100):
        work = state(polisher, rng)
        given, force = reference(polisher, work, rng), np.zeros(4)
        assert law(work, given, force) > 1e-6
        vdot, multiplier = held_motion(work, force)
        rows = work.J[given.index]
        wanted = given.acceleration + 2 * omega * (given.velocity - rows @ work.v)
        wanted += omega**2 * (given.theta - work.theta[given.index])
        np.testing.assert_allclose(rows @ vdot + work.Jdv[given.index], wanted, atol=1e-8)
        assert multiplier == pytest.approx(WANTED_N, abs=1e-8)


def test_it_is_the_projected_form_with_the_mass_in_its_velocity_term(polisher: Machine) -> None:
    """f = h + μ M c + (I + μ) P M u_p - u_F; without the M, as the source prints it, the force is wrong."""
    law, rng = laws_of(polisher)[LawKind.HYBRID], np.random.default_rng(2)
    worst = 0.0
    for _ in range(20):
        work = state(polisher, rng)
        given, force = reference(polisher, work, rng), np.zeros(4)
        law(work, given, force)
        u_p, _ = held_motion(work, force)
        a, b, mass, one = work.J[-1:], -work.Jdv[-1:], work.M, np.eye(4)
        p = one - np.linalg.pinv(a) @ a
        c = np.linalg.pinv(a) @ b
        mu = (one - p) @ mass @ np.linalg.inv(mass + p @ mass - mass @ p)
        rest = work.h - work.friction + (one + mu) @ p @ mass @ u_p - a[0] * WANTED_N
        np.testing.assert_allclose(force, rest + mu @ mass @ c, atol=1e-8)
        worst = max(worst, abs(held_motion(work, rest + mu @ c)[1] - WANTED_N))
    assert worst > 1.0, "c must matter in this test"


def two_motors(folder: Path) -> Machine:
    """The slider-crank with a motor on its knee too: one for the motion, one for the force on the guide."""
    text = shipped_path("slider_crank").read_text(encoding="utf-8")
    motor = "  knee: {max_torque_N_m: 80, max_speed_rad_s: 40, brake_torque_N_m: 40, brake_release_s: 0.05}\n"
    text = text.replace("\nsensors:", motor + "\nsensors:", 1)
    path = folder / "slider_crank.yaml"
    path.write_text(text, encoding="utf-8")
    return load(path)


def test_the_force_on_a_guide_is_chosen_beside_the_motion(tmp_path: Path) -> None:
    machine = two_motors(tmp_path)
    assert force_controllability(machine, machine.force_rows[0]) == ""
    law = laws_of(machine)[LawKind.HYBRID]
    rng = np.random.default_rng(3)
    work = machine.workspace()
    for _ in range(20):
        crank = rng.uniform(0.2, 1.2)
        work.q[:] = crank, -2.0 * crank
        work.v[:] = rng.normal() * np.array([1.0, -2.0])
        evaluate_shortest(*work.arguments)
        forces = ForceReference.sized(1)
        forces.grip[0], forces.wanted[0], forces.push[0] = Grip.PRESS, WANTED_N, WANTED_N
        given = Reference(np.array([0]), work.q[:1] + 0.01, np.array([0.3]), np.array([2.0]), forces)
        force = np.zeros(2)
        assert law(work, given, force) > 1e-6
        plant = machine.workspace()
        plant.q[:], plant.v[:], plant.effort[:] = work.q, work.v, force
        projected(*plant.arguments)
        omega = machine.controller.bandwidth_rad_s
        wanted = 2.0 + 2 * omega * (0.3 - work.v[0]) + omega**2 * 0.01
        assert plant.vdot[0] == pytest.approx(wanted, abs=1e-8)
        assert plant.multipliers[0] == pytest.approx(WANTED_N, abs=1e-7)


@pytest.mark.parametrize("pressed", [False, True])
def test_loads_are_bounded_beside_the_motion_and_the_force(tmp_path: Path, pressed: bool) -> None:
    """Of a five-bar with four motors; the force along x is wanted, that along y stays on one side."""
    text = shipped_path("five_bar_redundant").read_text(encoding="utf-8")
    text = text.replace(
        "    type: revolute\n    a:", "    type: revolute\n    load_limits: {y: '> 2'}\n    a:"
    )
    motor = "  right_elbow: {max_torque_N_m: 8, max_speed_rad_s: 20, brake_torque_N_m: 1}\n"
    path = tmp_path / "pressed.yaml"
    path.write_text(text.replace("\nsensors:", f"\n{motor}\nsensors:", 1), encoding="utf-8")
    machine = load(path)
    (row,) = (row for row in machine.force_rows if row.name == "tip.x")
    law, rng = laws_of(machine)[LawKind.HYBRID], np.random.default_rng(4)
    least = []
    for _ in range(20):
        work = machine.workspace()
        work.q[:] = machine.initial_q
        evaluate_shortest(*work.arguments)
        work.v[:] = rng.normal(size=2) @ work.basis[:2]
        evaluate_shortest(*work.arguments)
        forces = ForceReference.sized(len(machine.force_rows))
        if pressed:
            at = machine.force_rows.index(row)
            forces.grip[at], forces.wanted[at], forces.push[at] = Grip.PRESS, 5.0, 5.0
        wanted = rng.normal(size=2)
        given = Reference(np.arange(2), work.q[:2].copy(), work.v[:2].copy(), wanted, forces)
        force = np.zeros(4)
        assert law(work, given, force) > 1e-6
        plant = machine.workspace()
        plant.q[:], plant.v[:], plant.effort[:] = work.q, work.v, force
        projected(*plant.arguments)
        np.testing.assert_allclose(plant.vdot[:2], wanted, atol=1e-8)
        if pressed:
            assert plant.multipliers[row.row] == pytest.approx(5.0, abs=1e-7)
        least.append(float(plant.multipliers[1]))
    assert 2.0 < min(least) < 2.5


def test_a_wanted_force_beyond_the_load_limit_is_refused(tmp_path: Path) -> None:
    machine = two_motors(tmp_path)
    limited = machine.path.replace("slider_crank", "limited")
    text = Path(machine.path).read_text(encoding="utf-8")
    Path(limited).write_text(text.replace("equals_m: 0}", "equals_m: 0, max_force_N: 30}"), encoding="utf-8")
    machine = load(limited)
    points = [{"time_from_start_s": 2.0, "positions": [0.6]}]
    trajectory = {"coordinates": ["crank"], "points": points, "force": {"guide": 20.0}}
    start = Start.at_pose(machine, machine.initial_q)
    known = plan("send", {"trajectory": trajectory}, machine, start).report["limits"]["bearing force"]
    assert known["guide"]["value"] == pytest.approx(20.0, abs=1e-6)
    with pytest.raises(RequestError, match=r"guide would need bearing force 40 N .* 30 N is allowed"):
        plan("send", {"trajectory": trajectory | {"force": {"guide": 40.0}}}, machine, start)


def test_too_few_motors_are_refused_with_the_reason() -> None:
    machine = load("slider_crank")
    points = [{"time_from_start_s": 1.0, "positions": [0.6]}]
    trajectory = {"coordinates": ["crank"], "points": points, "force": {"guide": 20.0}}
    start = Start.at_pose(machine, machine.initial_q)
    with pytest.raises(
        RequestError, match="one motor is needed for each of 2 degrees of freedom, and 1 motors hold 1"
    ):
        plan("send", {"trajectory": trajectory}, machine, start)


def test_the_bound_of_a_rigid_contact_is_that_of_the_sampled_loop() -> None:
    def size(proportional: float) -> float:
        return float(np.abs(np.linalg.eigvals(rigid_map(1e-3, proportional, 20.0))).max())

    assert size(0.99 - 1e-6) < 1.0 < size(0.99 + 1e-6)  # G_F < 1 - G_I T / 2


def test_a_soft_contact_needs_damping() -> None:
    """1e4 N/m, 0.5 kg, damping ratio 0.05: an integral gain of 20/s swings up unless the motors damp."""
    damping = 2 * 0.05 * np.sqrt(1e4 * 0.5)

    def size(added: float) -> float:
        step = contact_map(1e-3, 0.5, 1e4, damping, 0.0, 20.0, added)
        return float(np.abs(np.linalg.eigvals(step)).max())

    assert size(0.0) > 1.0
    assert size(5 * damping) < 0.99


@pytest.mark.parametrize(
    ("force", "key"),
    [
        ("{proportional: 20}", "proportional"),
        ("{integral_per_s: 2000}", "integral_per_s"),
        ("{added_damping_ratio: 5}", "added_damping_ratio"),
    ],
)
def test_an_unstable_loop_is_refused_when_the_file_is_loaded(tmp_path: Path, force: str, key: str) -> None:
    text = shipped_path("scara_polish").read_text(encoding="utf-8")
    before = text[text.index("  force: {") :].splitlines()[0]
    path = tmp_path / "polish.yaml"
    path.write_text(text.replace(before, f"  force: {force}"), encoding="utf-8")
    with pytest.raises(MachineError, match="stable below") as caught:
        for_controller(load(path))
    assert caught.value.problems[0].key == f"controller.force.{key}"
