"""The answer to `describe`: the machine's names, units, limits."""

from collections.abc import Mapping
from typing import Final, Literal

from linkwork.controller.estimation.redundant_sensors import told
from linkwork.controller.exchange.records import finite
from linkwork.machine import Limits, Machine
from linkwork.machine.constraint_sets import names_of
from linkwork.machine.sections.signal_section import Signal
from linkwork.machine.visuals import mesh_hashes
from linkwork.protocol.codes import Pace, Role
from linkwork.protocol.laws import REST_LAW_NAMES
from linkwork.protocol.request_table import REQUESTS
from linkwork.protocol.results import (
    Described,
    DescribedSet,
    DescribedSettings,
    DescribedSignal,
    DescribeResult,
)

NO_SETS: Final[Mapping[int, Machine | str]] = {}
"""Of a machine without switchable constraints."""


def describe(
    machine: Machine,
    pace: Pace,
    sets: Mapping[int, Machine | str] = NO_SETS,
    role: Role | None = Role.SERVICE,
) -> DescribeResult:
    """The answer of `describe` to a client with this role; `sets` as of `machine.constraint_sets`."""
    joints = set(machine.mechanism.joint_names)
    return {
        "machine": machine.name,
        "about": machine.about,
        "joints": [_coordinate(limits, "joint") for limits in machine.joints],
        "coordinates": [
            _coordinate(limits, "joint" if limits.name in joints else "task")
            for limits in machine.coordinates
        ],
        "goal_coordinates": list(machine.goal_coordinates),
        "motors": [
            {
                "name": motor.joint,
                "unit": motor.effort_unit,
                "kind": "motor",
                "limits": {
                    "effort": finite(motor.max_effort),
                    "effort_rate": finite(motor.max_effort_rate),
                    "speed": finite(motor.max_speed),
                    "brake_effort": finite(motor.brake_effort),
                },
            }
            for motor in machine.motors
        ],
        "sensors": [
            {
                "name": sensor.joint,
                "unit": sensor.unit,
                "kind": "sensor",
                "limits": {"resolution": finite(sensor.resolution)},
            }
            for sensor in machine.sensors
        ],
        "sensing": told(machine),
        "forces": [{"name": row.name, "kind": row.kind, "unit": row.unit} for row in machine.force_rows],
        "force_sensors": [sensor.interface() for sensor in machine.force_sensors],
        "switchable": list(machine.switchable),
        "constraint_sets": [_set(machine, closed, one) for closed, one in sets.items() if closed >= 0],
        "signals": [_signal(each) for each in machine.signals],
        "aliases": dict(machine.aliases),
        "poses": {name: dict(pose) for name, pose in machine.poses.items()},
        "laws": [machine.controller.law, *REST_LAW_NAMES],
        "law": machine.controller.law,
        "pace": pace.value,
        "settings": _settings(machine),
        "period_s": machine.period_s,
        "lease_s": machine.controller.lease_s,
        "interface": machine.interface_hash,
        "model": machine.model_hash,
        "config": machine.config_hash,
        "file": {
            "path": machine.path,
            "text": machine.source_text,
            "meshes": mesh_hashes(machine.path, machine.visuals),
        },
        "role": "" if role is None else role.word,
        "roles": {name: request.role.word for name, request in REQUESTS.items()},
        "methods": {name: request.about for name, request in REQUESTS.items()},  # type: ignore[typeddict-unknown-key]
    }


def _settings(machine: Machine) -> DescribedSettings:
    controller = machine.controller
    return {
        "gains": {
            "bandwidth_rad_s": list(controller.bounds_of("bandwidth_rad_s")),
            "damping_ratio": list(controller.bounds_of("damping_ratio")),
        },
        "payloads": {
            one.name: {
                "mass_kg": one.max_mass_kg,
                "com_m": one.max_com_m,
                "inertia_kg_m2": one.max_inertia_kg_m2,
            }
            for one in machine.payloads
        },
        "assemblies": controller.estimator.assemblies or "one",
    }


def _set(machine: Machine, closed: int, under: Machine | str) -> DescribedSet:
    """Capabilities of the machine while exactly these of its switchable constraints hold."""
    names = list(names_of(machine, closed))
    if isinstance(under, str):
        return {"closed": names, "degrees_of_freedom": None, "goal_coordinates": [], "refused": under}
    goals = list(under.goal_coordinates)
    return {"closed": names, "degrees_of_freedom": under.dof, "goal_coordinates": goals, "refused": None}


def _signal(signal: Signal) -> DescribedSignal:
    on_fault, on_link_loss, on_disable = (
        None if value != value else signal.plain(value)
        for value in (signal.on_fault, signal.on_link_loss, signal.on_disable)
    )
    return {
        "name": signal.name,
        "direction": signal.direction,
        "type": signal.type,
        "unit": signal.unit,
        "range": [signal.low, signal.high],
        "initial": signal.plain(signal.initial),
        "on_fault": on_fault,
        "on_link_loss": on_link_loss,
        "on_disable": on_disable,
    }


def _coordinate(limits: Limits, kind: Literal["joint", "task"]) -> Described:
    low, high = finite(limits.position[0]), finite(limits.position[1])
    return {
        "name": limits.name,
        "unit": limits.unit,
        "kind": kind,
        "limits": {
            "position": [low, high] if low is not None and high is not None else None,
            "velocity": finite(limits.velocity),
            "acceleration": finite(limits.acceleration),
            "jerk": finite(limits.jerk),
        },
    }
