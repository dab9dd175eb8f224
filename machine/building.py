"""From checked sections to the mechanism and the frozen values that the daemons use."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import numpy as np
from numpy.typing import NDArray

from machine.description import ControllerSettings, Limits, Motor, PlantSettings, Sensor, Tolerance
from machine.file import MachineFile
from machine.joints import FixedSpec, PrismaticSpec, RevoluteSpec, ScrewSpec, friction
from machine.problems import Problem
from machine.references import moving_joints
from machine.tasks import AngleTaskSpec
from machine.units import keys_of
from machine.yaml import Document
from multibody.mechanism import Mechanism
from multibody.model import Body, Coordinate, Joint, ModelError, Point

_SECTION = {"coordinates": "task"}


def build_mechanism(file: MachineFile) -> Mechanism:
    """Build the mechanism that a file describes. Raises multibody.ModelError."""
    bodies = [
        Body(name, spec.mass_kg, np.array(spec.com_m, dtype=np.float64), spec.inertia_kg_m2.matrix())
        for name, spec in file.bodies.items()
    ]
    points = [
        Point(name, spec.body, np.array(spec.at_m, dtype=np.float64)) for name, spec in file.points.items()
    ]
    return Mechanism.build(
        bodies,
        [_joint(file, name) for name in file.joints],
        np.array(file.gravity_m_s2, dtype=np.float64),
        points=points,
        coordinates=[Coordinate(name, task.axis(), task.point()) for name, task in file.task.items()],
    )


def _joint(file: MachineFile, name: str) -> Joint:
    spec = file.joints[name]
    place: dict[str, Any] = {
        "name": name,
        "kind": spec.type,
        "parent": spec.parent,
        "child": spec.child,
        "at_m": np.array(spec.at_m, dtype=np.float64),
        "rotation": spec.rotation(),
    }
    if isinstance(spec, FixedSpec):
        return Joint(**place)
    armature, viscous, coulomb, coulomb_speed = friction(spec)
    if name in file.motors:
        motor = file.motors[name].values()
        armature, viscous, coulomb = (
            armature + motor.armature,
            viscous + motor.viscous,
            coulomb + motor.coulomb,
        )
    return Joint(
        **place,
        axis=spec.direction(),
        pitch_m_per_rad=spec.pitch() if isinstance(spec, ScrewSpec) else 0.0,
        armature=armature,
        viscous=viscous,
        coulomb=coulomb,
        coulomb_speed=coulomb_speed,
    )


def model_problem(error: ModelError, document: Document) -> Problem:
    """Place what the mechanism says about a file."""
    section, *rest = error.where or ("",)
    place = (_SECTION.get(section, section), *rest) if section else ()
    return document.problem(place, error.text, of_key=True)


def physics(file: MachineFile) -> dict[str, Any]:
    """Return what the motion depends on, in SI units, for the hash of the model."""
    joints = {name: asdict(_joint(file, name)) for name in file.joints}
    return {
        "gravity_m_s2": file.gravity_m_s2,
        "bodies": {
            name: {"mass_kg": spec.mass_kg, "com_m": spec.com_m, "inertia_kg_m2": spec.inertia_kg_m2.matrix()}
            for name, spec in file.bodies.items()
        },
        "joints": joints,
        "points": {name: {"body": spec.body, "at_m": spec.at_m} for name, spec in file.points.items()},
        "task": {name: spec.coordinate for name, spec in file.task.items()},
    }


def everything(file: MachineFile) -> dict[str, Any]:
    """Return all that a file says, defaults filled in and order kept where it counts."""
    order = [list(file.joints), list(file.task), list(file.motors), list(file.sensors)]
    return {"file": file.model_dump(), "order": order}


def limits_of(file: MachineFile) -> tuple[Limits, ...]:
    """Return the limits of every coordinate: the joints that move, then the task coordinates."""
    rows = [
        (name, spec, spec.limits) for name, spec in file.joints.items() if not isinstance(spec, FixedSpec)
    ]
    limits = [
        Limits(name, isinstance(spec, (RevoluteSpec, ScrewSpec)), own.position(), *own.rates())
        for name, spec, own in rows
    ]
    for name, task in file.task.items():
        limits.append(
            Limits(name, isinstance(task, AngleTaskSpec), task.limits.position(), *task.limits.rates())
        )
    return tuple(limits)


def motors_of(file: MachineFile) -> tuple[Motor, ...]:
    """Return the motors in the order of the file."""
    order = list(moving_joints(file))
    return tuple(
        Motor(
            name, order.index(name), not isinstance(file.joints[name], PrismaticSpec), **asdict(spec.values())
        )
        for name, spec in file.motors.items()
    )


def sensors_of(file: MachineFile) -> tuple[Sensor, ...]:
    """Return the sensors in the order of the file."""
    order = list(moving_joints(file))
    return tuple(
        Sensor(
            name, order.index(name), not isinstance(file.joints[name], PrismaticSpec), **asdict(spec.values())
        )
        for name, spec in file.sensors.items()
    )


def initial_state(file: MachineFile) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the initial q and v of the joints that move, read-only."""
    moving = moving_joints(file)
    order, known = list(moving), keys_of(moving, speeds=True)
    q, v = np.zeros(len(order)), np.zeros(len(order))
    for key, value in file.initial.items():
        quantity = known[key]
        (v if quantity.is_speed else q)[order.index(quantity.name)] = value * quantity.factor
    q.setflags(write=False)
    v.setflags(write=False)
    return q, v


def plant_settings(file: MachineFile) -> PlantSettings:
    """Return the settings of the plant daemon."""
    return PlantSettings(**file.plant.model_dump(exclude={"set"}))


def controller_settings(file: MachineFile) -> ControllerSettings:
    """Return the settings of the controller daemon, with every default filled in."""
    spec, own = file.controller, file.controller.tolerances
    moving = moving_joints(file)
    tolerances = []
    for name in [*moving, *file.task]:
        given = own.coordinates.get(name)
        values = {key: getattr(given, key, None) for key in ("path", "goal", "start")}
        tolerances.append(
            Tolerance(**{key: getattr(own, key) if v is None else v for key, v in values.items()})
        )
    return ControllerSettings(
        **spec.model_dump(exclude={"period_s", "goal_coordinates", "tolerances", "log_cap_MB"}),
        period_s=file.plant.period_s,
        goal_coordinates=tuple(spec.goal_coordinates or moving),
        tolerances=tuple(tolerances),
        goal_time_s=own.goal_time_s,
        log_cap_bytes=round(spec.log_cap_MB * 1e6),
    )
