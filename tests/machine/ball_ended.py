"""Machine files whose rods and legs have ball joints at both ends, so that each turns about itself."""

from __future__ import annotations

import math
from io import StringIO
from typing import Any

from ruamel.yaml import YAML

LIMITS = {"velocity_rad_s": 10, "acceleration_rad_s2": 200, "jerk_rad_s3": 10000}


def text_of(data: dict[str, Any]) -> str:
    """Return the file's text."""
    out = StringIO()
    YAML().dump(data, out)
    return out.getvalue()


def _rod(mass: float, length: float, thin: float) -> dict[str, Any]:
    """A rod along x from its origin."""
    across = mass * length**2 / 12
    inertia = {"xx": mass * thin**2 / 2, "yy": across, "zz": across}
    return {"mass_kg": mass, "com_m": [length / 2, 0, 0], "inertia_kg_m2": inertia}


def delta() -> dict[str, Any]:
    """A delta robot of the size of the one that ships, with six rods between balls: nv 24, 9 dof."""
    bodies: dict[str, Any] = {}
    joints: dict[str, Any] = {}
    constraints: dict[str, Any] = {}
    guess: dict[str, float] = {}
    for i in (1, 2, 3):
        turn = math.radians(120 * (i - 1))
        bodies[f"arm_{i}"] = _rod(0.4, 0.25, 0.015)
        joints[f"motor_{i}"] = {
            "type": "revolute", "parent": "world", "child": f"arm_{i}", "axis": [0, 1, 0],
            "at_m": [0.2 * math.cos(turn), 0.2 * math.sin(turn), 0], "rpy_deg": [0, 0, 120.0 * (i - 1)],
            "limits": {"position_deg": [-60, 95], **LIMITS},
        }  # fmt: skip
        for side, y in (("a", 0.04), ("b", -0.04)):
            rod = f"rod_{side}_{i}"
            bodies[rod] = _rod(0.06, 0.5, 0.004)
            joints[f"upper_{side}_{i}"] = {
                "type": "spherical", "parent": f"arm_{i}", "child": rod, "at_m": [0.25, y, 0],
            }  # fmt: skip
            guess[f"upper_{side}_{i}.pitch_deg"] = 118.6
            if (i, side) != (1, "a"):
                at = [
                    0.06 * math.cos(turn) - y * math.sin(turn),
                    0.06 * math.sin(turn) + y * math.cos(turn),
                    0,
                ]
                constraints[f"lower_{side}_{i}"] = {
                    "type": "point", "a": {"body": rod, "at_m": [0.5, 0, 0]},
                    "b": {"body": "platform", "at_m": [at[0] - 0.06, at[1] - 0.04, 0]},
                }  # fmt: skip
    bodies["platform"] = {
        "mass_kg": 0.3, "com_m": [-0.06, -0.04, 0],
        "inertia_kg_m2": {"xx": 0.0003, "yy": 0.0003, "zz": 0.0005},
    }  # fmt: skip
    joints["lower_a_1"] = {
        "type": "spherical", "parent": "rod_a_1", "child": "platform", "at_m": [0.5, 0, 0],
    }  # fmt: skip
    guess["lower_a_1.pitch_deg"] = -138.6
    motor = {"max_torque_N_m": 12, "max_speed_rad_s": 25, "brake_torque_N_m": 5, "brake_release_s": 0.05}
    return {
        "name": "delta_with_balls",
        "bodies": bodies,
        "joints": joints,
        "points": {"tool": {"body": "platform", "at_m": [-0.06, -0.04, 0]}},
        "constraints": constraints,
        "task": {axis: {"coordinate": f"tool.{axis}"} for axis in "xyz"},
        "motors": {f"motor_{i}": motor for i in (1, 2, 3)},
        "sensors": {f"motor_{i}": {"velocity": True} for i in (1, 2, 3)},
        "initial": {f"motor_{i}_deg": 20 for i in (1, 2, 3)},
        "initial_guess": guess,
        "controller": {"estimator": {"assemblies": "one"}},
    }


def stewart(ends: str = "SPS") -> dict[str, Any]:
    """A six-legged platform: a ball (UPS: a cardan joint) below, a slide, a ball above; nv 27 or 21."""
    bodies: dict[str, Any] = {}
    joints: dict[str, Any] = {}
    constraints: dict[str, Any] = {}
    guess: dict[str, float] = {}
    below, above, height = 0.5, 0.3, 0.6
    angles = [(60 * k + (-1) ** k * 20, 60 * k + (-1) ** k * -22) for k in range(6)]
    tops = [(above * math.cos(math.radians(b)), above * math.sin(math.radians(b))) for _, b in angles]
    for k, (a, _) in enumerate(angles):
        i = k + 1
        base = [below * math.cos(math.radians(a)), below * math.sin(math.radians(a)), 0.0]
        dx, dy, dz = tops[k][0] - base[0], tops[k][1] - base[1], height
        length = math.sqrt(dx * dx + dy * dy + dz * dz)
        bodies[f"cylinder_{i}"] = _rod(1.0, 0.4, 0.03)
        bodies[f"piston_{i}"] = _rod(0.4, 0.4, 0.015) | {"com_m": [-0.2, 0, 0]}
        pitch, yaw = -math.atan2(dz, math.hypot(dx, dy)), math.atan2(dy, dx)
        foot = {"parent": "world", "child": f"cylinder_{i}", "at_m": base}
        if ends == "SPS":
            joints[f"foot_{i}"] = {"type": "spherical", **foot}
            guess[f"foot_{i}.pitch_deg"] = math.degrees(pitch)
            guess[f"foot_{i}.yaw_deg"] = math.degrees(yaw)
        else:
            joints[f"foot_{i}"] = {
                "type": "universal", **foot, "rpy_rad": [0, pitch, yaw], "axis": [0, 1, 0],
                "second_axis": [0, 0, 1],
            }  # fmt: skip
        joints[f"leg_{i}"] = {
            "type": "prismatic", "parent": f"cylinder_{i}", "child": f"piston_{i}", "axis": [1, 0, 0],
            "limits": {
                "position_m": [0.4, 1.1], "velocity_m_s": 1, "acceleration_m_s2": 10, "jerk_m_s3": 500,
            },
        }  # fmt: skip
        guess[f"leg_{i}_m"] = length
        if i > 1:
            constraints[f"head_{i}"] = {
                "type": "point", "a": {"body": f"piston_{i}"},
                "b": {"body": "platform", "at_m": [tops[k][0] - tops[0][0], tops[k][1] - tops[0][1], 0.0]},
            }  # fmt: skip
        else:
            joints["head_1"] = {"type": "spherical", "parent": "piston_1", "child": "platform"}
            first = (pitch, yaw)
    bodies["platform"] = {
        "mass_kg": 4.0, "com_m": [-tops[0][0], -tops[0][1], 0.0],
        "inertia_kg_m2": {"xx": 0.09, "yy": 0.09, "zz": 0.18},
    }  # fmt: skip
    return {
        "name": f"platform_{ends.lower()}",
        "bodies": bodies,
        "joints": joints,
        "points": {"table": {"body": "platform", "at_m": [-tops[0][0], -tops[0][1], 0.0]}},
        "constraints": constraints,
        "task": {axis: {"coordinate": f"table.{axis}"} for axis in ("x", "y", "z", "roll", "pitch", "yaw")},
        "motors": {
            f"leg_{i}": {"max_force_N": 400, "max_speed_m_s": 3, "brake_force_N": 400} for i in range(1, 7)
        },
        "sensors": {f"leg_{i}": {"velocity": True} for i in range(1, 7)},
        "initial": {},
        "initial_guess": guess | _inverse(*first),
        "controller": {"estimator": {"assemblies": "one"}},
    }


def _inverse(pitch: float, yaw: float) -> dict[str, float]:
    """The ball on the first leg turns back what the leg is turned: R = (Rz(yaw) Ry(pitch))'."""
    r = [
        [math.cos(yaw) * math.cos(pitch), math.sin(yaw) * math.cos(pitch), -math.sin(pitch)],
        [-math.sin(yaw), math.cos(yaw), 0.0],
        [math.cos(yaw) * math.sin(pitch), math.sin(yaw) * math.sin(pitch), math.cos(pitch)],
    ]
    return {
        "head_1.roll_deg": math.degrees(math.atan2(r[2][1], r[2][2])),
        "head_1.pitch_deg": math.degrees(math.atan2(-r[2][0], math.hypot(r[2][1], r[2][2]))),
        "head_1.yaw_deg": math.degrees(math.atan2(r[1][0], r[0][0])),
    }
