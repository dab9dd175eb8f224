"""The machine as the daemons see it: frozen values in SI units and radians, built from a checked file."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, is_dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linkwork.arrays import Floats
from linkwork.brief import Brief
from linkwork.machine.frames import MovingFrame
from linkwork.machine.problems import Problem
from linkwork.machine.sections.bounds import PayloadBounds, Region
from linkwork.machine.sections.drivers import DriverSettings
from linkwork.machine.sections.force_sensors import ForceSensor
from linkwork.machine.sections.force_settings import ForceRow, force_rows
from linkwork.machine.sections.limits import Limits, Tolerances
from linkwork.machine.sections.motors import Motor
from linkwork.machine.sections.scene_section import Scene
from linkwork.machine.sections.sensors import Sensor
from linkwork.machine.sections.settings import ControllerSettings, PlantSettings, PreloadLimit, TwinSettings
from linkwork.machine.sections.signal_section import Signal
from linkwork.machine.visuals import VisualShape
from linkwork.machine.yaml_document import Document
from linkwork.multibody.constraints import Constraint
from linkwork.multibody.kernels.layout import ORDINARY, ROUNDING
from linkwork.multibody.mechanism import Mechanism
from linkwork.multibody.workspace import Workspace


def fingerprint(data: Any) -> str:
    """Return the hex SHA-256 of plain data, dataclasses and arrays, independent of the order of keys."""
    text = json.dumps(_plain(data), sort_keys=True, separators=(",", ":"), allow_nan=True)
    return hashlib.sha256(text.encode()).hexdigest()


def _plain(data: Any) -> Any:
    if is_dataclass(data) and not isinstance(data, type):
        return {field.name: _plain(getattr(data, field.name)) for field in fields(data)}
    if isinstance(data, dict):
        return {str(key): _plain(value) for key, value in data.items()}
    if isinstance(data, np.ndarray):
        return _plain(data.tolist())
    if isinstance(data, (list, tuple)):
        return [_plain(value) for value in data]
    if isinstance(data, (float, np.floating)):
        return float(data) + 0.0
    return data


def _combined_limits(name: str, limits: Sequence[Limits], row: NDArray[np.float64], is_angle: bool) -> Limits:
    """Return the limits of a linear combination with these coefficients (one for each of the limits)."""
    unit, shares = "rad" if is_angle else "m", np.abs(row)
    given = {}
    for key, per in (("velocity", "s"), ("acceleration", "s2"), ("jerk", "s3")):
        parts = [share * getattr(one, key) for share, one in zip(shares, limits, strict=True) if share]
        if parts and math.isfinite(sum(parts)):
            given[f"{key}_{unit}_{per}"] = sum(parts)
    return Limits.of_kind(is_angle)(**given).at(name)


LOAD_SLACK = 0.005
"""Distance from its limit at which a load is kept, over the load that counts as large."""


@dataclass(frozen=True)
class LoadLimit:
    """Load limit of a constraint: its `load` is at most `most` (N where `is_force`, else N m).

    The load is the norm of the multipliers of these `rows` (of all the machine's), or `side` (1 or -1) times
    that of a single row, named `component`: -1 is for a lower bound, of which `most` has the opposite sign.
    `scale`: the load that counts as large. `faults`: beyond the limit, in motion, there is a fault; else the
    goal is slowed down.
    """

    constraint: str
    rows: tuple[int, ...]
    is_force: bool
    most: float
    faults: bool
    scale: float
    side: int = 0
    component: str = ""

    @property
    def kept(self) -> float:
        """The load up to which motors that have a choice keep it."""
        return self.most - LOAD_SLACK * self.scale

    @property
    def name(self) -> str:
        """The constraint, or its row."""
        return f"{self.constraint}.{self.component}" if self.component else self.constraint

    def load(self, multipliers: Floats) -> Floats:
        """Return the load (n) for n samples of all multipliers (n × rows)."""
        own = multipliers[:, list(self.rows)]
        return np.asarray(self.side * own[:, 0] if self.side else np.linalg.norm(own, axis=1))


@dataclass(frozen=True)
class Unkept:
    """An initial value that was not kept: what was `given` and what was `found`, rad or m."""

    name: str
    given: float
    found: float


@dataclass(frozen=True)
class IdleMotion:
    """An idle degree of freedom of `joint` (building/idle_motions.py).

    Its share in the joint's degrees of freedom is the `direction` (scaled, of length 1). `damping` is the
    viscous friction of each of them, N m s/rad or N s/m; `row` is the constraint that holds the motion in the
    controller's model.
    """

    joint: str
    direction: tuple[float, ...]
    damping: float
    row: Constraint


@dataclass(frozen=True)
class Assembly:
    """Assembly of the initial state.

    `dof` of the motion near it, the `rank` of the constraints' rows at the very pose and the
    `ordinary_rank` beside it (larger at a branch pose), their `rows`; `residual`, the largest |Φ| left, in
    typical lengths or rad, and the `iterations`; `kept`, the values that were kept, in their order, and
    `unkept`, given ones that were not.
    `branches`: where several meet at the pose and have the initial speeds that are given, the speeds of each
    as text, that of v first.
    Of the decision on the rank: the `limit` between directions of the scaled rows (1: ordinary) that count
    and those that are round-off, the `smallest` singular value that counts (inf: no rows) and the
    `largest_dropped` one. The `idle` motions are held in the controller's model and not counted in `dof`.
    """

    dof: int
    rows: int
    rank: int
    ordinary_rank: int
    residual: float
    iterations: int
    kept: tuple[str, ...]
    unkept: tuple[Unkept, ...] = ()
    branches: tuple[str, ...] = ()
    limit: float = ROUNDING
    smallest: float = math.inf
    largest_dropped: float = 0.0
    idle: tuple[IdleMotion, ...] = ()


@dataclass(frozen=True, eq=False, repr=False)
class Machine(Brief):
    """A machine file, checked and built.

    `document` is the file as it was read, with the places of its keys. `mechanism` is the controller's
    model; `plant_mechanism` is that of the simulated plant (`plant.set`, command line). `coordinates` has the
    limits of every coordinate in the mechanism's order, `tolerances` their tolerances, `joints` the limits of
    its nv degrees of freedom. `preload` has one entry for each motor, `effort_scale` too (N m or N): the unit
    in which its effort counts when efforts are allocated.
    `initial_q` (nq) and `initial_v` (nv) are read-only and obey the constraints; `assembly` records how they
    were found. The `plant_set` are the settings of the plant that were given beside the file. `closed_form`
    names the explicit solution of the plant's closures that the file asks for. `switchable` names the
    constraints that may be switched while the machine runs, `closed_when` their conditions on signals, "" for
    none. `signals` are the inputs and outputs beside
    motors and sensors, both in the order of the file. `scene` has the loose parts and grippers of the
    simulated plant, `visuals` the shapes of bodies for drawings, `frames` are the moving frames. `aliases`
    has the machine's names by their foreign names. The hashes are hex SHA-256 texts: of the two models'
    physics, and of everything.
    """

    name: str
    about: str
    document: Document
    mechanism: Mechanism
    plant_mechanism: Mechanism
    joints: tuple[Limits, ...]
    coordinates: tuple[Limits, ...]
    motors: tuple[Motor, ...]
    sensors: tuple[Sensor, ...]
    load_limits: tuple[LoadLimit, ...]
    force_sensors: tuple[ForceSensor, ...]
    initial_q: NDArray[np.float64]
    initial_v: NDArray[np.float64]
    goal_coordinates: tuple[str, ...]
    tolerances: tuple[Tolerances, ...]
    preload: tuple[PreloadLimit, ...]
    effort_scale: tuple[float, ...]
    plant: PlantSettings
    controller: ControllerSettings
    driver: DriverSettings
    twin: TwinSettings
    model_hash: str
    plant_model_hash: str
    config_hash: str
    warnings: tuple[Problem, ...]
    assembly: Assembly
    closed_form: str | None = None
    regions: tuple[Region, ...] = ()
    payloads: tuple[PayloadBounds, ...] = ()
    plant_set: tuple[str, ...] = ()
    switchable: tuple[str, ...] = ()
    closed_when: tuple[str, ...] = ()
    signals: tuple[Signal, ...] = ()
    scene: Scene | None = None
    visuals: tuple[VisualShape, ...] = ()
    frames: tuple[MovingFrame, ...] = ()
    aliases: Mapping[str, str] = field(default_factory=dict)
    poses: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    """Named poses: coordinate → position, rad or m."""

    @property
    def path(self) -> str:
        """The path of the machine file."""
        return self.document.file

    @property
    def period_s(self) -> float:
        """Time between two states of the plant, and two ticks of the controller, s."""
        return self.plant.period_s

    @property
    def source_text(self) -> str:
        """The text of the machine file."""
        return self.document.text

    @property
    def is_constrained(self) -> bool:
        """Whether there are constraints beyond the joints."""
        return bool(self.mechanism.constraints)

    @property
    def dof(self) -> int:
        """Number of degrees of freedom: nv of the joints less the rank of the constraints."""
        return self.assembly.dof

    @property
    def effort_weights(self) -> NDArray[np.float64]:
        """Diagonal (motors) of the metric W of allocated efforts: the squares of their scales."""
        return np.square(self.effort_scale)

    def workspace(self) -> Workspace:
        """Return a new workspace of the controller's model in the initial state, put together."""
        work = self.mechanism.workspace(self.initial_q, self.initial_v)
        work.ranking[ORDINARY] = self.assembly.ordinary_rank
        return work

    def interface(self) -> dict[str, Any]:
        """Return what both ends of the device link must agree on, as plain data.

        Joints, motors and sensors in order with units, and the period; `force_sensors`, names of `switchable`
        constraints and `signals` where the machine has some; `mode` of motors that follow positions.
        """
        more = {
            "force_sensors": [sensor.interface() for sensor in self.force_sensors],
            "switchable": list(self.switchable),
            "signals": [signal.interface() for signal in self.signals],
        }
        mode = {"mode": "csp"} if self.driver.follows_positions else {}
        return {
            "joints": [{"name": joint.name, "unit": joint.unit} for joint in self.joints],
            "motors": [{"joint": motor.joint, "unit": motor.effort_unit, **mode} for motor in self.motors],
            "sensors": [
                {"joint": sensor.joint, "unit": sensor.unit, "velocity": sensor.velocity}
                for sensor in self.sensors
            ],
            "period_s": self.period_s,
            **{key: value for key, value in more.items() if value},
        }

    @cached_property
    def interface_hash(self) -> str:
        """Hash of the interface, hex SHA-256."""
        return fingerprint(self.interface())

    @cached_property
    def inputs(self) -> tuple[Signal, ...]:
        """The signals that the device reports."""
        return tuple(signal for signal in self.signals if signal.is_input)

    @cached_property
    def outputs(self) -> tuple[Signal, ...]:
        """The signals that the controller sets."""
        return tuple(signal for signal in self.signals if not signal.is_input)

    @property
    def closed_at_start(self) -> int:
        """Bit i is set where the i-th switchable constraint holds from the start; -1 without any."""
        if not self.switchable:
            return -1
        on = {each.name: each.on for each in self.mechanism.constraints}
        return sum(1 << i for i, name in enumerate(self.switchable) if on[name])

    def combining(
        self, rows: Mapping[str, NDArray[np.float64]], angles: Sequence[bool], *, writable: bool = False
    ) -> Machine:
        """Return the machine with linear combinations of its coordinates as further ones.

        rows: the coefficients of each (n, of all coordinates). angles: whether each is one. writable: see
        the mechanism. A combination is limited in its rates by the sum of its coordinates' limits.
        """
        limits = [
            _combined_limits(name, self.coordinates, row, is_angle)
            for (name, row), is_angle in zip(rows.items(), angles, strict=True)
        ]
        return replace(
            self,
            mechanism=self.mechanism.combining(rows, angles, writable=writable),
            coordinates=(*self.coordinates, *limits),
            tolerances=(*self.tolerances, *(self.controller.tolerances.of(name) for name in rows)),
        )

    @property
    def joint_coordinates(self) -> int:
        """Number of joint coordinates, the first of the mechanism's; the others are of points.

        The degrees of freedom of a quaternion have no coordinate, so this may be less than nv.
        """
        return sum(name in self.mechanism.joint_names for name in self.mechanism.coordinate_names)

    @property
    def home_coordinates(self) -> tuple[int, ...]:
        """The independent coordinates to which joints that are named in a goal or a jog are completed.

        All joints; where closures or quaternions leave fewer of them independent, the goal coordinates.
        """
        names = self.mechanism.coordinate_names
        if self.is_constrained or self.joint_coordinates < self.mechanism.nv:
            return tuple(names.index(name) for name in self.goal_coordinates)
        return tuple(range(self.mechanism.nv))

    @property
    def motor_coordinates(self) -> tuple[int, ...]:
        """The coordinates of the motors' joints, in the motors' order; those of quaternions have none."""
        places = (self.coordinate_index(motor.joint) for motor in self.motors)
        return tuple(place for place in places if place is not None)

    @property
    def force_numbers(self) -> int:
        """Number of components of all force sensors together."""
        return sum(len(sensor.components) for sensor in self.force_sensors)

    def held_limits(self) -> tuple[LoadLimit, ...]:
        """Return the load limits; those of constraints that are open have no bound."""
        open_ones = {one.name for one in self.mechanism.constraints if not one.on}
        return tuple(
            replace(limit, most=math.inf) if limit.constraint in open_ones else limit
            for limit in self.load_limits
        )

    def gauge_of(self, row: int) -> int:
        """Place of the number, among those of all force sensors, that measures a row of the constraints.

        -1: none does, or the controller is to go by the model.
        """
        if self.controller.force.source == "sensor":
            for sensor in self.force_sensors:
                if row in sensor.rows:
                    return sensor.first + sensor.rows.index(row)
        return -1

    @property
    def force_rows(self) -> tuple[ForceRow, ...]:
        """The forces that goals may name: not those of constraints that can be switched."""
        components = len(self.motors) > self.dof and not self.switchable
        rows = force_rows(self.mechanism, components=components)
        names = self.mechanism.constraint_names
        return tuple(row for row in rows if row.kind == "contact" or names[row.index] not in self.switchable)

    def coordinate_index(self, name: str) -> int | None:
        """Return the place of a coordinate (joint or task) in the mechanism's order, or None."""
        names = self.mechanism.coordinate_names
        return names.index(name) if name in names else None
