"""The bench of a session: one rig under test at a time, started when a test first needs it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from linkwork.rig.collected import Collection
from linkwork.rig.collecting import Collecting
from linkwork.rig.rig_options import RigOptions

if TYPE_CHECKING:
    from linkwork.rig.attached import AttachedRig
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

    def _introduce(self, rig: AttachedRig) -> None:
        """Note the provenance of a rig that has been started or restarted."""
        from linkwork.rig.rig_provenance import provenance

        facts = self._collection.rigs[rig.name] = provenance(rig)
        if self._collecting is not None:
            self._collecting.rig(rig.name, facts)

    def close(self) -> None:
        """End the rig that is there."""
        if self._rig is not None:
            self._rig.close()
            self._rig = None
