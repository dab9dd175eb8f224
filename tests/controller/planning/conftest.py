"""A SCARA as it ships, and a vertical arm with friction and weak motors, whose efforts matter."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from scipy.optimize import fsolve

from linkwork.controller.planning.messages.planner_start import Start
from linkwork.machine import Machine, load

VERTICAL = """
name: vertical
gravity_m_s2: [0, 0, -9.81]
bodies:
  upper: {mass_kg: 4, com_m: [0.2, 0, 0], inertia_kg_m2: {xx: 0.01, yy: 0.06, zz: 0.06}}
  fore: {mass_kg: 2, com_m: [0.15, 0, 0], inertia_kg_m2: {xx: 0.005, yy: 0.02, zz: 0.02}}
joints:
  lower_hinge: {type: revolute, parent: world, child: upper, axis: [0, -1, 0],
    limits: {position_rad: [-3, 3], velocity_rad_s: 3, acceleration_rad_s2: 40, jerk_rad_s3: 800}}
  upper_hinge: {type: revolute, parent: upper, child: fore, at_m: [0.4, 0, 0], axis: [0, -1, 0],
    limits: {position_rad: [-2.8, 2.8], velocity_rad_s: 4, acceleration_rad_s2: 60, jerk_rad_s3: 1200}}
points:
  tip: {body: fore, at_m: [0.3, 0, 0]}
task:
  x: {coordinate: tip.x}
  z: {coordinate: tip.z}
  tilt: {coordinate: tip.pitch}
motors:
  lower_hinge: {max_torque_N_m: 32, max_speed_rad_s: 8, max_torque_rate_N_m_s: 4000, brake_torque_N_m: 60,
    viscous_N_m_s: 0.4, coulomb_N_m: 1.5}
  upper_hinge: {max_torque_N_m: 7, max_speed_rad_s: 8, max_torque_rate_N_m_s: 2000, brake_torque_N_m: 20,
    viscous_N_m_s: 0.1, coulomb_N_m: 0.4}
sensors:
  lower_hinge: {velocity: true}
  upper_hinge: {velocity: true}
initial: {lower_hinge_deg: 60, upper_hinge_deg: -90}
controller: {bandwidth_rad_s: 20}
"""


@pytest.fixture(scope="session")
def scara() -> Machine:
    return load("scara")


@pytest.fixture(scope="session")
def vertical(tmp_path_factory: pytest.TempPathFactory) -> Machine:
    path = Path(tmp_path_factory.mktemp("machines")) / "vertical.yaml"
    path.write_text(VERTICAL)
    return load(path)


@pytest.fixture(scope="session")
def start(scara: Machine) -> Start:
    return Start.at_pose(scara, scara.initial_q)


def limited(machine: Machine, name: str, **limits: object) -> Machine:
    """The machine with other limits of one coordinate."""
    coordinates = tuple(one.with_values(**limits) if one.name == name else one for one in machine.coordinates)
    return replace(machine, coordinates=coordinates, joints=coordinates[: machine.mechanism.nv])


def motored(machine: Machine, joint: str, **values: float) -> Machine:
    """The machine with another motor at one joint."""
    motors = tuple(one.with_values(**values) if one.joint == joint else one for one in machine.motors)
    return replace(machine, motors=motors)


def joints_at(machine: Machine, names: list[str], values: list[float], near: np.ndarray) -> np.ndarray:
    """Joint positions at which the named coordinates have these values, found by an independent solver."""
    index = [machine.coordinate_index(name) for name in names]

    def away(q: np.ndarray) -> np.ndarray:
        return Start.at_pose(machine, q).theta[index] - values

    return np.asarray(fsolve(away, near, xtol=1e-13))
