"""`linkwork symbolic --linearize`: closed forms, differences of the motion, files that others read."""

import json
from dataclasses import replace

import control
import numpy as np
import pytest
from scipy.linalg import null_space

from linkwork.__main__ import main
from linkwork.convert.linearization import linear_model, pose, write
from linkwork.machine import MachineError, load
from linkwork.machine.building.initial_assembly import admitted_velocities
from linkwork.multibody import functions
from linkwork.multibody.assembly.assembly import assemble
from linkwork.multibody.constraints.rows import constraint_rows
from linkwork.multibody.dynamics.tree_dynamics import dynamics
from linkwork.multibody.tree.coordinates import coordinates
from linkwork.multibody.tree.rotations import move_by

G = 9.81


def test_slider_crank_in_closed_form():
    """T = (1 + 4 sin² q) q̇²/2, U = g sin q: with the motor's hold, δ̈ = g sin q / (1 + 4 sin² q) δ."""
    model = linear_model(load("slider_crank"), "crank_deg=50")
    angle = np.deg2rad(50)
    mass = 1.0 + 4.0 * np.sin(angle) ** 2
    assert model.effort == pytest.approx([G * np.cos(angle)])
    assert np.array([[0.0, 1.0], [G * np.sin(angle) / mass, 0.0]]) == pytest.approx(model.A, abs=1e-10)
    assert np.array([[0.0], [1.0 / mass]]) == pytest.approx(model.B, abs=1e-12)
    slider = model.C[model.outputs.index("slider")]
    assert slider == pytest.approx([-2.0 * np.sin(angle), 0.0])
    assert model.controllable


def test_a_pendulum_without_motors_is_found_hanging():
    machine = load("double_pendulum")
    model = linear_model(machine, "initial")
    assert np.abs(functions.bias(machine.mechanism, model.q, np.zeros(2))).max() < 1e-8
    assert np.abs(model.eigenvalues.real).max() < 1e-7
    assert np.abs(model.eigenvalues.imag).min() > 1.0
    assert not model.controllable
    mass = functions.mass_matrix(machine.mechanism, model.q)
    slope = [
        (functions.bias(machine.mechanism, model.q + h, np.zeros(2)) for h in (1e-6 * unit, -1e-6 * unit))
        for unit in np.eye(2)
    ]
    stiffness = np.column_stack([(ahead - behind) / 2e-6 for ahead, behind in slope])
    assert np.abs(model.A[2:, :2] + np.linalg.solve(mass, stiffness)).max() < 1e-6


def _accelerated(mechanism, q, v, effort):
    """θ, θ̇ and θ̈ of all coordinates of interest, by a null space of A of our own."""
    w = mechanism.workspace()
    w.q[:], w.v[:] = q, v
    dynamics(*w.arguments)
    constraint_rows(*w.arguments)
    coordinates(*w.arguments)
    basis = null_space(w.A)
    least = np.linalg.lstsq(w.A, w.b, rcond=None)[0]
    force = basis.T @ (effort + w.friction - w.h - w.M @ least)
    rate = least + basis @ np.linalg.solve(basis.T @ w.M @ basis, force)
    return w.theta.copy(), w.J @ v, w.J @ rate + w.Jdv


@pytest.mark.parametrize("name", ["platform_3rrs", "four_bar"])
def test_linear_models_against_differences_of_the_motion(name):
    """Central differences of the constrained acceleration about the equilibrium, with viscous joints."""
    given = load(name)
    m = given.mechanism
    joints = [replace(joint, viscous=0.05) for joint in m.joints]
    mechanism = m.build(m.bodies, joints, m.gravity_m_s2, m.points, m.coordinates, m.constraints)
    machine = replace(given, mechanism=mechanism)
    model = linear_model(machine, "initial")
    n = len(model.states) // 2
    goals = [mechanism.coordinate_names.index(state) for state in model.states[:n]]
    motors, held = [motor.index for motor in machine.motors], np.zeros(mechanism.nv)
    held[motors] = model.effort
    basis, rng = admitted_velocities(mechanism, model.q), np.random.default_rng(0)
    _, _, rest = _accelerated(mechanism, model.q, np.zeros(mechanism.nv), held)
    assert np.abs(rest).max() < 1e-10
    for _ in range(3):
        away, speed, ends = *rng.normal(size=(2, n)), []
        for step in (1e-4, -1e-4):
            q = model.q.copy()
            move_by(mechanism.model, q, basis @ away, step)
            state = assemble(mechanism, q, step * (basis @ speed))
            state = assemble(mechanism, state.q, step * (basis @ speed))
            theta, rate, found = _accelerated(mechanism, state.q, state.v, held)
            ends.append((np.concatenate([theta[goals], rate[goals]]), found[goals], theta, rate))
        x, found, theta, rate = ((ahead - behind) / 2.0 for ahead, behind in zip(*ends, strict=True))
        size = np.abs(model.A).max() * np.abs(x).max()
        assert np.abs(model.A[n:] @ x - found).max() < 1e-6 * size
        own = len(theta)
        assert np.abs((model.C @ x)[:own] - theta).max() < 1e-6 * np.abs(x).max()
    for k, motor in enumerate(motors):
        push = np.zeros(mechanism.nv)
        push[motor] = 1.0
        _, _, found = _accelerated(mechanism, model.q, np.zeros(mechanism.nv), held + push)
        gap = found[goals] - rest[goals] - model.B[n:, k]
        assert np.abs(gap).max() < 1e-10 * np.abs(model.B).max()


def test_poses_by_numbers_and_by_names():
    machine = load("scara")
    assert pose(machine, "initial") == pytest.approx(machine.initial_q)
    assert pose(machine, "q=0.5, -0.2, 0.1, 0.05") == pytest.approx([0.5, -0.2, 0.1, 0.05])
    named = pose(machine, "shoulder_deg=10,lift_m=0.02")
    assert named[0] == pytest.approx(np.deg2rad(10))
    assert named[1] == pytest.approx(machine.initial_q[1])
    with pytest.raises(MachineError, match="4 finite numbers"):
        pose(machine, "q=1,2")
    with pytest.raises(MachineError, match="only joints have a position"):
        pose(machine, "x_m=0.3")


def test_poses_with_quaternions_by_numbers():
    """They are brought to unit length, and the closures are closed."""
    machine = load("platform_3rrs")
    given = machine.initial_q.copy()
    given[-1] *= 3.0
    found = pose(machine, "q=" + ",".join(map(repr, given.tolist())))
    places = [*range(6, 9), 9]
    assert np.linalg.norm(found[places]) == pytest.approx(1.0, abs=1e-12)
    assert assemble(machine.mechanism, found).iterations == 0
    given[places] = 0.0
    with pytest.raises(MachineError, match="a quaternion is zero"):
        pose(machine, "q=" + ",".join(map(repr, given.tolist())))


CLOSED_WITH_ONE_OFF = """
name: held
bodies:
  crank: {mass_kg: 1, com_m: [1, 0, 0], inertia_kg_m2: {xx: 0, yy: 0, zz: 0}}
  rod: {mass_kg: 1, com_m: [1, 0, 0], inertia_kg_m2: {xx: 0, yy: 0, zz: 0}}
gravity_m_s2: [0, -9.81, 0]
joints:
  crank: {type: revolute, parent: world, child: crank, axis: [0, 0, 1]}
  knee: {type: revolute, parent: crank, child: rod, at_m: [1, 0, 0], axis: [0, 0, 1]}
points:
  tip: {body: rod, at_m: [1, 0, 0]}
constraints:
  guide: {type: coordinate, of: tip.y, equals_m: 0}
  clamp: {type: coordinate, of: tip.x, equals_m: 1.5, on: false}
motors:
  crank: {max_torque_N_m: 80, max_speed_rad_s: 20}
initial: {crank_deg: 30}
"""


@pytest.fixture
def made(tmp_path):
    def from_text(text):
        path = tmp_path / "machine.yaml"
        path.write_text(text)
        return load(path)

    return from_text


def test_constraints_that_are_switched_off_are_left_out(made):
    with_one_off = linear_model(made(CLOSED_WITH_ONE_OFF), "crank_deg=50")
    alone = linear_model(load("slider_crank"), "crank_deg=50")
    assert np.abs(with_one_off.A - alone.A).max() < 1e-10


def test_constraints_that_move_with_time_are_refused(made):
    text = CLOSED_WITH_ONE_OFF.replace("equals_m: 0}", 'equals_m: "0.1*sin(t)"}')
    with pytest.raises(MachineError, match=r"depend on time have no equilibrium: guide\.value"):
        linear_model(made(text), "initial")


def test_coordinates_are_chosen_and_suggested():
    """Where the file's goal coordinates do not serve, others that do are named, and are taken."""
    machine = load("slider_crank")
    model = linear_model(machine, "crank_deg=50", ["slider"])
    assert model.states == ("slider", "slider_rate")
    assert np.sort(model.eigenvalues) == pytest.approx(
        np.sort(linear_model(machine, "crank_deg=50").eigenvalues)
    )
    with pytest.raises(MachineError, match="use --coordinates knee") as told:
        linear_model(machine, "initial", ["crank", "knee"])
    assert told.value.problems[0].found == "crank, knee"
    with pytest.raises(MachineError, match="write slider"):
        linear_model(machine, "initial", ["slyder"])


HANGING_BALL = """
name: lamp
bodies:
  lamp: {mass_kg: 2, com_m: [0, 0, -0.5], inertia_kg_m2: {xx: 0.1, yy: 0.12, zz: 0.05}}
joints:
  ball: {type: spherical, parent: world, child: lamp, viscous_N_m_s: 0.1}
"""


def test_degrees_of_freedom_of_quaternions_are_small_rotations(made):
    """A physical pendulum: m g l / (I + m l²) about x and y, nothing about z."""
    model = linear_model(made(HANGING_BALL), "initial", ["ball.rx", "ball.ry", "ball.rz"])
    stiffness = [2 * 9.81 * 0.5 / (inertia + 0.5) for inertia in (0.1, 0.12)]
    assert model.A[3:, :3] == pytest.approx(-np.diag([*stiffness, 0.0]), abs=1e-9)
    assert model.A[3:, 3:] == pytest.approx(-0.1 * np.diag([1 / 0.6, 1 / 0.62, 1 / 0.05]), abs=1e-9)
    assert model.outputs == ("ball.rx", "ball.ry", "ball.rz")


def test_no_linear_model_where_a_motion_moves_no_mass():
    """Upright, shoulder and wrist turn about one axis, and the links between have no inertia about it."""
    wanted = ["shoulder.1", "shoulder.2", "elbow", "wrist.1", "wrist.2", "wrist.3"]
    with pytest.raises(MachineError, match="has no inertia"):
        linear_model(load("arm_6dof_simple"), "q=0,0,0,0,0,0,1", wanted)


def test_what_cannot_be_held_is_told():
    given = load("thin_disk")
    free = replace(given.mechanism.joints[0], kind="free", columns=None)
    m = given.mechanism
    mechanism = m.build(m.bodies, [free], m.gravity_m_s2, m.points, m.coordinates)
    names = [name for name in mechanism.coordinate_names if name not in ("rim.roll",)]
    falling = replace(
        given,
        mechanism=mechanism,
        initial_q=np.array([0, 0, 0, 0, 0, 0, 1.0]),
        goal_coordinates=tuple(names[:6]),
        assembly=replace(given.assembly, dof=6),
    )
    with pytest.raises(MachineError, match="cannot hold"):
        linear_model(falling, "initial")


def test_files_are_read_by_others(tmp_path):
    machine = load("four_bar")
    model = linear_model(machine, "initial")
    for name in ("model.npz", "model.json"):
        write(machine, model, tmp_path / name)
    arrays = np.load(tmp_path / "model.npz")
    content = json.loads((tmp_path / "model.json").read_text())
    for key in "ABCD":
        assert np.array_equal(arrays[key], getattr(model, key))
        assert np.array_equal(np.array(content[key]), getattr(model, key))
    assert arrays["states"].tolist() == content["states"] == ["a1", "a1_rate"]
    system = control.ss(*(arrays[key] for key in "ABCD"))
    assert np.sort(system.poles()) == pytest.approx(np.sort(model.eigenvalues))


def test_command_says_it_and_refuses_nonsense(tmp_path, monkeypatch, capsys):
    def run(*words):
        monkeypatch.setattr("sys.argv", ["linkwork", "symbolic", *words])
        with pytest.raises(SystemExit) as ended:
            main()
        return ended.value.code

    out = tmp_path / "crank.npz"
    assert run("slider_crank", "--linearize", "initial", "--out", str(out)) == 0
    assert out.exists()
    said = capsys.readouterr().out
    assert "eigenvalues (1/s): 1.56605" in said
    assert "controllable" in said
    assert run("slider_crank", "--linearize", "initial", "--json") == 0
    assert json.loads(capsys.readouterr().out)["controllable"] is True
    assert run("slider_crank", "--linearize", "initial", "--out", str(tmp_path / "x.mat")) == 2
    assert ".npz or .json" in capsys.readouterr().err
    assert run("slider_crank", "--linearize", "initial", "--show", "inertia") == 2
    assert run("slider_crank", "--out", str(out)) == 2
