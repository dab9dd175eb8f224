"""`load` and `check`: from the name of a machine or of its file to the machine."""

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from linkwork.arrays import Floats
from linkwork.brief import Brief
from linkwork.machine.alias_text import without_aliases
from linkwork.machine.building import mechanism_builder as building
from linkwork.machine.building.contact_parameters import check_steps, with_compliance
from linkwork.machine.building.dof_names import coordinates, degrees_of_freedom
from linkwork.machine.building.idle_motions import idle_motions, with_idle
from linkwork.machine.building.initial_state import (
    branch_warnings,
    given_state,
    initial_state,
    unkept_warnings,
)
from linkwork.machine.building.kept_values import values_of
from linkwork.machine.building.overrides import apply_settings, blame, settings_of
from linkwork.machine.building.sensed_forces import force_sensors
from linkwork.machine.catalogue import shipped, shipped_path
from linkwork.machine.checks.alias_names import aliases_of
from linkwork.machine.checks.assembly_modes import assembly_warnings
from linkwork.machine.checks.controllability import leverage_warnings, refusal_problems
from linkwork.machine.checks.goal_coordinates import dependent_warnings, goal_coordinates, warnings_of
from linkwork.machine.checks.holding import holding_warnings
from linkwork.machine.checks.rank_gap import rank_warnings
from linkwork.machine.checks.references import check_references
from linkwork.machine.checks.schema_validation import validate
from linkwork.machine.checks.setting_checks import check_motor_settings
from linkwork.machine.description import LOAD_SLACK, LoadLimit, Machine, fingerprint
from linkwork.machine.frames import moving_frames
from linkwork.machine.nearest_name import nearest
from linkwork.machine.problems import MachineError, Problem, refuse
from linkwork.machine.repeats import expanded, parse_machine
from linkwork.machine.sections.bounds import Region
from linkwork.machine.sections.fields import NAME_PATTERN
from linkwork.machine.sections.file import MachineFile
from linkwork.machine.sections.force_settings import rows_with_unit
from linkwork.machine.sections.motors import Motor
from linkwork.machine.sections.settings import PreloadLimit
from linkwork.machine.units import choices, keys_of, with_aliases
from linkwork.machine.visuals import VisualShape
from linkwork.machine.yaml_document import Document, read_yaml
from linkwork.multibody.assembly.closed_form_search import CLOSED_FORMS
from linkwork.multibody.mechanism import Mechanism
from linkwork.multibody.model import ModelError
from linkwork.protocol.trajectory import read_bounds


def load(source: str | Path, plant_set: Sequence[str] = (), *, offline: bool = False) -> Machine:
    """Read a machine: the path of a file, or the name of a machine of linkwork ("scara").

    `plant_set` are settings of the simulated plant, as `plant.set` in the file has them:
    "upper_arm.mass_kg=+20%". `offline`: springs, stops and contacts need not suit the steps of the plant;
    `simulate` judges them by its own. Raises MachineError with every problem found.
    """
    return machine_in(read_machine_text(source), plant_set, offline=offline)


def machine_in(document: Document, plant_set: Sequence[str] = (), *, offline: bool = False) -> Machine:
    """Build the machine of a document that has been read; see `load`."""
    document = without_aliases(expanded(document))
    file = _checked(document.data, document)
    mechanism = _built(file, document)
    plant_file, plant_mechanism = _plant(file, mechanism, document, plant_set)
    q, v, assembly = initial_state(file, mechanism, document)
    idle = idle_motions(file, mechanism, document, q, v)
    if idle:
        mechanism, plant_mechanism = (
            with_idle(mechanism, idle, held=True),
            with_idle(plant_mechanism, idle, held=False),
        )
        q, v, assembly = initial_state(file, mechanism, document, near=q)
        assembly = replace(assembly, idle=idle)
    mechanism, plant_mechanism = _touching(file, plant_file, mechanism, plant_mechanism, q)
    if plant_mechanism.stops or plant_mechanism.contacts or plant_mechanism.elements:
        check_steps(plant_file, plant_mechanism, q, document, offline=offline)
    feeling = force_sensors(file, mechanism, document)
    joints, order = building.joint_limits_of(file), degrees_of_freedom(file)
    motors, sensors = building.placed(file.motors, order), building.placed(file.sensors, order)
    switchable = tuple(name for name, spec in file.constraints.items() if spec.switchable)
    signals = tuple(signal.at(name) for name, signal in file.signals.items())
    goals = goal_coordinates(file, mechanism, document, q, assembly.dof)
    refuse(check_motor_settings(file, document, assembly.dof, goals))
    controller, no_preload = file.controller, PreloadLimit.model_construct(effort=0.0, most=0.0)
    return Machine(
        name=file.name,
        about=file.about,
        document=document,
        mechanism=mechanism,
        plant_mechanism=plant_mechanism,
        joints=joints,
        coordinates=building.limits_of(file),
        motors=motors,
        sensors=sensors,
        load_limits=load_limits(file, mechanism, motors, document),
        force_sensors=feeling,
        initial_q=q,
        initial_v=v,
        goal_coordinates=goals,
        tolerances=tuple(controller.tolerances.of(name) for name in coordinates(file)),
        preload=tuple(controller.preload.get(name, no_preload) for name in file.motors),
        effort_scale=tuple(controller.effort_scale.get(each.joint, each.max_effort) for each in motors),
        plant=file.plant,
        controller=controller,
        driver=file.driver,
        twin=file.twin,
        model_hash=fingerprint(building.physics(file)),
        plant_model_hash=fingerprint(building.physics(plant_file, plant=True)),
        config_hash=fingerprint([building.everything(file), building.everything(plant_file)]),
        warnings=(
            *warnings_of(file, document),
            *unkept_warnings(document, file, assembly, mechanism),
            *branch_warnings(document, assembly),
            *dependent_warnings(file, mechanism, document, q, assembly.dof),
        ),
        assembly=assembly,
        closed_form=file.closed_form,
        regions=building.placed(file.workspace, file.points),
        payloads=building.placed(controller.payloads, file.points),
        plant_set=tuple(plant_set),
        switchable=switchable,
        closed_when=tuple(file.constraints[name].closed_when for name in switchable),
        signals=signals,
        scene=None if plant_file.scene is None else plant_file.scene.make(),
        visuals=_visuals(file),
        frames=moving_frames(file, mechanism),
        aliases=aliases_of(file),
        poses=named_poses(file, mechanism, document, q, goals),
    )


def mechanism_of(text: str) -> Mechanism:
    """Build the mechanism of the text of a machine file, without an initial pose.

    Raises MachineError with every problem found.
    """
    return drawable(text).mechanism


@dataclass(frozen=True, eq=False, repr=False)
class Drawable(Brief):
    """The parts of a machine that a drawing needs, without an initial pose."""

    mechanism: Mechanism
    visuals: tuple[VisualShape, ...]
    regions: tuple[Region, ...]


def drawable(text: str) -> Drawable:
    """Build what a drawing needs of the text of a machine file; nothing is assembled.

    Raises MachineError with every problem found.
    """
    document = without_aliases(parse_machine(text))
    file = _checked(document.data, document)
    return Drawable(_built(file, document), _visuals(file), building.placed(file.workspace, file.points))


def _visuals(file: MachineFile) -> tuple[VisualShape, ...]:
    return tuple(shape.make(name) for name, body in file.bodies.items() for shape in body.visual)


def plant_mechanism_with(machine: Machine, plant_set: Sequence[str]) -> Mechanism:
    """Build a loaded machine's plant mechanism once more, with settings beyond its own; see `load`.

    Raises MachineError with every problem found.
    """
    document = machine.document
    file = checked_file(machine)
    mechanism = _built(file, document)
    settings = [*machine.plant_set, *plant_set]
    plant_file, plant_mechanism = _plant(file, mechanism, document, settings)
    plant_mechanism = with_idle(plant_mechanism, machine.assembly.idle, held=False)
    return _touching(file, plant_file, mechanism, plant_mechanism, machine.initial_q)[1]


def checked_file(machine: Machine) -> MachineFile:
    """Return the checked sections of the file of a machine."""
    return _checked(machine.document.data, machine.document)


def given_state_of(machine: Machine) -> tuple[Floats, Floats]:
    """Return the initial q (nq) and v (nv) exactly as the file of a machine gives them."""
    return given_state(checked_file(machine), machine.mechanism)


def check(source: str | Path, plant_set: Sequence[str] = ()) -> tuple[Problem, ...]:
    """Return every problem of a machine file: the errors or, where there are none, the warnings.

    What the controller refuses in a valid file with motors or sensors is an error too.
    """
    return load_with_problems(source, plant_set)[1]


def load_with_problems(
    source: str | Path, plant_set: Sequence[str] = ()
) -> tuple[Machine | None, tuple[Problem, ...]]:
    """Return a machine, the controller's refusals and the warnings, or None and its errors; see `check`."""
    try:
        machine = load(source, plant_set)
    except MachineError as error:
        return None, error.problems
    refused = refusal_problems(machine) if machine.motors or machine.sensors else []
    more = [*refused, *holding_warnings(machine)]
    if machine.is_constrained:
        more += [*leverage_warnings(machine), *rank_warnings(machine), *assembly_warnings(machine)]
    return machine, (*machine.warnings, *more)


def name_in(source: str | Path) -> str | None:
    """The name of the machine in a file, without looking at the rest; None where `load` will complain."""
    try:
        data = read_machine_text(source).data
    except MachineError:
        return None
    name = data.get("name") if isinstance(data, dict) else None
    return name if isinstance(name, str) and re.fullmatch(NAME_PATTERN, name) else None


def read_machine_text(source: str | Path) -> Document:
    """Read the file that a source means; a name that ships wins over a file of that name here."""
    if isinstance(source, str) and source in shipped():
        return read_yaml(shipped_path(source))
    try:
        return read_yaml(source)
    except MachineError as error:
        if Path(source).exists():
            raise
        raise MachineError([_with_neighbours(problem, Path(source)) for problem in error.problems]) from None


def _with_neighbours(problem: Problem, path: Path) -> Problem:
    """Complete "no such file" by the files beside it and the machines that ship."""
    try:
        beside = sorted(
            str(path.parent / item.name) for item in path.parent.iterdir() if item.suffix == ".yaml"
        )
    except (OSError, ValueError):
        beside = []
    meant = nearest(path.name, [Path(name).name for name in beside]) or nearest(path.stem, shipped())
    allowed = "the path of a file, or a machine of linkwork: " + ", ".join(shipped())
    return replace(problem, allowed=allowed, remedy=f"write {meant}" if meant else problem.remedy)


def _checked(data: Any, document: Document) -> MachineFile:
    file = validate(MachineFile, data, document)
    problems = file if isinstance(file, list) else check_references(file, document)
    if problems or isinstance(file, list):
        raise MachineError(problems)
    return file


def _built(file: MachineFile, document: Document, *, plant: bool = False) -> Mechanism:
    try:
        mechanism = building.build_mechanism(file, plant=plant)
        if file.closed_form is not None:
            CLOSED_FORMS[file.closed_form](mechanism)
        return mechanism
    except ModelError as error:
        raise MachineError([building.model_problem(error, document)]) from None


def _touching(
    file: MachineFile, plant_file: MachineFile, mechanism: Mechanism, plant_mechanism: Mechanism, q: Floats
) -> tuple[Mechanism, Mechanism]:
    """Return both mechanisms with their stops and contacts; one without plant settings."""
    touching = with_compliance(file, mechanism, q)
    if plant_mechanism is mechanism:
        return touching, touching
    return touching, with_compliance(plant_file, plant_mechanism, q, touching)


def _plant(
    file: MachineFile, mechanism: Mechanism, document: Document, plant_set: Sequence[str]
) -> tuple[MachineFile, Mechanism]:
    """Return the plant's file and mechanism; the controller's without plant settings."""
    settings = settings_of(file, plant_set)
    if not settings and not any(force.plant_only for force in file.forces.values()):
        return file, mechanism
    data = apply_settings(file, settings, document)
    plant_file = validate(MachineFile, data, document)
    if isinstance(plant_file, list):
        raise MachineError([blame(problem, file, settings, document) for problem in plant_file])
    try:
        return plant_file, _built(plant_file, document, plant=True)
    except MachineError as error:
        raise MachineError([blame(problem, file, settings, document) for problem in error.problems]) from None


_FORCE, _TORQUE = ("max_force_N", "N", "force"), ("max_torque_N_m", "N m", "torque")


def load_limits(
    file: MachineFile, mechanism: Mechanism, motors: Sequence[Motor], document: Document
) -> tuple[LoadLimit, ...]:
    """Return the limits in the order of the file. Raises MachineError where one cannot be."""
    problems: list[Problem] = []
    limits: list[LoadLimit] = []
    columns, scales = mechanism.model.column_scale, mechanism.model.row_scale
    largest = max((motor.max_effort * columns[motor.index] for motor in motors), default=1.0)
    """Of all scaled efforts: with a row's scale a force or torque that counts as large there."""
    for name, spec in file.constraints.items():
        faults, named = spec.on_exceed == "fault", dict[str, tuple[int, bool]]()
        for (key, unit, word), other in ((_FORCE, _TORQUE), (_TORQUE, _FORCE)):
            most, rows = getattr(spec, key), rows_with_unit(mechanism, name, unit)
            named |= {row: (at, unit == "N") for row, at in rows.items()}
            if most is not None and rows:
                limits.append(LoadLimit(name, tuple(rows.values()), unit == "N", most, faults, scale=most))
            elif most is not None:
                remedy = f", or limit {other[0]}" if rows_with_unit(mechanism, name, other[1]) else ""
                message = f"a constraint of type {spec.type} has no {word}"
                place, remedy = ("constraints", name, key), f"leave it out{remedy}"
                problems.append(document.problem(place, message, of_key=True, remedy=remedy))
        for row, given in spec.load_limits.items():
            where = ("constraints", name, "load_limits", row)
            if row not in named:
                message, allowed = f"{name} has no such row with a force", ", ".join(named) or "none"
                problems.append(document.problem(where, message, found=row, allowed=allowed, of_key=True))
                continue
            try:
                low, high = read_bounds(given)
            except ValueError as error:
                problems.append(document.problem(where, str(error)))
                continue
            at, is_force = named[row]
            scale = min(float(scales[at] * largest), 0.25 * (high - low) / LOAD_SLACK)
            for side, bound in ((-1, low), (1, high)):
                if math.isfinite(bound):
                    limits.append(LoadLimit(name, (at,), is_force, side * bound, faults, scale, side, row))
    refuse(problems)
    return tuple(limits)


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
                allowed, remedy = choices(key, keys_of(angles, speeds=False))
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
