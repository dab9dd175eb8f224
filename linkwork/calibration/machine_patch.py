"""A machine file with calibrated numbers: the whole file, deviations and source in comments."""

import math
from typing import Any

import numpy as np

from linkwork.calibration.calibration import Calibration
from linkwork.calibration.geometry import Geometry, changes_of
from linkwork.machine import Machine
from linkwork.machine.loading import checked_file
from linkwork.machine.machine_patches import as_yaml
from linkwork.multibody.tree.orientations import from_rotation_vector, to_angles_321
from linkwork.version import __version__

_ORIENTATIONS = ("rpy_rad", "rpy_deg", "quaternion_wxyz", "rotation_matrix")


def calibrated_file(found: Calibration) -> str:
    """Return the text of the machine file with the calibrated numbers; templates are expanded."""
    parameters = [each.parameter for each in found.found]
    data = Geometry(found.machine).data(changes_of(parameters, found.values))
    for name, shift in zeros_of(found).items():
        _shift_zero(found.machine, data, name, shift)
    return "\n".join([*_comments(found), "", as_yaml(data)])


def zeros_of(found: Calibration) -> dict[str, float]:
    """Return what is added to the reading of each joint, rad or m."""
    shifts: dict[str, float] = {}
    for each in found.found:
        for key, factor in each.parameter.terms:
            head, _, joint = key.partition(".")
            if head == "zero" and each.change:
                shifts[joint] = shifts.get(joint, 0.0) + factor * each.change
    return shifts


def _shift_zero(machine: Machine, data: dict[str, Any], name: str, shift: float) -> None:
    """Move the frame of a joint so that its coordinate is what the encoder reads."""
    if name not in data.get("joints", {}):
        return
    joint, spec = data["joints"][name], checked_file(machine).joints[name]
    axis = np.array(spec.geometry()["axis"], dtype=np.float64)
    rotation = spec.rotation()
    place = machine.mechanism.joint_index(name)
    if machine.mechanism.joint_is_angle[place]:
        for key in _ORIENTATIONS:
            joint.pop(key, None)
        joint["rpy_rad"] = to_angles_321(rotation @ from_rotation_vector(shift * axis))[::-1].tolist()
        shift_m = shift * float(spec.geometry().get("pitch_m_per_rad", 0.0))
    else:
        shift_m = shift
    if shift_m:
        at = np.array(joint.get("at_m", [0.0, 0.0, 0.0]), dtype=np.float64)
        joint["at_m"] = (at + shift_m * (rotation @ axis)).tolist()


def _comments(found: Calibration) -> list[str]:
    digest = found.measured.digest or "unknown"
    lines = [
        f"# Calibrated by linkwork {__version__} from {found.measured.name}, SHA-256 {digest}",
        "# Each number with one standard deviation, without and with the prior:",
    ]
    for each in found.found:
        alone = f"{each.sigma:.2g}" if math.isfinite(each.sigma) else "in combinations only"
        lines.append(
            f"#   {each.parameter.name} = {each.value:.9g} ± {alone}, {each.sigma_with_prior:.2g} "
            f"{each.parameter.unit} (file: {each.parameter.size:.9g})"
        )
    shifts = zeros_of(found)
    if shifts:
        lines.append("# Zeros are in the frames of their joints, so that coordinates are what encoders read.")
        lines.append("# Limits and initial positions keep their numbers.")
    outside = [
        each.parameter.name for each in found.found if each.parameter.name.startswith(("play.", "frame."))
    ]
    if outside:
        lines.append(f"# Not in the file: {', '.join(outside)}.")
    return lines
