"""Threshold of the digital twin from efforts that a machine file does not predict."""

import numpy as np
from scipy.signal import lfilter

from linkwork.identification.identification import EffortPrediction
from linkwork.identification.measured_motion import RefusedData
from linkwork.machine import Machine

MARGIN = 3.0
"""Threshold over the largest difference in the recording."""


def twin_effort_share(machine: Machine, found: EffortPrediction) -> float:
    """Return `effort_share` of the section `twin`: MARGIN times the largest difference, of motors' efforts.

    The difference passes the twin's filter of first order first. Raises RefusedData where motors and
    independent joints are not the same, since then the difference belongs to no motor.
    """
    equations = found.equations
    largest = {motor.joint: motor.max_effort for motor in machine.motors}
    if set(largest) != set(equations.joints):
        raise RefusedData(
            "twin",
            f"the efforts of {', '.join(largest)} cannot be compared one by one, since the equations are "
            f"those of {', '.join(equations.joints)}: set `twin` in the machine file by hand",
        )
    difference = found.measured - found.predicted
    worst = 0.0
    for row, joint in enumerate(equations.joints):
        for block in np.unique(equations.block[equations.row == row]):
            places = np.flatnonzero((equations.row == row) & (equations.block == block))
            if len(places) < 2:
                continue
            period_s = float(np.median(np.diff(equations.time_s[places])))
            gain = 1.0 - np.exp(-machine.twin.bandwidth_rad_s * period_s)
            begin = [(1.0 - gain) * difference[places[0]]]
            passed, _ = lfilter([gain], [1.0, gain - 1.0], difference[places], zi=begin)
            worst = max(worst, float(np.abs(passed).max()) / largest[joint])
    return float(f"{MARGIN * worst:.2g}")
