"""Aliases: foreign names of parts of a machine, which requests and commands accept beside its own."""

from collections.abc import Iterator, Mapping

from linkwork.machine.alias_text import ALIASED
from linkwork.machine.building.dof_names import coordinates, degrees_of_freedom
from linkwork.machine.problems import Problem
from linkwork.machine.sections.file import MachineFile
from linkwork.machine.yaml_document import Document
from linkwork.multibody.model import ANGLES

POINT_COORDINATES = ("x", "y", "z", *ANGLES)


def aliases_of(file: MachineFile) -> dict[str, str]:
    """Return the machine's name of each alias, with those of `ALIAS.DOF` and `ALIAS.x`.

    An alias of a body means the body only where it means nothing else.
    """
    parts = {
        "joints": [name for name in degrees_of_freedom(file) if "." in name],
        "points": [f"{point}.{axis}" for point in file.points for axis in POINT_COORDINATES],
    }
    found: dict[str, str] = {}
    for section in ALIASED:
        for name, alias in _given(file, section).items():
            found[alias] = name
            for part in parts.get(section, ()):
                owner, _, rest = part.partition(".")
                if owner == name:
                    found[f"{alias}.{rest}"] = part
    own = _own_names(file)
    bodies = {alias: name for name, alias in _given(file, "bodies").items() if alias not in own}
    return bodies | found


def check_aliases(file: MachineFile, document: Document) -> Iterator[Problem]:
    """Return a problem for each alias that means something else, too."""
    for sections in (("bodies",), ALIASED):
        own = set(file.bodies) if sections == ("bodies",) else _own_names(file)
        seen: dict[str, str] = {}
        for section in sections:
            for name, alias in _given(file, section).items():
                other = seen.get(alias) or (alias if alias in own and alias != name else None)
                if other is not None:
                    where, message = (section, name, "alias"), f"this alias means {other}, too"
                    yield document.problem(where, message, found=alias, remedy="take another")
                seen[alias] = name


def _own_names(file: MachineFile) -> set[str]:
    """Return the names that requests may give, without those of bodies."""
    return {name for section in ALIASED for name in getattr(file, section)} | set(coordinates(file))


def _given(file: MachineFile, section: str) -> Mapping[str, str]:
    """Return the aliases of a section's elements, by their names."""
    rows = getattr(file, section)
    return {name: row.alias for name, row in rows.items() if row.alias is not None}
