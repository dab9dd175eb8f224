"""Start of the plant: the file's initial state, assembled under the plant's own constraints."""

from collections.abc import Sequence

from linkwork.machine import Machine
from linkwork.machine.building.initial_assembly import assembled
from linkwork.multibody.assembly.assembly import AssemblyError
from linkwork.multibody.kernels.layout import ORDINARY
from linkwork.multibody.workspace import Workspace


class StartNotAssembled(ValueError):
    """The plant's constraints cannot be met near the initial state; the text says which, and what to do."""


def put_together(
    machine: Machine, work: Workspace, moved: Sequence[str] = (), speeds: Sequence[str] = ()
) -> None:
    """Bring q and v in `work` onto the manifold of the plant's constraints; without constraints they are
    unchanged.

    `moved` names the joints whose positions in q are to be kept first; then the file's, then the motors'.
    `speeds` names those whose speeds in v are kept before all others.
    """
    mechanism = machine.plant_mechanism
    if not mechanism.constraints:
        return
    first = [*moved, *machine.assembly.kept, *(motor.joint for motor in machine.motors)]
    try:
        work.q[:], work.v[:], found = assembled(
            mechanism, work.q, work.v, first, speeds, near=machine.initial_q
        )
    except AssemblyError as error:
        raise StartNotAssembled(
            f"{machine.name} cannot be assembled at these initial positions: {error}"
        ) from None
    work.ranking[ORDINARY] = found.ordinary_rank
