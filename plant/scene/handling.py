"""Loose parts and grippers around the simulated machine.

A gripper that closes holds the part that lies in it, where it lies: rigidly, so that part and link move as
one body. The part's mass, first moment and moment of inertia are added to those of the link
(`machine.payloads`), and the velocities after the plastic impact keep the momentum:
    M⁺ v⁺ = M⁻ v⁻ + J' p,   p the momentum of the part, J the Jacobian of its centre
projected onto the constraints in the metric of M⁺. A gripper that opens releases the part with its velocity.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from linkwork.arrays import Floats
from linkwork.machine import Machine
from linkwork.machine.payloads import Loads, load_vector
from linkwork.machine.sections.orientation import unit
from linkwork.machine.sections.scene_section import LightBeam, PartFeeder, SceneGripper, ScenePart
from linkwork.multibody import Workspace
from linkwork.multibody.constraints.rows import constraint_rows
from linkwork.multibody.dynamics.projection import TOLERANCE, correct_position, correct_velocity
from linkwork.multibody.dynamics.tree_dynamics import dynamics
from linkwork.multibody.expressions.conditions import Condition, parse_condition
from linkwork.multibody.tree.kinematics import kinematics, point_jacobian
from linkwork.multibody.workspace import Model
from linkwork.plant.scene.loose_part import LoosePart, PartModel
from linkwork.plant.scene.moving_planes import MovingPlane

_UPPER = np.triu_indices(3)


@dataclass
class _Grip:
    """A gripper: its place, its condition, and the part that it holds, in the axes of the point's body."""

    gripper: SceneGripper
    place: int
    condition: Condition
    closed: bool = False
    part: LoosePart | None = None
    offset: Floats | None = None
    turn: Floats | None = None


class Handling:
    """The loose parts of a machine, its planes and its grippers. `work` is the machine's workspace.

    `gap` (grippers): distance of each gripper's point from the nearest part, m. `holds` (grippers): 1 while
    it holds a part. seed: of the feeders. `moved`: whether the last `act` changed the machine's velocities.
    """

    def __init__(self, machine: Machine, work: Workspace, inputs: Floats, outputs: Floats, seed: int) -> None:
        assert machine.scene is not None
        scene, mechanism = machine.scene, machine.plant_mechanism
        self._machine, self._mechanism, self._work = machine, mechanism, work
        self._period_s = machine.plant.period_s
        self._planes = [MovingPlane(plane, self._period_s) for plane in scene.planes]
        self._travelling = [plane for plane in self._planes if plane.plane.speed]
        self.parts = self._loose_parts([*scene.parts, *(each for one in scene.feeders for each in one.parts)])
        self._supplies = self._supplies_of(scene.feeders, seed)
        self._beams = [BeamState(beam) for beam in scene.beams]
        digital = [signal.name for signal in machine.signals if signal.is_digital]
        self._grips = [
            _Grip(each, mechanism.point_index(each.point), parse_condition(each.closed_when, digital))
            for each in scene.grippers
        ]
        self._signals = [(signal.name, inputs, at) for at, signal in enumerate(machine.inputs)]
        self._signals += [(signal.name, outputs, at) for at, signal in enumerate(machine.outputs)]
        for plane in self._travelling:
            plane.begin(self._values(0.0))
        for supply in self._supplies:
            supply.supply(0.0)
        self.gap, self.holds = np.full(len(self._grips), np.inf), np.zeros(len(self._grips))
        self.moved = False
        self.reported: list[dict[str, Any]] = []
        """What grippers did since it was cleared: name, whether closed, the part held or released."""
        self._jacobian, self._rate = np.zeros((6, mechanism.nv)), np.zeros(6)

    @property
    def quantities(self) -> dict[str, tuple[Floats, int]]:
        """Arrays (n) and places of the quantities of the scene, by name (`Machine.scene`)."""
        names = self._machine.scene.quantities if self._machine.scene else ()
        listed = len(self._machine.scene.parts) if self._machine.scene else 0
        of_parts = [(part.centre, axis) for part in self.parts[:listed] for axis in range(3)]
        of_grippers = [(array, at) for at in range(len(self._grips)) for array in (self.gap, self.holds)]
        of_beams = [(beam.values, at) for beam in self._beams for at in range(2)]
        of_planes = [(plane.state, at) for plane in self._travelling for at in range(2)]
        return dict(zip(names, [*of_parts, *of_grippers, *of_beams, *of_planes], strict=True))

    @property
    def resting(self) -> bool:
        """Whether every part rests, moves with its plane, or is held."""
        return all(part.still or part.held or part.away for part in self.parts)

    def step(self, time_s: float) -> None:
        """Advance by one period, after the machine, to this time."""
        if self._travelling:
            values = self._values(time_s)
            for plane in self._travelling:
                plane.move(values)
        for part in self.parts:
            part.step(self._period_s)
        for supply in self._supplies:
            supply.supply(time_s)
        if self._grips:
            kinematics(*self._work.arguments)
        for grip in self._grips:
            if grip.part is not None:
                grip.part.carry(*self._pose(grip))

    def act(self, base: Model) -> Model | None:
        """Close and open grippers, by the signals of this tick.

        base: the machine's model without parts. Returns the model with the parts that are held, None where
        nothing changed.
        """
        if not self._grips:
            return None
        values = self._values(0.0)
        changed = False
        self.moved = False
        for number, grip in enumerate(self._grips):
            closed = grip.condition.met(values)
            if closed == grip.closed:
                continue
            grip.closed = closed
            before = grip.part
            if closed:
                changed = self._close(grip, base) or changed
            elif grip.part is not None:
                self._open(grip)
                changed = True
            part = grip.part or before
            name = None if part is None else part.part.name
            self.reported.append({"gripper": grip.gripper.name, "closed": closed, "part": name})
            self.holds[number] = float(grip.part is not None)
        return self.loaded(base) if changed else None

    def measure(self) -> None:
        """Write `gap` and sample the light barriers, after `kinematics`."""
        for number, grip in enumerate(self._grips):
            self.gap[number] = self._nearest(grip)[1]
        for beam in self._beams:
            beam.measure(self.parts, self._centres, self._radii)

    def _values(self, time_s: float) -> dict[str, float]:
        """Return the values of signals, and time_s."""
        return {name: float(array[at]) for name, array, at in self._signals} | {"time_s": time_s}

    def _loose_parts(self, parts: Sequence[ScenePart]) -> list[LoosePart]:
        """Return the parts; those of one kind share their mechanics."""
        planes, models, found = [plane.plane for plane in self._planes], list[PartModel](), []
        self._centres, self._radii = np.zeros((len(parts), 3)), np.zeros(len(parts))
        for number, part in enumerate(parts):
            model = next((each for each in models if each.serves(part)), None)
            if model is None:
                model = PartModel(part, planes, self._mechanism.gravity_m_s2)
                models.append(model)
            self._radii[number] = model.radius_m
            found.append(LoosePart(part, model, self._planes, self._centres[number]))
        return found

    def _supplies_of(self, feeders: Sequence[PartFeeder], seed: int) -> list[PartSupply]:
        found, end = [], len(self.parts) - sum(len(each.parts) for each in feeders)
        for number, feeder in enumerate(feeders):
            begin, end = end, end + len(feeder.parts)
            plane = self._planes[feeder.plane]
            found.append(PartSupply(feeder, plane, self.parts[begin:end], [seed, number]))
        return found

    def loaded(self, base: Model) -> Model:
        """Return the machine's model with the parts that are held; `base` is the one without."""
        model = base.with_parameters(writable=True)
        loads = Loads(base, model)
        for grip in self._grips:
            if grip.part is not None and grip.offset is not None and grip.turn is not None:
                part = grip.part.part
                about = grip.turn @ part.inertia_kg_m2 @ grip.turn.T
                loads.aim(grip.place, load_vector(part.mass_kg, grip.offset.tolist(), about[_UPPER].tolist()))
                loads.apply(1.0)
        return model

    # -- gripping ----------------------------------------------------------------------------------------

    def _frame(self, grip: _Grip) -> tuple[Floats, Floats]:
        """Return position (3, m) of the gripper's point and axes (3 × 3) of its body in the world."""
        work, mechanism = self._work, self._mechanism
        link = work.model.point_link[grip.place]
        own = work.model.point_axes[3 * grip.place : 3 * grip.place + 3]
        if link < 0:
            return np.array(mechanism.points[grip.place].at_m), own.T
        axes = work.axes[3 * link : 3 * link + 3]
        return work.point_position[grip.place].copy(), (own @ axes).T

    def _pose(self, grip: _Grip) -> tuple[Floats, Floats]:
        at, axes = self._frame(grip)
        assert grip.offset is not None
        assert grip.turn is not None
        return at + axes @ grip.offset, axes @ grip.turn

    def _nearest(self, grip: _Grip) -> tuple[LoosePart | None, float]:
        """Return the nearest part that no other gripper holds, and its distance from the point (m)."""
        at = self._work.point_position[grip.place]
        nearest, least = None, np.inf
        off = self._centres - at
        bounds = np.sqrt(np.einsum("ij,ij->i", off, off)) - self._radii
        for number in np.argsort(bounds).tolist():
            part = self.parts[number]
            if not bounds[number] < least:
                break
            if part.held and part is not grip.part:
                continue
            outside = np.abs(part.axes.T @ (at - part.centre)) - part.part.size_m / 2.0
            distance = float(np.linalg.norm(np.maximum(outside, 0.0)))
            if distance < least:
                nearest, least = part, distance
        return nearest, least

    def _close(self, grip: _Grip, base: Model) -> bool:
        """Grip the part that lies in the gripper; return whether there is one."""
        work = self._work
        kinematics(*work.arguments)
        part, distance = self._nearest(grip)
        if part is None or distance > grip.gripper.reach_m:
            return False
        at, axes = self._frame(grip)
        grip.part, grip.offset, grip.turn = part, axes.T @ (part.centre - at), axes.T @ part.axes
        part.held = True
        if work.v.any() or part.velocity.any() or part.angular_velocity.any():
            self._collide(grip, part, self.loaded(base))
        part.carry(part.centre, part.axes)
        return True

    def _collide(self, grip: _Grip, part: LoosePart, after: Model) -> None:
        """Keep the momentum of machine and part through the impact; `after`: the model with the part."""
        work = self._work
        dynamics(*work.arguments)
        momentum = work.M @ work.v
        spin = part.axes @ part.part.inertia_kg_m2 @ part.axes.T @ part.angular_velocity
        push = part.part.mass_kg * part.velocity
        point_jacobian(*work.arguments, grip.place, self._jacobian, self._rate)
        at, _ = self._frame(grip)
        momentum += self._jacobian[:3].T @ (spin + np.cross(part.centre - at, push))
        momentum += self._jacobian[3:].T @ push
        dynamics(after, work)
        work.v[:] = np.linalg.solve(work.M, momentum)
        if self._machine.is_constrained:
            constraint_rows(after, work)
            correct_position(after, work, TOLERANCE, 20)
            correct_velocity(after, work)
        self.moved = True

    def _open(self, grip: _Grip) -> None:
        """Release the part with the velocity that it has."""
        part, work = grip.part, self._work
        assert part is not None
        kinematics(*work.arguments)
        point_jacobian(*work.arguments, grip.place, self._jacobian, self._rate)
        turning, moving = np.split(self._jacobian @ work.v, 2)
        at, _ = self._frame(grip)
        part.put(part.centre, part.axes, moving + np.cross(turning, part.centre - at), turning)
        grip.part = grip.offset = grip.turn = None


class BeamState:
    """The state of one light barrier: `values` (2) are `broken` (0 or 1) and `place`.

    The place is where the centre of the part that broke it last lies along the line (m); 0 before the first.
    """

    def __init__(self, beam: LightBeam) -> None:
        self._at, self._along, self._length = np.array(beam.at_m), unit(beam.along), beam.length_m
        self.values = np.zeros(2)

    def measure(self, parts: Sequence[LoosePart], centres: Floats, radii: Floats) -> None:
        """Sample the light barrier. centres (n, 3; m) and radii (n; m): spheres about the parts."""
        self.values[0] = 0.0
        for number in self._near(centres, radii):
            part = parts[number]
            if self._crosses(part):
                self.values[0] = 1.0
                self.values[1] = float((part.centre - self._at) @ self._along)
                return

    def _crosses(self, part: LoosePart) -> bool:
        """Whether the line meets the box (slab method, Kay and Kajiya 1986)."""
        begin = part.axes.T @ (self._at - part.centre)
        along = part.axes.T @ self._along
        first, last = 0.0, self._length
        for at, rate, half in zip(
            begin.tolist(), along.tolist(), (0.5 * part.part.size_m).tolist(), strict=True
        ):
            if abs(rate) < 1e-12:
                if abs(at) > half:
                    return False
                continue
            low, high = sorted(((-half - at) / rate, (half - at) / rate))
            first, last = max(first, low), min(last, high)
        return first <= last

    def _near(self, centres: Floats, radii: Floats) -> list[int]:
        off = centres - self._at
        way = np.clip(off @ self._along, 0.0, self._length)
        off -= way[:, None] * self._along
        return np.flatnonzero(np.einsum("ij,ij->i", off, off) <= radii**2).tolist()


_STREAM = 2
"""Keeps these random numbers apart from those of sensors and signals, which have the same seed."""


class PartSupply:
    """The parts of one feeder, `parts` in their order; those that are still to come are `away`."""

    def __init__(
        self, feeder: PartFeeder, plane: MovingPlane, parts: list[LoosePart], seed: list[int]
    ) -> None:
        self._feeder, self._plane, self._parts = feeder, plane, parts
        random, count = np.random.default_rng([*seed, _STREAM]), len(parts)
        pauses = random.uniform(*feeder.every_s, count)
        self._times_s = feeder.first_s + np.concatenate([[0.0], np.cumsum(pauses[1:])])
        self._across_m = random.uniform(*feeder.across_m, count)
        self._turns_rad = random.uniform(*feeder.turn_rad, count)
        self._next = 0
        for part in parts:
            part.remove()

    def supply(self, time_s: float) -> None:
        """Put the parts on the plane whose time has come."""
        while self._next < len(self._parts) and time_s >= self._times_s[self._next]:
            number = self._next
            part, plane = self._parts[number], self._plane.plane
            across = np.cross(plane.normal, plane.along)
            c, s = math.cos(self._turns_rad[number]), math.sin(self._turns_rad[number])
            turn = np.array([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]])
            centre = part.part.at_m + self._across_m[number] * across
            velocity, spin = self._plane.velocity_at(centre), self._plane.spin
            part.put(centre, part.part.rotation @ turn, velocity, spin)
            self._next += 1
