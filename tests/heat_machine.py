"""A pendulum whose motor has a thermal model."""

from __future__ import annotations

from pathlib import Path

from linkwork.machine import Machine, load

HEAT = "continuous_torque_N_m: 2, thermal_time_s: 60, max_temperature_degC: 105, ambient_degC: 25"
_TEXT = """\
name: {name}
bodies:
  rod: {{mass_kg: 1, com_m: [0, 0, -0.25], inertia_kg_m2: {{xx: 1/48, yy: 1/48, zz: 1e-4}}}}
joints:
  hinge:
    type: revolute
    parent: world
    child: rod
    axis: [0, 1, 0]
    limits: {{position_deg: [-170, 170], velocity_rad_s: 6, acceleration_rad_s2: 40, jerk_rad_s3: 800}}
motors:
  hinge: {{max_torque_N_m: 10, max_speed_rad_s: 10, brake_torque_N_m: 5{heat}}}
sensors:
  hinge: {{position: {{counts_per_turn: 1048576}}, velocity: true}}
initial: {{hinge_deg: {at_deg}}}
"""


def heat_text(heat: str = HEAT, at_deg: float = 0.0, name: str = "warm_pendulum") -> str:
    """The machine file, with further keys of the motor."""
    return _TEXT.format(heat=f", {heat}" if heat else "", at_deg=at_deg, name=name)


def heat_machine(folder: Path, heat: str = HEAT, at_deg: float = 0.0) -> Machine:
    """The machine, read from a file in this folder."""
    path = folder / "warm_pendulum.yaml"
    path.write_text(heat_text(heat, at_deg))
    return load(path)
