"""Four-bars in a row (IFToMM benchmark A02) with any number of windows, as the text of a machine file."""

import json


def four_bars(windows: int) -> str:
    """Return N + 1 upright rods, hinged to the ground, and N couplers between them; 1 m and 1 kg each."""
    rods = [f"rod_{k}" for k in range(windows + 1)]
    couplers = [f"coupler_{k}" for k in range(windows)]
    body = {"mass_kg": 1, "com_m": [0.5, 0, 0], "inertia_kg_m2": {"xx": 0, "yy": 1 / 12, "zz": 1 / 12}}
    hinge = {"type": "revolute", "axis": [0, 0, 1]}
    joints = {
        rod: {**hinge, "parent": "world", "child": rod, "at_m": [k, 0, 0]} for k, rod in enumerate(rods)
    }
    joints |= {
        each: {**hinge, "parent": rod, "child": each, "at_m": [1, 0, 0]}
        for rod, each in zip(rods, couplers, strict=False)
    }
    end = [1, 0, 0]
    pins = {
        f"pin_{k}": {
            "type": "pin",
            "normal": [0, 0, 1],
            "a": {"body": couplers[k], "at_m": end},
            "b": {"body": rods[k + 1], "at_m": end},
        }
        for k in range(windows)
    }
    guess = {f"{rod}_deg": 90 for rod in rods[1:]} | {f"{each}_deg": -90 for each in couplers}
    return json.dumps(
        {
            "name": "four_bars",
            "gravity_m_s2": [0, -9.81, 0],
            "bodies": dict.fromkeys([*rods, *couplers], body),
            "joints": joints,
            "constraints": pins,
            "initial": {"rod_0_deg": 90, "rod_0_rad_s": -1},
            "initial_guess": guess,
        }
    )
