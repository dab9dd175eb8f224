"""Refusals of signals that cannot answer: joints that rest, motors at their limits, contradicting sensors."""

from collections.abc import Sequence

import numpy as np
from scipy.ndimage import median_filter

from linkwork.arrays import Integers
from linkwork.identification.consistent_samples import ClosedPoses
from linkwork.identification.measured_motion import MeasuredMotion, RefusedData
from linkwork.machine import Machine

_LEAST_MOTION = 0.02
"""Least motion of a joint, in scaled coordinates."""
_LEAST_COUNTS = 50.0
"""Least motion of a joint, in counts of its sensor."""
_SATURATED = 0.05
"""Share of the rows in which a motor may be at its limit."""
_EQUAL = 1e-6
"""Share of the largest effort by which equal ones differ."""
_JUMP, _LEAST_JUMP = 20.0, 0.005
"""Jumps of a position: over its changes in nine of ten rows in motion, and over its whole motion."""
_SPIKE, _LEAST_SPIKE = 20.0, 1.0
"""Spikes of an effort, likewise: from the median of five rows."""
_USUAL = 90.0
_DISAGREEMENT = 0.1
"""Share of its motion by which a further measured joint may differ from the closed loops."""
_COMPARED = 200
"""Samples in which further measured joints are compared with the closed loops."""


def refuse_still(machine: Machine, motion: MeasuredMotion, joints: Sequence[str]) -> None:
    """Raise RefusedData for joints that rest, and for constant efforts."""
    sensors = {sensor.joint: sensor for sensor in machine.sensors}
    for name in joints:
        moved = float(np.ptp(motion.positions[name]))
        counts = _LEAST_COUNTS * sensors[name].resolution if name in sensors else 0.0
        least = max(_least_motion(machine, name), counts)
        if moved == 0.0:
            raise RefusedData(
                "constant sensor",
                f"in {motion.name} the position of {name} is constant: it or its sensor stood still",
            )
        if moved < least:
            raise RefusedData(
                "never moved",
                f"in {motion.name} {name} moves by {moved:.3g} {_unit(machine, name)}; {least:.3g} "
                f"{_unit(machine, name)} is the least. If it moved more, check the unit in its column's name",
            )
    for motor in machine.motors:
        if float(np.ptp(motion.efforts[motor.joint])) == 0.0:
            raise RefusedData("constant effort", f"in {motion.name} the effort of {motor.joint} is constant")


def refuse_saturated(machine: Machine, motion: MeasuredMotion, *, clipped: bool) -> None:
    """Raise RefusedData for motors at the limit of the file.

    clipped: whether to refuse efforts that stay at their largest value, too, which a drive then limits.
    """
    for motor in machine.motors:
        effort = np.abs(motion.efforts[motor.joint])
        largest = float(effort.max(initial=0.0))
        limits = [(0.999 * motor.max_effort, f"at its limit of {motor.max_effort:g}")]
        if clipped:
            text = f"at its largest effort, {largest:.4g}, which its drive seems to limit,"
            limits.append(((1.0 - _EQUAL) * largest, text))
        for limit, text in limits:
            if (share := float((effort >= limit).mean())) > _SATURATED:
                raise RefusedData(
                    "saturated",
                    f"in {motion.name} the motor {motor.joint} is {text} in {100.0 * share:.1f} % of the "
                    f"rows; {100.0 * _SATURATED:g} % is the most. Move more slowly",
                )


def refuse_jumps(motion: MeasuredMotion, joints: Sequence[str]) -> None:
    """Raise RefusedData for positions that jump, as after a frozen sensor, and for spikes of efforts."""
    steps = np.diff(motion.time_s)
    period = float(np.median(steps))
    for name in joints:
        values = motion.positions[name]
        speeds = np.diff(values) / steps
        changes = period * np.abs(np.diff(speeds))
        near = np.maximum(steps[1:], steps[:-1]) < 2.5 * period
        moving = np.abs(speeds[1:]) > 0.1 * np.percentile(np.abs(speeds), 99.0)
        usual = np.maximum(_JUMP * np.percentile(changes[moving], _USUAL), _LEAST_JUMP * np.ptp(values))
        _refuse_first(motion, np.flatnonzero(near & (changes > usual)) + 1, f"the position of {name} jumps")
    for name, effort in motion.efforts.items():
        away = np.abs(effort - np.asarray(median_filter(effort, 5)))
        size = float(np.subtract(*np.percentile(effort, [99.0, 1.0])))
        usual = np.maximum(_SPIKE * np.percentile(away, _USUAL), _LEAST_SPIKE * size)
        _refuse_first(motion, np.flatnonzero(away > usual), f"the effort of {name} has a spike")


def _refuse_first(motion: MeasuredMotion, rows: Integers, what: str) -> None:
    if len(rows):
        raise RefusedData(
            "jumps",
            f"in {motion.name} {what} at {motion.time_s[rows[0]]:.6g} s, as do {len(rows)} rows in all: a "
            "frozen or lost signal? Leave the cells of such rows empty, with those in which it was frozen",
        )


def refuse_contradictions(
    machine: Machine, motion: MeasuredMotion, joints: Sequence[str], poses: ClosedPoses
) -> None:
    """Raise RefusedData where a further measured joint does not move as the closed loops move it.

    joints: the independent ones; poses: at the first row.
    """
    others = [name for name in motion.positions if name not in joints]
    if not others:
        return
    rows = np.unique(np.linspace(0, len(motion.time_s) - 1, _COMPARED).astype(int))
    y = np.column_stack([motion.positions[name][rows] for name in joints])
    states = poses.samples(y, np.zeros_like(y), np.zeros_like(y), 0.0)
    for name in others:
        real = motion.positions[name][rows][states.usable]
        model = states.q[states.usable, machine.mechanism.joint_index(name)]
        if not len(model) or np.ptp(model) < _least_motion(machine, name):
            continue
        apart = np.abs(real - model - np.median(real - model))
        if apart.max() > _DISAGREEMENT * np.ptp(model):
            unit = _unit(machine, name)
            raise RefusedData(
                "contradiction",
                f"in {motion.name} {name} moves by {np.ptp(real):.3g} {unit}, where the closed loops move it "
                f"by {np.ptp(model):.3g} {unit}, {apart.max():.3g} {unit} apart: its column, or one of "
                f"{', '.join(joints)}, is constant, reversed, swapped or in another unit, or the machine is "
                "another one",
            )


def _least_motion(machine: Machine, name: str) -> float:
    mechanism = machine.mechanism
    return float(_LEAST_MOTION * mechanism.model.column_scale[mechanism.joint_index(name)])


def _unit(machine: Machine, name: str) -> str:
    return "rad" if machine.mechanism.joint_is_angle[machine.mechanism.joint_index(name)] else "m"
