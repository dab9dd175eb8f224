"""Force sensors of the simulated plant: contact forces and constraint loads."""

from collections.abc import Sequence

import numpy as np

from linkwork.arrays import Floats, Integers
from linkwork.machine import Machine
from linkwork.machine.sections.force_sensors import ForceSensor
from linkwork.multibody.contact.compliant_forces import compliant_forces
from linkwork.multibody.dynamics.other_formulations import constrained_forward_dynamics
from linkwork.multibody.kernels.compiling import kernel
from linkwork.multibody.linalg.vectors import combine, dot, load
from linkwork.multibody.tree.kinematics import kinematics
from linkwork.multibody.workspace import Model, Workspace
from linkwork.plant.simulator.plant_state import PlantState
from linkwork.plant.simulator.resistance import apply


@kernel
def sense_forces(
    m: Model, w: Workspace, contact: Integers, in_body: Integers, first: Integers, measured: Floats
) -> None:
    """From q and v: write the force (3, N) of each contact, in world axes or those of the point's body.

    The force of contact[i] is written from measured[first[i]] on; `in_body` (n): body axes.
    """
    kinematics(m, w)
    compliant_forces(m, w)
    for i in range(len(contact)):
        force = load(w.contact_force, contact[i])
        point = m.contact_point[contact[i]]
        link = m.point_link[point]
        if in_body[i] != 0 and link >= 0:
            x, y, z = load(w.axes, 3 * link), load(w.axes, 3 * link + 1), load(w.axes, 3 * link + 2)
            force = (
                dot(combine(x, y, z, load(m.point_axes, 3 * point)), force),
                dot(combine(x, y, z, load(m.point_axes, 3 * point + 1)), force),
                dot(combine(x, y, z, load(m.point_axes, 3 * point + 2)), force),
            )
        at = first[i]
        measured[at], measured[at + 1], measured[at + 2] = force


class Touch:
    """The force sensors of contacts."""

    def __init__(self, sensors: Sequence[ForceSensor]) -> None:
        self._contact = np.array([sensor.index for sensor in sensors], np.int64)
        self._in_body = np.array([sensor.axes == "body" for sensor in sensors], np.int64)
        self._first = np.array([sensor.first for sensor in sensors], np.int64)

    def sample(self, m: Model, w: Workspace, measured: Floats) -> None:
        """Write the readings (one flat array; N) at the plant's state."""
        sense_forces(m, w, self._contact, self._in_body, self._first, measured)


class ForceSensing:
    """The force sensors of one machine; `measured` has the components (N or N m) of each."""

    def __init__(self, machine: Machine, noise: np.random.Generator) -> None:
        sensors = machine.force_sensors
        self.measured = np.zeros(machine.force_numbers)
        self._generator = noise
        self._drawn = np.zeros(machine.force_numbers)
        parts = [len(sensor.components) for sensor in sensors]
        self._noise = np.repeat([sensor.noise for sensor in sensors], parts)
        self._step = np.repeat([sensor.resolution for sensor in sensors], parts)
        self._stepped = np.flatnonzero(self._step)
        self._step = self._step[self._stepped]
        self._touch = self._cells = None
        if touching := [one for one in sensors if one.contact is not None]:
            self._touch = Touch(touching)
        if bearing := [one for one in sensors if one.constraint is not None]:
            self._cells = LoadCells(machine, bearing)

    def sample(self, m: Model, w: Workspace, s: PlantState) -> None:
        """Sample the sensors at the plant's state."""
        measured = self.measured
        if self._touch is not None:
            self._touch.sample(m, w, measured)
        if self._cells is not None:
            self._cells.sample(m, w, s, measured)
        if np.any(self._noise):
            self._generator.standard_normal(out=self._drawn)
            measured += self._noise * self._drawn
        if len(self._stepped):
            measured[self._stepped] = self._step * np.round(measured[self._stepped] / self._step)


@kernel
def sense_loads(
    m: Model, w: Workspace, s: PlantState, row: Integers, place: Integers, measured: Floats
) -> None:
    """Write the multiplier of row[i] to measured[place[i]], for `row` (n) and `place` (n).

    w: the plant's workspace or a copy; it changes. 0 before the first period has ended.
    """
    last = s.last_step[0]
    if last <= 0.0:
        for i in range(len(row)):
            measured[place[i]] = 0.0
        return
    apply(w, s)
    constrained_forward_dynamics(m, w)
    for i in range(len(row)):
        measured[place[i]] = w.multipliers[row[i]]


class LoadCells:
    """The force sensors of constraints of one machine: multipliers at the end of a period.

    They belong to the efforts that acted in the period that has ended, as the `effort` of the same state
    does. Brakes and damping motors act as they did at its end. Where rows depend on others, closure loads are
    not determined: the multipliers of least norm are used, as in the model.
    """

    def __init__(self, machine: Machine, sensors: Sequence[ForceSensor]) -> None:
        self._row = np.array([row for sensor in sensors for row in sensor.rows], np.int64)
        self._place = np.array(
            [sensor.first + i for sensor in sensors for i in range(len(sensor.rows))], np.int64
        )
        self._work = machine.plant_mechanism.workspace()

    def sample(self, m: Model, w: Workspace, s: PlantState, measured: Floats) -> None:
        """Write the readings (one flat array) at the plant's state, which is unchanged."""
        np.copyto(self._work.buffer, w.buffer)
        sense_loads(m, self._work, s, self._row, self._place, measured)
