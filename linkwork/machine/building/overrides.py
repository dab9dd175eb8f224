"""Values in which the simulated plant differs from the model, from `plant.set` or the command line.

An entry names a place, "upper_arm.mass_kg" or in full "bodies.upper_arm.mass_kg", and gives a value in the
unit of the key, or a percentage of the model's value: "+20%". Only physics can be set: bodies, the joints'
geometry and friction, the motors' rotors and friction, contacts, gravity.
"""

import copy
import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from linkwork.machine.nearest_name import nearest
from linkwork.machine.problems import MachineError, Place, Problem, dotted, refuse, shown
from linkwork.machine.sections.fields import Section
from linkwork.machine.sections.file import MachineFile
from linkwork.machine.sections.force_elements import SpringSpec
from linkwork.machine.sections.joints import ScrewSpec
from linkwork.machine.sections.quantity import keys_named, quantities_of
from linkwork.machine.yaml_document import Document, parse_scalar

ON_COMMAND_LINE = "plant setting"

_PHYSICS = {
    "bodies": ("mass_kg", "com_m", "inertia_kg_m2"),
    "joints": (
        *("at_m", "rpy_rad", "rpy_deg", "axis", "pitch"),
        *("armature", "viscous", "coulomb", "coulomb_speed"),
    ),
    "motors": ("gear_ratio", "rotor_inertia", "viscous", "coulomb"),
    "contacts": ("stiffness_N_m", "damping_N_s_m", "friction", "slip_speed_m_s"),
    "forces": ("force_N", "torque_N_m"),
    "springs": ("stiffness", "damping", "rest", "preload", "progressive"),
}
"""Keys, and quantities, of the sections that have physics."""
_ELEMENTS = {"com_m": 3, "at_m": 3, "axis": 3, "rpy_rad": 3, "rpy_deg": 3, "gravity_m_s2": 3}
_SAME_THING = (
    {"rpy_rad", "rpy_deg", "quaternion_wxyz", "rotation_matrix"},
    {"damping_N_s_m", "damping_ratio"},
    *({*ScrewSpec.pitch.keys(None)}, *({*part.keys(None)} for part in quantities_of(SpringSpec))),
)
"""Keys of which a file gives one."""
_NUMBERED = re.compile(r"(.+)\.(\d+)")
_PERCENT = re.compile(r"([+-]\d+(?:\.\d*)?(?:[eE][+-]?\d+)?)\s*%")


@dataclass(frozen=True)
class Override:
    """One entry: its key as written, its value, and its path in the file (none: from the command line)."""

    key: str
    value: Any
    path: Place | None

    def problem(self, document: Document, message: str, *, of_key: bool = False, **rest: Any) -> Problem:
        """Make a problem about this entry."""
        if self.path is not None:
            return document.problem(self.path, message, of_key=of_key, **rest)
        return Problem(ON_COMMAND_LINE, None, None, self.key, message, **rest)


def settings_of(file: MachineFile, plant_set: Sequence[str]) -> list[Override]:
    """Return the entries of the file, then those of the command line. Raises MachineError."""
    settings = [Override(key, value, ("plant", "set", key)) for key, value in file.plant.set.items()]
    problems = []
    for text in plant_set:
        key, sign, value = (part.strip() for part in text.partition("="))
        if not (key and sign and value):
            example = "write, for example, upper_arm.mass_kg=+20%"
            problems.append(
                Problem(ON_COMMAND_LINE, None, None, "", "not a setting", text, "KEY=VALUE", example)
            )
            continue
        try:
            settings.append(Override(key, value if _PERCENT.fullmatch(value) else parse_scalar(value), None))
        except MachineError:
            problems.append(
                Problem(ON_COMMAND_LINE, None, None, key, "this value cannot be read", shown(value))
            )
    refuse(problems)
    return settings


def apply_settings(file: MachineFile, settings: Sequence[Override], document: Document) -> dict[str, Any]:
    """Return the file's data with the settings applied; percentages are of the file's own values.

    Raises MachineError with all problems.
    """
    data = file.model_dump(exclude_none=True)
    model, places = copy.deepcopy(data), settable(file)
    problems: list[Problem] = []
    for setting in settings:
        place = places.get(setting.key)
        if place is None:
            problems.append(_unknown(setting, places, document))
            continue
        value = _new_value(_present(file, model, place), setting, document, problems)
        if value is not None:
            put(data, place, value)
    refuse(problems)
    return data


def settable(file: MachineFile) -> dict[str, Place]:
    """Return every name that a setting may use, and its place in the file.

    Joints and motors share the names of friction. A short name means the one that the file gives, and the
    joint's where it gives neither; where it gives both, only full names are understood. Aliases make short
    names, too.
    """
    places = _with_parts("gravity_m_s2", ("gravity_m_s2",))
    short: dict[str, list[tuple[bool, Place]]] = {}
    joints = {name: row.alias for name, row in file.joints.items() if row.alias}
    foreign = {
        "bodies": {name: row.alias for name, row in file.bodies.items() if row.alias},
        "joints": joints,
        "motors": joints,
    }
    for section, keys in _PHYSICS.items():
        for name, row in getattr(file, section).items():
            for key in _keys(row, keys):
                for text, place in _with_parts(f"{name}.{key}", (section, name, key)).items():
                    places[f"{section}.{text}"] = place
                    short.setdefault(text, []).append((key in row.model_fields_set, place))
                    if name in foreign.get(section, {}):
                        text = foreign[section][name] + text[len(name) :]
                        short.setdefault(text, []).append((key in row.model_fields_set, place))
    for text, candidates in short.items():
        given = [place for is_given, place in candidates if is_given]
        if len(given) < 2:
            places[text] = given[0] if given else candidates[0][1]
    return places


def blame(problem: Problem, file: MachineFile, settings: Sequence[Override], document: Document) -> Problem:
    """Move a problem of the plant's data to the setting that caused it: the last one that concerns it."""
    places = settable(file)
    for setting in reversed(settings):
        place = dotted(places[setting.key])
        if problem.key and (place.startswith(problem.key) or problem.key.startswith(place)):
            found, allowed, remedy = problem.found, problem.allowed, problem.remedy
            return setting.problem(document, problem.message, found=found, allowed=allowed, remedy=remedy)
    return problem


def _keys(row: Section, names: tuple[str, ...]) -> list[str]:
    """Return the keys that this entry may have and that can be set."""
    keys = (keys_named(type(row), name) for name in names)
    return [key for own in keys for key in own if key in type(row).model_fields]


def _with_parts(text: str, place: Place) -> dict[str, Place]:
    key = str(place[-1])
    parts: dict[str, Place] = {text: place}
    if key == "inertia_kg_m2":
        parts.update({f"{text}.{part}": (*place, part) for part in ("xx", "yy", "zz", "xy", "xz", "yz")})
    parts.update({f"{text}[{index}]": (*place, index) for index in range(_ELEMENTS.get(key, 0))})
    return parts


def _unknown(setting: Override, places: dict[str, Place], document: Document) -> Problem:
    matching = [text for text in places if text.split(".", 1)[-1] == setting.key]
    if len(matching) > 1:
        message, allowed = "this name is ambiguous", ", ".join(matching)
        return setting.problem(
            document, message, of_key=True, found=setting.key, allowed=allowed, remedy=f"write {matching[0]}"
        )
    owner = setting.key.partition(".")[0]
    own = [text for text in places if text.split(".", 1)[0] == owner and "[" not in text]
    part = _NUMBERED.fullmatch(setting.key)
    indexed = f"{part[1]}[{part[2]}]" if part else ""
    meant = indexed if indexed in places else nearest(setting.key, places)
    return setting.problem(
        document,
        "no value with this name can be set",
        of_key=True,
        found=setting.key,
        allowed=", ".join(own) or "NAME.KEY of a body, joint, motor or contact",
        remedy=f"write {meant}" if meant else "",
    )


def _new_value(old: Any, setting: Override, document: Document, problems: list[Problem]) -> Any:
    """Return the value to write, or None after noting the problem."""
    if not isinstance(setting.value, str):
        return setting.value
    percent = _PERCENT.fullmatch(setting.value.strip())
    if percent is None:
        allowed, remedy = "a number, or a percentage with its sign", 'write, for example, "+20%"'
        problems.append(
            setting.problem(
                document, "this is not a value", found=shown(setting.value), allowed=allowed, remedy=remedy
            )
        )
        return None
    factor = 1.0 + float(percent.group(1)) / 100.0
    if not math.isfinite(factor):
        problems.append(setting.problem(document, "this percentage is out of range", found=setting.value))
        return None
    if not any(_numbers(old)):
        remedy = "give the value itself"
        problems.append(
            setting.problem(document, "a percentage of 0 changes nothing", found=setting.value, remedy=remedy)
        )
        return None
    return _scaled(old, factor)


def _numbers(value: Any) -> list[float]:
    if isinstance(value, dict):
        return [float(part) for part in value.values() if not isinstance(part, bool)]
    return (
        [float(part) for part in value]
        if isinstance(value, list)
        else [0.0 if value is None else float(value)]
    )


def _scaled(value: Any, factor: float) -> Any:
    if isinstance(value, dict):
        return {key: part if isinstance(part, bool) else part * factor for key, part in value.items()}
    return [part * factor for part in value] if isinstance(value, list) else value * factor


def _present(file: MachineFile, model: Any, place: Place) -> Any:
    """Return the value at a place; that of a quantity in the unit of the place, if the file gives another."""
    found, (section, name, key) = _get(model, place), (*place, "", "")[:3]
    if found is None:
        row = getattr(file, str(section))[name]
        for part in quantities_of(type(row)):
            if key in part.keys(row.is_angle):
                return part.in_unit_of(row, str(key))
    return found


def _get(data: Any, place: Place) -> Any:
    for step in place:
        if isinstance(data, dict):
            data = data.get(str(step))
        else:
            data = data[int(step)] if isinstance(data, list) else None
    return data


def put(data: Any, place: Place, value: Any) -> None:
    """Write a value at a place of a file's data; other spellings of the same quantity are removed."""
    *way, last = place
    for step in way:
        if isinstance(data, dict) and step in ("rpy_rad", "rpy_deg") and step not in data:
            data[step] = [0.0, 0.0, 0.0]
        data = data[step]
    if isinstance(data, float):  # another setting replaced the whole list: the check of its type reports it
        return
    for group in _SAME_THING:
        for other in group - {last} if last in group else ():
            data.pop(other, None)
    data[last] = value
