"""Constraints that move with time: their forces are those of an ideal servo, their work is accounted for."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest

from linkwork import machine
from linkwork.multibody import functions
from linkwork.multibody.formulations.acceleration import accelerate
from linkwork.multibody.reactions.reactions import joint_reactions
from linkwork.offline.run import Motion, simulate

SCARA = machine.shipped_path("scara").read_text(encoding="utf-8")
HELIX = """
constraints:
  servo:
    type: motion
    coordinates: {tool.x: 0.05*sin(0.4*pi*t), tool.y: 0.35 + 0.05*cos(0.4*pi*t), tool.z: 0.02*t, angle: 0}
"""
CURVE = f"""
constraints:
  servo:
    type: motion
    coordinates: {{angle: 0}}
    curve:
      helix: {{center_m: [0, 0.35, 0], radius_m: 0.05, rate_rad_s: {0.4 * math.pi!r}, pitch_speed_m_s: 0.02}}
"""


@pytest.fixture
def scara(tmp_path: Path):
    def load(constraints: str) -> machine.Machine:
        path = tmp_path / "scara.yaml"
        text = SCARA.replace("  goal_coordinates: [shoulder, elbow, wrist, lift]\n", "")
        text = text.replace("initial:", "initial_guess:") + constraints
        path.write_text(text, encoding="utf-8")
        return machine.load(path)

    return load


def _servo_effort(loaded: machine.Machine, motion: Motion, k: int) -> np.ndarray:
    """Inverse dynamics of the helix at a sample, without the constraint."""
    mechanism, rate, t = loaded.mechanism, 0.4 * math.pi, motion.time_s[k]
    s, c = 0.05 * np.sin(rate * t), 0.05 * np.cos(rate * t)
    q = motion.q[k]
    jacobian = functions.coordinate_jacobian(mechanism, q)[4:]
    v = np.linalg.solve(jacobian, [rate * c, -rate * s, 0.02, 0.0])
    assert np.abs(motion.v[k] - v).max() < 1e-12
    bias = functions.coordinate_rate(mechanism, q, v)[4:]
    a = np.linalg.solve(jacobian, np.array([-(rate**2) * s, -(rate**2) * c, 0.0, 0.0]) - bias)
    return functions.inverse_dynamics(mechanism, q, v, a)


@pytest.mark.parametrize("text", [HELIX, CURVE])
def test_the_helix_asks_for_the_efforts_of_inverse_dynamics(scara, text) -> None:
    loaded = scara(text)
    assert loaded.assembly.dof == 0
    motion = simulate(loaded, 1.0, 0.002, every=100)
    balance = motion.balance
    assert balance.residual_position_max < 1e-12
    assert balance.residual_velocity_max < 1e-12
    work = loaded.mechanism.workspace()
    for k in range(len(motion.time_s)):
        work.q[:], work.v[:], work.clock[0] = motion.q[k], motion.v[k], motion.time_s[k]
        found = accelerate(loaded.mechanism, work)
        expected = _servo_effort(loaded, motion, k)
        assert np.abs(found.constraint_force - expected).max() < 1e-10 * np.abs(expected).max()
    gained = motion.energy_end_J - motion.energy_start_J
    assert balance.constraint_work_J == pytest.approx(gained, abs=1e-9)
    assert balance.energy_balance_error_J < 1e-9


CART = """name: cart
bodies:
  cart: {mass_kg: 2, inertia_kg_m2: [0, 0, 0, 0, 0, 0]}
  bob: {mass_kg: 1, com_m: [0, 0, -0.5], inertia_kg_m2: [0, 0, 0, 0, 0, 0]}
joints:
  slide: {type: prismatic, parent: world, child: cart, axis: [1, 0, 0]}
  hinge: {type: revolute, parent: cart, child: bob, axis: [0, 1, 0], viscous_N_m_s: 0.05}
points:
  tip: {body: bob, at_m: [0, 0, -0.5]}
initial: {hinge_deg: 20}
constraints:
  drive: """


@pytest.mark.parametrize(
    ("integrator", "formulation"),
    [
        ("rk4", "projected"),
        ("rk4", "lagrange"),
        ("rk4", "minimal"),
        ("semi_implicit", "projected"),
        ("semi_implicit", "minimal"),
        ("dop853", "projected"),
    ],
)
def test_a_driven_pivot_does_work_on_its_pendulum(tmp_path: Path, integrator: str, formulation: str) -> None:
    path = tmp_path / "m.yaml"
    path.write_text(CART + "{type: coordinate, of: slide, equals_m: 0.1*sin(9*t)}\n", encoding="utf-8")
    dt = 0.02 if integrator == "dop853" else None
    motion = simulate(machine.load(path), 2.0, dt, integrator=integrator, formulation=formulation)
    assert motion.v[0, 0] == pytest.approx(0.9)
    assert motion.q[-1, 0] == pytest.approx(0.1 * math.sin(18.0), abs=1e-12)
    assert abs(motion.balance.constraint_work_J) > 0.1
    allowed = {"rk4": 1e-6, "semi_implicit": 0.05, "dop853": 1e-3}[integrator]
    assert motion.balance.energy_balance_error_J < allowed


def test_an_angle_in_space_is_followed_through_half_a_turn(tmp_path: Path) -> None:
    path = tmp_path / "m.yaml"
    text = CART.replace("axis: [0, 1, 0]", "axis: [0, 0, 1]").replace(
        "com_m: [0, 0, -0.5]", "com_m: [0.5, 0, 0]"
    )
    path.write_text(text + "{type: coordinate, of: tip.yaw, equals_deg: 20 + 100*t}\n", encoding="utf-8")
    motion = simulate(machine.load(path), 5.0)
    assert np.degrees(motion.q[-1, 1]) == pytest.approx(520.0, abs=1e-8)
    assert motion.balance.residual_position_max < 1e-12


def test_taylor_refuses_formulas_by_name(tmp_path: Path) -> None:
    path = tmp_path / "m.yaml"
    path.write_text(CART + "{type: expression, equation: slide = 0.1*sin(hinge)}\n", encoding="utf-8")
    with pytest.raises(ValueError, match="drive"):
        simulate(machine.load(path), 0.1, formulation="taylor")


@pytest.mark.parametrize(
    "text",
    ["{type: expression, equation: 2*tip.z = -0.94}", "{type: velocity, factors: {tip.z: 1 + 0*t}}"],
)
def test_reactions_of_formulas_are_those_of_plain_rows(tmp_path: Path, text: str) -> None:
    """The cart with its bob on a rail at a height, given as a coordinate and as a formula."""
    found = []
    for drive in ("{type: coordinate, of: tip.z, equals_m: -0.47}", text):
        path = tmp_path / "m.yaml"
        start = CART.replace("hinge_deg: 20", f"hinge_rad: {math.acos(0.94)!r}, slide_m_s: 1")
        path.write_text(start + drive + "\n", encoding="utf-8")
        loaded = machine.load(path)
        state = (loaded.mechanism, loaded.initial_q, loaded.initial_v)
        found.append([[*each.force_N, *each.moment_N_m] for each in joint_reactions(*state)])
    np.testing.assert_allclose(found[1], found[0], atol=1e-10)
