"""Provenance of a rig, for reports."""

from __future__ import annotations

import platform
from typing import Any

from linkwork.rig.attached import AttachedRig


def provenance(rig: AttachedRig) -> dict[str, Any]:
    """Plain data: version, hashes, pace, seed, real-time means, endpoints, system."""
    machine, options = rig.machine, rig.options
    status, described = rig.robot.status, rig.robot.describe()
    system = platform.uname()
    return {
        "config": options.config,
        "machine": machine.name,
        "about": machine.about,
        "config_hash": machine.config_hash,
        "interface": described["interface"],
        "model": described["model"],
        "plant_model": machine.plant_model_hash,
        "version": status["version"],
        "protocol": status["protocol"],
        "pace": described["pace"],
        "law": status["law"] or described["law"],
        "seed": options.seed,
        "renewals": list(rig.renewals),
        "period_s": described["period_s"],
        "real_time": status["real_time"],
        "plant": options.plant or "own",
        "controller": options.controller or "own",
        "python": platform.python_version(),
        "system": f"{system.system} {system.release} {system.machine}",
        "degrees_of_freedom": machine.dof,
        "closures": list(machine.mechanism.constraint_names),
    }
