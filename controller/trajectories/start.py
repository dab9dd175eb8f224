"""Where a goal begins: the machine's state, and the reference that the loop holds or follows there."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from machine import Machine
from multibody.coordinates import coordinates
from multibody.kinematics import kinematics
from protocol.codes import RequestCode
from protocol.errors import RequestError

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Start:
    """State of the machine when a goal is planned.

    q, v: joints (nq, nv). theta, rate: all coordinates of the mechanism at q and v (nc). `reference`: the
    coordinates in which the loop's reference stands, their values and rates; empty when there is none.
    """

    q: Floats
    v: Floats
    theta: Floats
    rate: Floats
    reference: tuple[int, ...] = ()
    reference_theta: tuple[float, ...] = ()

    @classmethod
    def at(
        cls,
        machine: Machine,
        q: Sequence[float] | Floats,
        v: Sequence[float] | Floats | None = None,
        reference: Mapping[str, float] | None = None,
    ) -> Start:
        """The start at joint positions q (and velocities v), with the reference by coordinate name."""
        mechanism = machine.mechanism
        workspace = mechanism.workspace()
        workspace.q[:] = q
        workspace.v[:] = 0.0 if v is None else v
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
        )

    @classmethod
    def from_map(cls, machine: Machine, content: Mapping[str, Any]) -> Start:
        """The start in plain data: `q`, `v` (lists), `coordinates` (names) and `theta` (their references).

        A reference that is given stands still, whatever the estimate v says; without one the motion begins at
        v. Raises RequestError (INTERNAL), because the gateway wrote it.
        """
        try:
            names, theta = content.get("coordinates") or (), content.get("theta") or ()
            reference = {str(name): float(value) for name, value in zip(names, theta, strict=True)}
            start = cls.at(machine, content["q"], None if reference else content.get("v"), reference)
        except Exception as error:
            text = f"the start of the motion is unreadable: {type(error).__name__} {error}"
            raise RequestError(RequestCode.INTERNAL, text) from None
        if not all(np.all(np.isfinite(part)) for part in (start.theta, start.v, start.reference_theta)):
            raise RequestError(
                RequestCode.INTERNAL, "the start of the motion holds a number that is not finite"
            )
        return start

    def of(self, chosen: Sequence[int]) -> Floats:
        """Present values of these coordinates: the reference where it stands in just this set, else the state's."""
        if set(chosen) == set(self.reference):
            held = dict(zip(self.reference, self.reference_theta, strict=True))
            return np.array([held[index] for index in chosen])
        return self.theta[list(chosen)]

    def rates(self, chosen: Sequence[int], machine: Machine) -> Floats:
        """Their present rates; what is below the start tolerance (per second) counts as rest."""
        rate = self.rate[list(chosen)]
        tolerance = np.array([machine.controller.tolerances[index].start for index in chosen])
        return np.where(np.abs(rate) <= tolerance, 0.0, rate)
