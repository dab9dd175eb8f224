"""The law with fewer rows than degrees of freedom, against the principle of Gauss by dense algebra."""

from __future__ import annotations

import numpy as np
import pytest

from linkwork.arrays import Floats
from linkwork.controller.exchange.goal_task_part import DAMP, FULL, LEAST, MASS, MOTORS, TaskPart
from linkwork.controller.laws import Reference, laws_of
from linkwork.controller.laws.away_from_singular import away_for, lead_away
from linkwork.controller.laws.law import LawReport
from linkwork.controller.laws.law_motors import Motors
from linkwork.machine import Machine, load
from linkwork.multibody import Workspace
from linkwork.multibody.assembly.assembly import assemble
from linkwork.multibody.coordinate_scales import scales
from linkwork.multibody.dynamics.motion_basis import evaluate_motion
from linkwork.multibody.dynamics.task_motion import follow_levels, task_for
from linkwork.multibody.formulations.acceleration import acceleration
from linkwork.protocol.laws import LawKind

MACHINES = ("scara", "arm_6dof", "five_bar", "five_bar_redundant", "delta", "platform_3rrs")


def random_state(machine: Machine, rng: np.random.Generator) -> Workspace:
    """A moving state near the initial pose, on the closures."""
    mechanism, work = machine.mechanism, machine.workspace()
    q, v = machine.initial_q + 0.05 * rng.normal(size=mechanism.nq), rng.normal(size=mechanism.nv)
    if machine.is_constrained:
        state = assemble(mechanism, q, v)
        q, v = state.q, state.v
    work.q[:], work.v[:] = q, v
    evaluate_motion(*work.arguments)
    return work


def law_acceleration(
    machine: Machine, work: Workspace, rows: Floats, part: TaskPart, wanted: Floats
) -> tuple[Floats, Floats]:
    """v̇ and effort of the law that follows rows with these second derivatives, without feedback."""
    law = laws_of(machine)[LawKind.PIDC]
    gains = np.eye(len(work.theta))
    law.tune(1e-18 * gains, 2e-9 * gains)
    reference = Reference.sized(len(rows))
    reference.fit(rows)
    reference.theta[:], reference.velocity[:] = work.theta[rows], work.J[rows] @ work.v
    reference.acceleration[:], reference.task, reference.rest = wanted, part, part.rest
    force = np.zeros(machine.mechanism.nv)
    assert law(work, reference, force) > 0.0
    return acceleration(machine.mechanism, work.q, work.v, force).vdot, force


def least(metric: Floats, toward: Floats, rows: Floats, values: Floats) -> Floats:
    """The x with rows x = values (which may depend on each other) that is nearest to `toward`."""
    root = np.linalg.cholesky(metric)
    scaled = np.linalg.solve(root, rows.T).T
    return toward + np.linalg.solve(root.T, np.linalg.pinv(scaled, rcond=1e-9) @ (values - rows @ toward))


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("name", MACHINES)
def test_rows_are_followed_and_the_rest_is_least(name, seed):
    rng = np.random.default_rng(seed)
    machine = load(name)
    for motor in machine.motors:
        object.__setattr__(motor, "max_effort", 1e9)
    work = random_state(machine, rng)
    nv, own = machine.mechanism.nv, machine.mechanism.coordinate_names.index(machine.goal_coordinates[0])
    rows = np.array(sorted({own, int(rng.integers(0, machine.joint_coordinates))}))[: machine.dof - 1 or 1]
    wanted = rng.normal(size=len(rows))
    root = rng.normal(size=(nv, nv))
    full = root @ root.T + np.eye(nv)
    free = acceleration(machine.mechanism, work.q, work.v, np.zeros(nv)).vdot
    stacked = np.vstack([work.A, work.J[rows]]) if len(work.A) else work.J[rows]
    values = np.concatenate([work.b, wanted - work.Jdv[rows]]) if len(work.A) else wanted - work.Jdv[rows]
    scale = max(1.0, float(np.abs(free).max()))
    for part, metric in ((TaskPart(LEAST, MASS), work.M), (TaskPart(LEAST, FULL, full=full), full)):
        found, _ = law_acceleration(machine, work, rows, part, wanted)
        assert found == pytest.approx(least(metric, free, stacked, values), abs=1e-12 * scale)
    toward = -10.0 * work.v
    found, _ = law_acceleration(machine, work, rows, TaskPart(DAMP, MASS), wanted)
    assert found == pytest.approx(least(work.M, toward, stacked, values), abs=1e-12 * scale)


@pytest.mark.parametrize("name", ["scara", "five_bar", "delta", "five_bar_redundant"])
def test_no_other_motion_along_the_rows_takes_less_effort(name):
    rng = np.random.default_rng(3)
    machine = load(name)
    for motor in machine.motors:
        object.__setattr__(motor, "max_effort", 1e9)
    work = random_state(machine, rng)
    rows = np.array([machine.mechanism.coordinate_names.index(machine.goal_coordinates[0])])
    wanted, weight = np.array([0.7]), machine.effort_weights
    index = [motor.index for motor in machine.motors]

    def size(part: TaskPart) -> float:
        _, force = law_acceleration(machine, work, rows, part, wanted)
        return float(np.sum(force[index] ** 2 / weight))

    smallest = size(TaskPart(LEAST, MOTORS))
    assert smallest <= size(TaskPart(LEAST, MASS)) * (1.0 + 1e-12)
    for _ in range(10):
        root = rng.normal(size=(machine.mechanism.nv,) * 2)
        part = TaskPart(LEAST, FULL, full=root @ root.T + np.eye(machine.mechanism.nv))
        assert smallest <= size(part) * (1.0 + 1e-12)


GANTRY = """\
name: gantry
gravity_m_s2: [0, 0, -9.81]
bodies:
  bridge: {mass_kg: 5000, com_m: [0, 0, 0], inertia_kg_m2: [1000, 1000, 1000, 0, 0, 0]}
  trolley: {mass_kg: 500, com_m: [0, 0, 0], inertia_kg_m2: [100, 100, 100, 0, 0, 0]}
joints:
  along: {type: prismatic, parent: world, child: bridge, axis: [1, 0, 0], at_m: [0, 0, 800]}
  across: {type: prismatic, parent: bridge, child: trolley, axis: [0, 1, 0]}
points:
  hook: {body: trolley, at_m: [0, 0, -2]}
motors:
  along: {max_force_N: 1.0e6, max_speed_m_s: 3}
  across: {max_force_N: 1.0e6, max_speed_m_s: 3}
"""


def test_rows_of_a_machine_of_any_size_do_not_fade(tmp_path):
    path = tmp_path / "gantry.yaml"
    path.write_text(GANTRY)
    machine = load(str(path))
    work = random_state(machine, np.random.default_rng(0))
    law = laws_of(machine)[LawKind.PIDC]
    reference, force = Reference.sized(2), np.zeros(2)
    reference.fit(np.arange(2))
    reference.theta[:], reference.velocity[:] = work.theta[:2], work.v
    reference.acceleration[:] = 0.3, -0.2
    assert law(work, reference, force) > 0.1
    found = acceleration(machine.mechanism, work.q, work.v, force).vdot
    assert found == pytest.approx([0.3, -0.2], rel=1e-12)


@pytest.mark.parametrize("name", ["arm_6dof", "platform_3rrs"])
def test_the_way_from_singular_poses_climbs_and_does_not_depend_on_a_basis(name: str) -> None:
    """Bases of the free directions change by steps along a path, where columns are exchanged."""
    machine, rng = load(name), np.random.default_rng(1)
    work, trial = random_state(machine, rng), machine.workspace()
    names = machine.mechanism.coordinate_names
    rows = np.array([len(names) - 1])
    scale = scales(machine.mechanism, range(len(names)))[0]
    motor = np.array([motor.index for motor in machine.motors])
    away, f = away_for(trial, rows, scale, motor, on=True), machine.dof
    task = task_for(f, [0])
    task.rows[:] = scale[rows, None] * work.J[rows] @ work.basis[:f].T
    free = follow_levels(task, f)
    found = []
    for _ in range(3):
        posture = np.full((2, len(work.v)), 1e3)
        lead_away(*work.arguments, away, task, f, free, 10.0, posture)
        found.append(posture[0] - work.q[: len(work.v)])
        task.basis[:free] = rng.normal(size=(free, free)) @ task.basis[:free]
    assert np.abs(found[0]).max() > 1e-3
    np.testing.assert_allclose(found[1:], [found[0]] * 2, atol=1e-5)


def efforts_through(machine: Machine, named: list[str], way: list[Floats]) -> tuple[Floats, list[set[str]]]:
    """Efforts (n × motors) of the law where a machine moves along poses and velocities, 1e-4 off its path.

    Beside them: of each sample, the coordinates that the law reports as given up.
    """
    mechanism, work, report = machine.mechanism, machine.workspace(), LawReport()
    report.rows = np.zeros(2 + len(mechanism.coordinate_names))
    law = laws_of(machine, Motors(machine, report))[LawKind.PIDC]
    rows = np.array([mechanism.coordinate_index(name) for name in named])
    reference = Reference.sized(len(rows))
    reference.fit(rows)
    reference.task = TaskPart(DAMP, MASS)
    reference.rest = DAMP
    efforts, lost = [], []
    for q, v in way:
        work.q[:], work.v[:] = q, v
        evaluate_motion(*work.arguments)
        reference.theta[:], reference.velocity[:] = work.theta[rows] + 1e-4, work.J[rows] @ work.v
        reference.acceleration[:] = work.Jdv[rows]
        force = np.zeros(mechanism.nv)
        law(work, reference, force)
        efforts.append(force[[motor.index for motor in machine.motors]])
        lost.append({named[i] for i in np.flatnonzero(np.abs(report.rows[2:][rows]) > 1e-3)})
    return np.array(efforts), lost


def test_efforts_do_not_step_through_a_singular_pose_of_the_task_which_is_named() -> None:
    """The SCARA's tool passes the stretched pose, at 0.6 rad/s of the elbow and periods of 1 ms."""
    machine = load("scara")
    v = np.array([0.2, 0.6, 0.0, 0.0])
    start = np.array([0.5236, 0.0, 0.4189, 0.0])
    way = [np.array([start + time_s * v, v]) for time_s in np.arange(-0.2, 0.2, 0.001)]
    efforts, lost = efforts_through(machine, ["x", "y"], way)
    most = np.array([motor.max_effort_rate for motor in machine.motors])
    assert np.all(np.abs(np.diff(efforts, axis=0)) <= 1e-3 * most)
    assert lost[200] == {"x", "y"}
    assert lost[0] == lost[-1] == set()


def test_efforts_do_not_step_through_a_branch_of_the_closures() -> None:
    machine = load("slider_crank")
    v = np.array([3.0, -6.0])
    way = [np.array([[0.5 * np.pi, -np.pi] + time_s * v, v]) for time_s in np.arange(-0.1, 0.1, 0.001)]
    efforts, lost = efforts_through(machine, ["crank"], way)
    assert np.abs(np.diff(efforts, axis=0)).max() < 0.2
    assert not any(lost)
