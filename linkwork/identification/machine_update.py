"""A machine file with identified numbers: the whole file, with deviations and recordings in comments."""

from typing import Any

import numpy as np

from linkwork.arrays import Floats
from linkwork.identification.identification import Identification
from linkwork.identification.regressor import PER_BODY, Regressor
from linkwork.machine import Machine
from linkwork.machine.machine_patches import as_yaml, merged
from linkwork.version import __version__

_DIGITS = 9


def updated_file(found: Identification, twin_share: float | None = None) -> str:
    """Return the text of the machine file with the identified parameters; templates are expanded.

    twin_share: new `effort_share` of the digital twin.
    """
    machine = found.machine
    patch = patch_of(machine, found.values)
    if twin_share is not None:
        patch["twin"] = {"effort_share": twin_share}
    data = merged(machine.document.data, patch)
    return "\n".join([*_comments(found), "", as_yaml(data)])


def patch_of(machine: Machine, values: Floats) -> dict[str, Any]:
    """Return the parts of the machine file for parameters (columns) of the regressor.

    Columns after those of `Regressor` are of friction that a machine file does not have.
    """
    regressor = Regressor(machine.mechanism)
    values = values[: len(regressor.parameters)]
    own = {each.name: float(value) for each, value in zip(regressor.parameters, values, strict=True)}
    changed = np.abs(values - regressor.values) > 1e-12 * np.maximum(1e-3, np.abs(regressor.values))
    touched = {each.owner for each, new in zip(regressor.parameters, changed, strict=True) if new}
    bodies = {
        body.name: _body(values[PER_BODY * k : PER_BODY * k + PER_BODY])
        for k, body in enumerate(machine.mechanism.bodies)
        if body.name in touched
    }
    patch: dict[str, Any] = {"bodies": bodies, "joints": {}, "motors": {}}
    motors = {motor.joint: motor for motor in machine.motors}
    angles = dict(zip(machine.mechanism.joint_names, machine.mechanism.joint_is_angle, strict=True))
    for joint in machine.mechanism.joints:
        if joint.name not in touched or joint.name not in angles:
            continue
        units = ("N_m_s", "N_m", "kg_m2") if angles[joint.name] else ("N_s_m", "N", "kg")
        viscous, coulomb, armature = (
            max(0.0, own[f"{joint.name}.{key}"]) for key in ("viscous", "coulomb", "armature")
        )
        at_joint: dict[str, float] = {}
        motor = motors.get(joint.name)
        if motor is not None:  # the motor's own share stays, as far as it fits into the sum
            patch["motors"][joint.name] = {
                f"viscous_{units[0]}": _rounded(min(viscous, motor.viscous)),
                f"coulomb_{units[1]}": _rounded(min(coulomb, motor.coulomb)),
            }
            viscous, coulomb = max(0.0, viscous - motor.viscous), max(0.0, coulomb - motor.coulomb)
            if armature < motor.armature:
                patch["motors"][joint.name]["rotor_inertia_kg_m2"] = _rounded(armature / motor.gear_ratio**2)
            at_joint[f"armature_{units[2]}"] = _rounded(max(0.0, armature - motor.armature))
        at_joint |= {f"viscous_{units[0]}": _rounded(viscous), f"coulomb_{units[1]}": _rounded(coulomb)}
        patch["joints"][joint.name] = at_joint
    return {section: entries for section, entries in patch.items() if entries}


def _body(ten: Floats) -> dict[str, Any]:
    """Return mass, centre and inertia about it, of ten parameters."""
    mass = float(ten[0])
    com = ten[1:4] / mass if mass > 0.0 else np.zeros(3)
    xx, xy, xz, yy, yz, zz = ten[4:].tolist()
    inertia = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
    inertia -= mass * (float(com @ com) * np.eye(3) - np.outer(com, com))
    entries = {"xx": (0, 0), "yy": (1, 1), "zz": (2, 2), "xy": (0, 1), "xz": (0, 2), "yz": (1, 2)}
    return {
        "mass_kg": _rounded(mass),
        "com_m": [_rounded(each) for each in com.tolist()],
        "inertia_kg_m2": {key: _rounded(float(inertia[place])) for key, place in entries.items()},
    }


def _rounded(value: float) -> float:
    return float(f"{value:.{_DIGITS}g}")


def _comments(found: Identification) -> list[str]:
    lines = [f"# Identified by linkwork {__version__} from"]
    lines += [f"#   {each.name}, SHA-256 {each.digest or 'unknown'}" for each in found.recordings]
    lines.append(
        "# Base parameters (SI units) with one standard deviation; only these are measured. The bodies"
    )
    lines.append("# below have them, and are otherwise the nearest ones to the file's that can exist.")
    for each in found.found:
        what = "" if each.status != "not excited" else " (not excited)"
        lines.append(
            f"#   {each.base.text} = {each.value:.6g} ± {each.deviation:.2g} {each.base.first.unit}{what}"
        )
    offsets = [each for each in found.found if each.base.first.kind in ("offset", "spring")]
    if offsets:
        lines.append("# Offsets of motors and springs are not written to the file.")
    if found.friction_laws:
        lines.append("# Machine files do not have this friction; simulation and feed-forward leave it out:")
    lines += [f"#   {each}" for each in found.friction_laws]
    return lines
