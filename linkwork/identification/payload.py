"""The mass and mass centre of a gripped part, from a motion before and one after gripping it.

A part whose mass is known shows the scales of the motors' efforts instead.

Both recordings share the machine's base parameters; the rows of the second one have the part's ten inertial
parameters too, as columns of the body that carries it. What the motors do not show of them stays at a wide
prior.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from linkwork.arrays import Floats
from linkwork.identification.base_estimate import estimate
from linkwork.identification.filtered_equations import Equations, joined
from linkwork.identification.identification import (
    NOISE_MODEL,
    UNEXPLAINED,
    equations_for,
    fits_of,
    prepared,
)
from linkwork.identification.identified_model import identified_model
from linkwork.identification.measured_motion import MeasuredMotion, RefusedData
from linkwork.identification.regressor import PER_BODY, body_parameters
from linkwork.machine import Machine
from linkwork.multibody.coordinate_scales import reach_m
from linkwork.multibody.model import Body

_USEFUL = 0.1
"""Deviation of a mass, as a share of it, above which it is of no use."""
_SMALLEST = 0.02
"""Smallest mass to be expected, as a share of that of all bodies."""
_INDEPENDENT = 1e-7
"""Share of the largest singular value from which on a direction of one motor's equations counts."""
_CENTRE = 0.1
"""Deviation of a mass centre, as a share of the machine's usual length, above which it is unknown."""


@dataclass(frozen=True, eq=False)
class WeighedPayload:
    """A part at a point: mass (kg) and mass centre (m, in the point's axes) with standard deviations.

    com_m, com_sigma_m: NaN along axes that the motions do not show.
    """

    point: str
    mass_kg: float
    mass_sigma_kg: float
    com_m: Floats
    com_sigma_m: Floats

    def plain(self) -> dict[str, Any]:
        """Return the content as plain data, SI units; null for what is not known."""
        known = np.isfinite(self.com_m).tolist()
        return {
            "point": self.point,
            "mass_kg": self.mass_kg,
            "mass_sigma_kg": self.mass_sigma_kg,
            "com_m": [
                value if seen else None for value, seen in zip(self.com_m.tolist(), known, strict=True)
            ],
            "com_sigma_m": [
                value if seen else None for value, seen in zip(self.com_sigma_m.tolist(), known, strict=True)
            ],
        }


def weigh(
    machine: Machine, before: MeasuredMotion, after: MeasuredMotion, point: str, *,
    cutoff_hz: float | None = None, progress: Callable[[float], None] = lambda _: None,
) -> WeighedPayload:  # fmt: skip
    """Return mass and mass centre of what the machine carries at a point in `after`, and not in `before`.

    Raises KeyError for an unknown point, RefusedData where the data or the motors do not show the mass.
    """
    place, body = _carrier(machine, point)
    for motion in (before, after):
        prepared(machine, motion)
    model = identified_model(machine)
    columns = model.columns
    own = [columns.index(PER_BODY * body + k) for k in range(PER_BODY)]
    parts = _equations(machine, (before, after), columns, cutoff_hz, progress)
    both = joined(
        [
            replace(each, matrix=np.hstack([each.matrix, factor * each.matrix[:, own]]))
            for each, factor in zip(parts, (0.0, 1.0), strict=True)
        ]
    )
    found = estimate(both, [*model.kept, *range(len(columns), len(columns) + PER_BODY)])
    worst = max(fits_of(both, found.measured, found.residual), key=lambda each: each.unexplained)
    if worst.unexplained**2 > UNEXPLAINED:
        raise RefusedData(
            "model",
            f"{100.0 * worst.unexplained:.0f} % of the effort of {worst.joint} are not explained by one "
            f"machine with and without a part at {point}: was anything else changed between the recordings?",
        )
    return _judged(machine, place, *_with_prior(machine, found.values, found.information / NOISE_MODEL))


def _equations(
    machine: Machine, motions: Sequence[MeasuredMotion], columns: Sequence[int], cutoff_hz: float | None,
    progress: Callable[[float], None],
) -> list[Equations]:  # fmt: skip
    """Return the filtered equations of each motion. progress: called with the share that is done."""
    return [
        equations_for(
            machine, [motion], columns, cutoff_hz=cutoff_hz,
            progress=lambda share, k=k: progress((k + share) / len(motions)),  # type: ignore[misc]
        )
        for k, motion in enumerate(motions)
    ]  # fmt: skip


def _carrier(machine: Machine, point: str) -> tuple[int, int]:
    """Return the indices of a point and of the body that carries it. Raises KeyError, RefusedData."""
    mechanism = machine.mechanism
    place = mechanism.point_index(point)
    names = [each.name for each in mechanism.bodies]
    if mechanism.points[place].body not in names:
        raise RefusedData("fixed", f"{point} does not move with a body of {machine.name}")
    return place, names.index(mechanism.points[place].body)


@dataclass(frozen=True)
class EffortScale:
    """Recorded efforts of a motor over its true ones, with the standard deviation."""

    motor: str
    scale: float
    sigma: float


def effort_scales(
    machine: Machine, before: MeasuredMotion, after: MeasuredMotion, point: str, mass_kg: float,
    com_m: Floats | None = None, *, cutoff_hz: float | None = None,
    progress: Callable[[float], None] = lambda _: None,
) -> tuple[EffortScale, ...]:  # fmt: skip
    """Return the scale of each motor's efforts from a part of known mass at a point in `after`.

    com_m (3): its mass centre in the point's axes; its size is neglected. Each motor's equations have their
    own base parameters, so that noisy efforts stand on the right side alone.

    Raises KeyError for an unknown point, RefusedData where the part shows no scale.
    """
    place, body = _carrier(machine, point)
    if len(machine.motors) != machine.dof:
        raise RefusedData("motors", "scales of efforts need as many motors as degrees of freedom")
    mechanism = machine.mechanism
    axes = mechanism.model.point_axes.reshape(-1, 3, 3)[place].T
    centre = mechanism.model.point_at[place] + axes @ (np.zeros(3) if com_m is None else com_m)
    part = body_parameters(Body("part", mass_kg, centre, np.zeros((3, 3)), unphysical=True))
    for motion in (before, after):
        prepared(machine, motion)
    columns = identified_model(machine).columns
    own = [columns.index(PER_BODY * body + k) for k in range(PER_BODY)]
    equations = _equations(machine, (before, after), columns, cutoff_hz, progress)
    both = joined(equations)
    by_part = np.concatenate(
        [factor * each.matrix[:, own] @ part for each, factor in zip(equations, (0.0, 1.0), strict=True)]
    )
    rows = [both.row == k for k in range(len(both.joints))]
    unknown = [mine[:, None] * _range(mine[:, None] * both.matrix) for mine in rows]
    carried = np.column_stack([mine * by_part for mine in rows])
    whole = replace(both, matrix=np.hstack([*unknown, carried]))
    found = estimate(whole, range(whole.matrix.shape[1]))
    count = len(rows)
    sigmas = NOISE_MODEL * found.deviations[-count:]
    if float(sigmas.min()) > _USEFUL:
        raise RefusedData(
            "not seen",
            f"{mass_kg:g} kg at {point} show no scale of the motors' efforts to within "
            f"{100.0 * _USEFUL:g} %: take a heavier part, or move faster",
        )
    return tuple(
        EffortScale(motor, scale, sigma)
        for motor, scale, sigma in zip(
            both.joints, found.values[-count:].tolist(), sigmas.tolist(), strict=True
        )
    )


def _range(columns: Floats) -> Floats:
    """Return an orthonormal basis of the range of columns."""
    size = np.linalg.norm(columns, axis=0)
    left, values, _ = np.linalg.svd(columns[:, size > 0.0] / size[size > 0.0], full_matrices=False)
    return np.asarray(left[:, values > _INDEPENDENT * values.max(initial=1e-300)])


def _with_prior(machine: Machine, values: Floats, information: Floats) -> tuple[Floats, Floats]:
    """Return the part's parameters (10) and their covariance, with a wide prior around none."""
    mechanism = machine.mechanism
    mass, length = sum(each.mass_kg for each in mechanism.bodies), reach_m(mechanism)
    wide = mass * np.array([1.0, *[length] * 3, *[length**2] * 6])
    certain = information.T @ information
    prior = np.zeros(len(values))
    prior[-PER_BODY:] = 1.0 / wide**2
    size = np.sqrt(np.maximum(np.diag(certain) + prior, 1e-300))
    whole = (certain + np.diag(prior)) / size / size[:, None]
    inverse = np.linalg.pinv(whole, rcond=1e-14, hermitian=True) / size / size[:, None]
    return (inverse @ (certain @ values))[-PER_BODY:], inverse[-PER_BODY:, -PER_BODY:]


def _judged(machine: Machine, place: int, values: Floats, covariance: Floats) -> WeighedPayload:
    """Return mass and centre, the latter by the errors' propagation. Raises RefusedData."""
    mechanism, name = machine.mechanism, machine.mechanism.points[place].name
    mass, sigma = float(values[0]), float(np.sqrt(covariance[0, 0]))
    whole = sum(each.mass_kg for each in mechanism.bodies)
    if sigma > _USEFUL * max(abs(mass), _SMALLEST * whole):
        raise RefusedData(
            "not seen",
            f"these motions show the mass at {name} to within ± {sigma:.2g} kg only, beside {mass:.3g} kg: "
            "too little to be of use. Move faster, or through poses in which gravity acts on the motors "
            "(`linkwork excite --for payload`)",
        )
    if mass < -3.0 * sigma:
        raise RefusedData(
            "negative", f"the machine is {-mass:.3g} ± {sigma:.2g} kg lighter afterwards: swap the recordings"
        )
    unknown = np.full(3, np.nan)
    if mass < 3.0 * sigma:
        return WeighedPayload(name, mass, sigma, unknown, unknown)
    axes = mechanism.model.point_axes.reshape(-1, 3, 3)[place].T
    centre = values[1:4] / mass
    slopes = axes.T @ np.hstack([-centre[:, None], np.eye(3)]) / mass
    spread = np.sqrt(np.maximum(np.diag(slopes @ covariance[:4, :4] @ slopes.T), 0.0))
    com = axes.T @ (centre - mechanism.model.point_at[place])
    seen = spread < _CENTRE * reach_m(mechanism)
    return WeighedPayload(name, mass, sigma, np.where(seen, com, unknown), np.where(seen, spread, unknown))
