"""Start of a goal: the machine's state, and the reference that the loop holds or follows there."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from linkwork.arrays import Floats
from linkwork.controller.planning.messages.planner_messages import MachineState
from linkwork.machine import Machine
from linkwork.multibody.tree.coordinates import coordinates
from linkwork.multibody.tree.kinematics import kinematics
from linkwork.protocol.codes import RequestCode
from linkwork.protocol.errors import RequestError

REWALK = "rewalk"
"""Internal method, not a request of clients: the rest of the active goal, with the present payload."""


@dataclass(frozen=True)
class Present:
    """A full set of goal coordinates where a goal begins: k indices, names, values and rates.

    `wraps`: angles that mean the same a whole turn on. `tolerance`: how far off a goal may begin. `moving`:
    whether the goal begins on the path of another one, whose accelerations then are `acceleration` (0 else).
    """

    coordinates: tuple[int, ...]
    names: tuple[str, ...]
    theta: Floats
    rate: Floats
    wraps: NDArray[np.bool_]
    tolerance: Floats
    acceleration: Floats = field(default_factory=lambda: np.zeros(0))
    moving: bool = False

    def __post_init__(self) -> None:
        if len(self.acceleration) != len(self.theta):
            object.__setattr__(self, "acceleration", np.zeros(len(self.theta)))

    def nearest(self, values: Floats) -> Floats:
        """Whole turns that bring these values (k) closest to the present ones; 0 for coordinates that do not
        wrap."""
        turns = np.round((self.theta - values) / (2.0 * np.pi))
        return np.asarray(np.where(self.wraps, 2.0 * np.pi * turns, 0.0))


@dataclass(frozen=True)
class Start:
    """State of the machine when a goal is planned.

    q, v: joints (nq, nv). theta, rate: all coordinates of the mechanism at q and v (nc). `reference`: the
    coordinates in which the loop's reference stands, their values; empty when there is none. `moving`: the
    goal begins on the path of another one, with `acceleration` (nc), and `reference_rate` and
    `reference_acceleration` are those of the reference. `time_s`: machine time, for applied forces that
    depend on it. `inputs`, `outputs`: values of the signals, for moving frames and constraints that follow
    signals; `ahead_s`: how long after these the goal begins. `temperatures`: of
    winding and body in turn of each motor with a thermal model, °C.
    """

    q: Floats
    v: Floats
    theta: Floats
    rate: Floats
    reference: tuple[int, ...] = ()
    reference_theta: tuple[float, ...] = ()
    moving: bool = False
    acceleration: Floats | None = None
    reference_rate: tuple[float, ...] = ()
    reference_acceleration: tuple[float, ...] = ()
    time_s: float = 0.0
    inputs: tuple[float, ...] = ()
    ahead_s: float = 0.0
    temperatures: tuple[float, ...] = ()
    outputs: tuple[float, ...] = ()

    @classmethod
    def at_pose(
        cls,
        machine: Machine,
        q: Sequence[float] | Floats,
        v: Sequence[float] | Floats | None = None,
        reference: Mapping[str, float] | None = None,
        time_s: float = 0.0,
    ) -> Start:
        """Return the start at q (nq; rad or m) and v (nv), with the reference by coordinate name."""
        mechanism = machine.mechanism
        workspace = mechanism.workspace()
        for place, values in ((workspace.q, q), (workspace.v, v)):
            if values is not None and len(values) != len(place):
                raise ValueError(f"{len(values)} numbers for {len(place)} joints")
            place[:] = 0.0 if values is None else values
        kinematics(*workspace.arguments)
        coordinates(*workspace.arguments)
        given = reference or {}
        return cls(
            workspace.q.copy(),
            workspace.v.copy(),
            workspace.theta.copy(),
            workspace.J @ workspace.v,
            tuple(mechanism.coordinate_index(name) for name in given),
            tuple(given.values()),
            time_s=time_s,
        )

    @classmethod
    def from_message(cls, machine: Machine, state: MachineState) -> Start:
        """The start in the state that the gateway sent.

        A given reference is at rest, independent of the estimate v; without one the motion begins at v.
        Raises RequestError (INTERNAL), because the gateway wrote it.
        """
        try:
            reference = dict(zip(state.coordinates, state.theta, strict=True))
            start = cls.at_pose(machine, state.q, None if reference else state.v, reference, state.time_s)
            start = replace(
                start, inputs=state.inputs, outputs=state.outputs, temperatures=state.temperatures
            )
        except Exception as error:
            text = f"the start of the motion is unreadable: {type(error).__name__} {error}"
            raise RequestError(RequestCode.INTERNAL, text) from None
        if not all(np.all(np.isfinite(part)) for part in (start.theta, start.v, start.reference_theta)):
            raise RequestError(
                RequestCode.INTERNAL, "the start of the motion holds a number that is not finite"
            )
        return start

    def present(self, machine: Machine, chosen: Sequence[int]) -> Present:
        """These coordinates here and now: at the reference if all of it is in this set, else at the state.

        While a contact is pressed the reference leaves out a degree of freedom, which is taken from the
        state.

        A rate below the start tolerance (per second) counts as rest, unless the goal begins in motion.
        """
        columns = list(chosen)
        theta, rate = self.theta[columns], self.rate[columns]
        change = np.zeros(len(columns)) if self.acceleration is None else self.acceleration[columns]
        if set(self.reference) <= set(chosen):
            held = dict(zip(self.reference, self.reference_theta, strict=True))
            theta = np.array([held.get(index, self.theta[index]) for index in chosen])
        if self.moving and set(self.reference) <= set(chosen):
            place = [columns.index(index) for index in self.reference]
            rate[place], change[place] = self.reference_rate, self.reference_acceleration
        mechanism = machine.mechanism
        tolerance = np.array([machine.tolerances[index].start for index in chosen])
        if not self.moving:
            rate = np.where(np.abs(rate) <= tolerance, 0.0, rate)
        return Present(
            tuple(chosen),
            tuple(mechanism.coordinate_names[index] for index in chosen),
            theta,
            rate,
            np.array([mechanism.coordinate_wraps[index] for index in chosen]),
            tolerance,
            change,
            self.moving,
        )
