"""Structural base parameters: the combinations of inertial parameters that the motion can show at all.

With a basis L of the velocities that the closures admit, the equations of motion in which no constraint force
appears are L'Y θ = L'B τ. Stacked over random admissible states, W = L'Y has the rank r, and its pivoted QR,
W P = Q [R1 R2; 0 0], gives the r base parameters β = θ1 + R1⁻¹R2 θ2 (Gautier 1991).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.linalg import qr, solve_triangular

from linkwork.arrays import Floats
from linkwork.identification.admissible_states import random_states
from linkwork.identification.regressor import DynamicParameter, Kind, Regressor
from linkwork.machine import Machine
from linkwork.multibody.assembly.assembly import decide_rank
from linkwork.multibody.coordinate_scales import reach_m
from linkwork.multibody.mechanism import Mechanism

__all__ = ["BaseParameter", "BaseParameters", "base_parameters_of", "structural_base_parameters"]

_STATES = 100
"""Least number of random states; there are twice as many rows as columns at least."""
_PIVOT = 1e-8
"""Share of the first pivot of the QR above which a pivot counts."""
_ZERO = 1e-9
"""Size of a scaled coefficient below which it is round-off."""


@dataclass(frozen=True)
class BaseParameter:
    """`first` plus the sum of `others` times their coefficients (SI units); `value`: that of the file."""

    first: DynamicParameter
    others: tuple[tuple[DynamicParameter, float], ...]
    value: float

    @property
    def text(self) -> str:
        """The sum as text: `crank.inertia_zz + 0.25 rod.mass`."""
        words = [self.first.name]
        for parameter, factor in self.others:
            size = "" if abs(abs(factor) - 1.0) < _ZERO else f"{abs(factor):.6g} "
            words.append(f"{'-' if factor < 0.0 else '+'} {size}{parameter.name}")
        return " ".join(words)


@dataclass(frozen=True)
class BaseParameters:
    """Base parameters of a mechanism and what becomes of each of its parameters.

    combinations: the base parameters, those known alone first. unseen: parameters of no effect on the motion.
    matrix (base × parameters): β = matrix θ. pivots: the smallest pivot that counts and the largest that does
    not, as shares of the first. undriven: degrees of freedom without a motor, whose equations are
    homogeneous.
    """

    parameters: tuple[DynamicParameter, ...]
    combinations: tuple[BaseParameter, ...]
    unseen: tuple[DynamicParameter, ...]
    matrix: Floats
    pivots: tuple[float, float]
    undriven: int

    @property
    def alone(self) -> tuple[DynamicParameter, ...]:
        """The parameters that are known alone."""
        return tuple(each.first for each in self.combinations if not each.others)

    @property
    def sums(self) -> tuple[BaseParameter, ...]:
        """The base parameters that are sums of several parameters."""
        return tuple(each for each in self.combinations if each.others)

    def plain(self) -> dict[str, Any]:
        """Return the content as plain data; `base_parameters` is their number. SI units."""
        return {
            "base_parameters": len(self.combinations),
            "ratios_only": self.undriven > 0,
            "undriven": self.undriven,
            "pivots": list(self.pivots),
            "combinations": [
                {
                    "parameter": each.first.name,
                    "unit": each.first.unit,
                    "value": each.value,
                    "alone": not each.others,
                    "plus": {parameter.name: factor for parameter, factor in each.others},
                }
                for each in self.combinations
            ],
            "unseen": [each.name for each in self.unseen],
        }


def structural_base_parameters(
    machine: Machine,
    *,
    motor_kinds: Sequence[Kind] = (),
    gravity_m_s2: Floats | None = None,
    states: int = _STATES,
    seed: int = 0,
) -> BaseParameters:
    """Return the base parameters of the bodies of a machine, in its assembly mode.

    motor_kinds: further parameters of each motor's joint to include, such as "offset" and "armature".
    gravity_m_s2 (3): another than the machine's. states: least number of random states. Raises NoStates
    where the machine can take too few poses.
    """
    mechanism = machine.mechanism
    if gravity_m_s2 is not None:
        mechanism = mechanism.changed(gravity_m_s2=gravity_m_s2)
    driven = {motor.joint for motor in machine.motors}
    chosen = [
        k
        for k, each in enumerate(Regressor(mechanism).parameters)
        if each.kind == "inertial" or (each.kind in motor_kinds and each.owner in driven)
    ]
    return base_parameters_of(machine, mechanism, chosen, states=states, seed=seed)


def base_parameters_of(
    machine: Machine, mechanism: Mechanism, chosen: Sequence[int], *, states: int = _STATES, seed: int = 0
) -> BaseParameters:
    """Return the base parameters of chosen columns of the regressor of `mechanism`.

    mechanism: the machine's, or one with other masses or gravity. Raises NoStates.
    """
    found = Regressor(mechanism)
    count = max(states, 2 * len(chosen) // max(1, machine.dof))
    stacked = [
        state.basis.T @ found.rows(state.q, state.v, state.vdot)[:, chosen]
        for state in random_states(machine, mechanism, count, seed)
    ]
    parameters = tuple(found.parameters[k] for k in chosen)
    return _reduced(np.vstack(stacked), parameters, mechanism, _undriven(machine))


def _undriven(machine: Machine) -> int:
    """Return the number of degrees of freedom that no motor drives, at the initial pose."""
    mechanism = machine.mechanism
    motors = [motor.index for motor in machine.motors]
    basis = np.eye(mechanism.nv)
    if mechanism.constraints:
        basis = decide_rank(mechanism, machine.initial_q, machine.assembly.ordinary_rank).basis
    return int(
        basis.shape[1] - np.linalg.matrix_rank(basis[motors], tol=_PIVOT) if motors else basis.shape[1]
    )


def _reduced(
    stacked: Floats, parameters: tuple[DynamicParameter, ...], mechanism: Mechanism, undriven: int
) -> BaseParameters:
    """Reduce the columns of W (rows × parameters), scaled by powers of the machine's typical length."""
    length = reach_m(mechanism) / max(1, len(mechanism.bodies))
    inertial = np.array([each.kind == "inertial" for each in parameters])
    scale = np.array([length**each.power for each in parameters])
    size = np.linalg.norm(stacked * scale, axis=0)
    usual = float(np.median(size[inertial & (size > 0.0)])) if np.any(size[inertial]) else 1.0
    other = ~inertial & (size > 0.0)
    scale[other] *= usual / size[other]  # the units of friction and springs differ
    triangle, order = qr(stacked * scale, mode="r", pivoting=True)
    pivots = np.abs(np.diag(triangle))
    pivots = np.append(pivots / max(pivots.max(initial=0.0), 1e-300), 0.0)
    rank = int((pivots[: len(parameters)] > _PIVOT).sum())
    factors = solve_triangular(triangle[:rank, :rank], triangle[:rank, rank:])
    factors[np.abs(factors) < _ZERO] = 0.0
    kept, rest = order[:rank], order[rank:]
    matrix = np.zeros((rank, len(parameters)))
    matrix[np.arange(rank), kept] = 1.0
    matrix[:, rest] = factors * scale[kept][:, None] / scale[rest]
    values = matrix @ np.array([each.value for each in parameters])
    first = sorted(range(rank), key=lambda i: (bool(np.any(factors[i])), int(kept[i])))
    combinations = tuple(
        BaseParameter(
            parameters[kept[i]],
            tuple((parameters[j], float(matrix[i, j])) for j in sorted(rest.tolist()) if matrix[i, j]),
            float(values[i]),
        )
        for i in first
    )
    unseen = tuple(parameters[j] for j in sorted(rest.tolist()) if not np.any(matrix[:, j]))
    smallest = float(pivots[rank - 1]) if rank else 0.0
    return BaseParameters(
        parameters, combinations, unseen, matrix[first], (smallest, float(pivots[rank])), undriven
    )
