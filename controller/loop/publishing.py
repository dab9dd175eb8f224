"""Optional output of a tick beside its record: the reactions of all joints and constraints.

They are those of the estimated state under the efforts that act over the period that begins with it: the last
command as the drives deliver it, and the disturbance observer's effort. Contacts count with their measured
force. They are computed after the command has been handed over, and only where the machine file asks.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from linkwork.arrays import Floats
from linkwork.controller.estimation.contact_free import without_touch
from linkwork.controller.estimation.loop_model import LoopModel
from linkwork.controller.exchange.records import Record, RecordLayout
from linkwork.controller.exchange.tick_io import Inputs, Outputs
from linkwork.controller.loop.tick import Tick, no_slots
from linkwork.controller.supervision.brakes import RELEASED
from linkwork.machine import Machine
from linkwork.machine.payloads import Loads, carrying
from linkwork.multibody import Workspace
from linkwork.multibody.dynamics.other_formulations import constrained_forward_dynamics
from linkwork.multibody.kernels.layout import ORDINARY
from linkwork.multibody.mechanism import Mechanism
from linkwork.multibody.reactions.reaction_memory import COLUMNS
from linkwork.multibody.reactions.reactions import ReactionTable

_PLACE = 3
"""Columns of a result before its force."""


class PublishedReactions:
    """The reactions of a model in the state that a tick has estimated, under given efforts."""

    def __init__(self, machine: Machine, model: LoopModel, loads: Loads | None) -> None:
        mechanism, now = machine.mechanism, model.now
        self._now, self._felt = now, model.felt
        self._work = without_touch(Workspace(now.model))
        self._work.ranking[ORDINARY] = machine.assembly.ordinary_rank
        self._motor = np.array([motor.index for motor in machine.motors], np.int64)
        self._table = ReactionTable(mechanism)
        self._columns = _columns(self._table.effort_units)
        self._loads, self._renewed = loads, 0
        self._carried = [] if loads is None else _carriers(mechanism, self._table, loads)

    def compute(self, effort: Floats, touch: Callable[[Workspace], None] | None, out: Floats) -> None:
        """Write the reactions (the record's columns) under `effort` (motors; N m or N); `touch` sets
        contacts.
        """
        work, now = self._work, self._now
        work.q[:], work.v[:], work.on[:], work.target[:] = now.q, now.v, now.on, now.target
        work.effort[:] = self._felt
        np.add.at(work.effort, self._motor, effort)
        constrained_forward_dynamics(*work.arguments)
        if touch is not None:
            touch(work)
        if self._loads is not None and self._loads.changes != self._renewed:
            self._renewed = self._loads.changes
            for carrier in self._carried:
                carrier.renew()
        self._table.update(work)
        np.take(self._table.values, self._columns, out=out)


class PublishingTick(Tick):
    """A tick that publishes reactions."""

    def __init__(
        self,
        machine: Machine,
        layout: RecordLayout,
        slot: Callable[[int], Floats] = no_slots,
        record: Record | None = None,
    ) -> None:
        super().__init__(machine, layout, slot, record)
        self._reactions = PublishedReactions(machine, self._model, self._loads)
        self._r_reaction = self.record.view("reaction")
        self._touch = self._force_control.felt_contacts if machine.mechanism.contacts else None

    def note(self, inputs: Inputs, outputs: Outputs) -> None:
        """As `Tick.note`. While a brake is engaged its load is unknown, and so are the reactions."""
        if self.supervisor.brakes.phase is RELEASED:
            acting = self._disturbance.with_it(self._efforts.acted)
            self._reactions.compute(acting, self._touch, self._r_reaction)
        else:
            self._r_reaction[:] = np.nan
        super().note(inputs, outputs)


def _columns(units: Sequence[str]) -> NDArray[np.int64]:
    """Places of the published numbers in the table's values, row after row."""
    places = [
        COLUMNS * row + column
        for row, unit in enumerate(units)
        for column in range(_PLACE, COLUMNS if unit else COLUMNS - 1)
    ]
    return np.array(places, np.int64)


class _Carrier:
    """A body that may carry loads at some of its points: its constants in a table of reactions."""

    def __init__(self, table: ReactionTable, body: int, loads: Loads, points: Sequence[int]) -> None:
        self._seat, self._moments = table.seats[body], table.moments[body]
        self._own = float(self._seat[0]), self._seat[1:4].copy(), self._moments.copy()
        self._loads, self._points = loads, list(points)

    def renew(self) -> None:
        """Apply the present payloads."""
        mass, centre, about = carrying(*self._own, self._loads.load_at(self._points))
        self._seat[0], self._seat[1:4], self._moments[:] = mass, centre, about


def _carriers(mechanism: Mechanism, table: ReactionTable, loads: Loads) -> list[_Carrier]:
    bodies = list(mechanism.body_names)
    found: dict[str, list[int]] = {}
    for place, point in enumerate(mechanism.points):
        if point.body in bodies:
            found.setdefault(point.body, []).append(place)
    return [_Carrier(table, bodies.index(name), loads, points) for name, points in found.items()]
