"""The degrees of freedom of a file's joints and its coordinates, by name and in order."""

from linkwork.machine.sections.file import MachineFile
from linkwork.machine.sections.force_elements import AppliedForceSpec
from linkwork.machine.sections.limits import Limits
from linkwork.machine.units import UnitKey, keys_of
from linkwork.multibody.expressions import names_in, parse
from linkwork.multibody.expressions.text import RATE_OF
from linkwork.multibody.model import ANGLES


def degrees_of_freedom(file: MachineFile) -> dict[str, bool]:
    """Return every degree of freedom, in the order of v: name -> whether it is an angle."""
    return {
        _named(joint, name): is_angle
        for joint, spec in file.joints.items()
        for name, is_angle in spec.degrees_of_freedom().items()
    }


def owned(file: MachineFile) -> dict[str, bool]:
    """Return the degrees of freedom with a separate coordinate: all but those of quaternions."""
    quaternions = {name for joint in balls(file) for name in of_orientation(file, joint)}
    return {name: is_angle for name, is_angle in degrees_of_freedom(file).items() if name not in quaternions}


def of_orientation(file: MachineFile, joint: str) -> tuple[str, ...]:
    """Return the three degrees of freedom of a joint's quaternion: the rates about its child's axes."""
    return tuple(f"{joint}.{name}" for name in file.joints[joint].of_quaternion())


def balls(file: MachineFile) -> list[str]:
    """Return the joints whose orientation has a unit quaternion as coordinates."""
    return [name for name, spec in file.joints.items() if spec.of_quaternion()]


def unnamed_coordinates(file: MachineFile) -> dict[str, str]:
    """Return the coordinates of points that only constraints or forces name: "tip.y" -> its name.

    The name is its text, or that of the equal task coordinate.
    """
    known = owned(file)
    tasks = {task.coordinate: name for name, task in file.task.items()}
    found: dict[str, str] = {}
    for constraint in file.constraints.values():
        named = [name for _, name in constraint.named()]
        for name in [*named, *(name for _, name, _ in constraint.coordinates_in_formulas())]:
            if "." in name and name not in known:
                found[name] = tasks.get(name, name)
    for force in file.forces.values():
        for name in coordinates_of_force(force):
            if "." in name and name not in known:
                found[name] = tasks.get(name, name)
    return found


def coordinates_of_force(force: AppliedForceSpec) -> dict[str, int]:
    """Return the coordinates that a force's expression names, with the character of the first mention."""
    return names_in(parse(force.value, {RATE_OF: 1})) if isinstance(force.value, str) else {}


def coordinates(file: MachineFile) -> dict[str, bool]:
    """Return all coordinates of interest in the order of the mechanism: name -> whether it is an angle."""
    tasks = {name: task.axis() in ANGLES for name, task in file.task.items()}
    extra = {
        name: text.rpartition(".")[2] in ANGLES
        for text, name in unnamed_coordinates(file).items()
        if text == name
    }
    gaps = {gap_of(name): False for name in file.contacts}
    return owned(file) | tasks | extra | gaps


def gap_of(contact: str) -> str:
    """Return the name of the coordinate for the distance of a contact's point from its surface (m)."""
    return f"{contact}.gap"


def initial_keys(file: MachineFile) -> dict[str, UnitKey]:
    """Return every name with a unit that `initial` may have."""
    keys = keys_of(owned(file), speeds=True)
    for joint in balls(file):
        turns = {f"{joint}.{turn}": True for turn in ANGLES}
        keys |= keys_of(turns, speeds=False)
        rates = dict.fromkeys(of_orientation(file, joint), True)
        keys |= {key: quantity for key, quantity in keys_of(rates, speeds=True).items() if quantity.is_speed}
    return keys


def _named(joint: str, dof: str) -> str:
    return f"{joint}.{dof}" if dof else joint


def joint_limits(file: MachineFile, name: str) -> Limits | None:
    """Return the limits that the file gives a degree of freedom; None where it gives none."""
    owner, _, dof = name.partition(".")
    limits: Limits | None = file.joints[owner].dof_setting("limits", dof)
    return limits
