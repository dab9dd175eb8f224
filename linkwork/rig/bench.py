"""The bench of a session: one rig under test at a time, started when a test first needs it."""

from __future__ import annotations

import platform
from typing import TYPE_CHECKING, Any

from linkwork.rig.collected import Collection
from linkwork.rig.collecting import Collecting
from linkwork.rig.rig_options import RigOptions

if TYPE_CHECKING:
    from linkwork.rig.under_test import RigUnderTest


class Bench:
    """Hands out the rig of a machine; that of another machine is ended first."""

    def __init__(self, collection: Collection, collecting: Collecting | None = None) -> None:
        self._collection, self._collecting = collection, collecting
        self._rig: RigUnderTest | None = None

    def rig_for(self, options: RigOptions) -> RigUnderTest:
        """The rig for these options. Raises MachineError for a file that is none."""
        from linkwork.rig.under_test import RigUnderTest

        if self._rig is not None and self._rig.options != options:
            self.close()
        if self._rig is None:
            self._rig = RigUnderTest(options, self._introduce)
        return self._rig

    def _introduce(self, rig: RigUnderTest) -> None:
        """Note the provenance of a rig that has been started or restarted."""
        facts = self._collection.rigs[rig.name] = _provenance(rig)
        if self._collecting is not None:
            self._collecting.rig(rig.name, facts)

    def close(self) -> None:
        """End the rig that is there."""
        if self._rig is not None:
            self._rig.close()
            self._rig = None


def _provenance(rig: RigUnderTest) -> dict[str, Any]:
    """Return as plain data, for reports: version, hashes, pace, seed, real-time means, endpoints, system."""
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
