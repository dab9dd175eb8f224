"""Named poses of a machine file, targets of moves."""

from __future__ import annotations

from collections.abc import Sequence

from linkwork.arrays import Floats
from linkwork.machine.building.kept_values import values_of
from linkwork.machine.checks.alias_names import aliases_of
from linkwork.machine.problems import MachineError
from linkwork.machine.sections.file import MachineFile
from linkwork.machine.units import choices, keys_of, with_aliases
from linkwork.machine.yaml import Document
from linkwork.multibody.mechanism import Mechanism


def named_poses(
    file: MachineFile, mechanism: Mechanism, document: Document, q: Floats, goals: Sequence[str]
) -> dict[str, dict[str, float]]:
    """Return pose → coordinate → rad or m; `home`, if not given, is the initial q (nq).

    Raises MachineError for names that are no coordinates with units, and for coordinates given twice.
    """
    angles = dict(zip(mechanism.coordinate_names, map(bool, mechanism.coordinate_is_angle), strict=True))
    aliases = aliases_of(file)
    known = keys_of(with_aliases(angles, aliases), speeds=False)
    found: dict[str, dict[str, float]] = {}
    for pose, values in file.poses.items():
        made = found.setdefault(pose, {})
        for key, value in values.items():
            name = aliases.get(known[key].name, known[key].name) if key in known else ""
            if not name or name in made:
                allowed, remedy = choices(key, angles, speeds=False)
                text = f"{name} is given twice" if name else f"{key} is no coordinate with a unit"
                problem = document.problem(
                    ("poses", pose, key), text, of_key=True, found=key, allowed=allowed, remedy=remedy
                )
                raise MachineError([problem])
            made[name] = value * known[key].factor
    initial = values_of(mechanism, q)
    if "home" not in found and goals and set(goals) <= initial.keys():
        found["home"] = {name: initial[name] for name in goals}
    return found
