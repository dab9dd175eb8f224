"""Friction of motors' joints that a machine file does not describe: Stribeck curves, friction by load.

A Stribeck curve F exp(-(|v|/v_s)ⁿ) sign v is linear in F alone. A search finds v_s and n: the columns of
a grid of speeds are filtered once and interpolated. Around the result the curve is linear in F and v_s.
Friction by load is μ |load| sign v; the load is what the joint passes on to bodies and springs, by the
estimate before.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
import numpy.typing as npt
from scipy.interpolate import CubicSpline

from linkwork.arrays import Floats
from linkwork.identification.base_estimate import BaseEstimate, estimate
from linkwork.identification.filtered_equations import Equations, ExtraTerms
from linkwork.identification.regressor import DynamicParameter, Regressor
from linkwork.machine import Machine

FrictionLaw = Literal["stribeck", "load"]

_EXPONENTS = (1, 2)
_GRID = np.geomspace(0.005, 0.5, 11)
"""Speeds v_s whose columns are filtered, in units of a joint's largest speed."""
_FINE = np.geomspace(_GRID[0], _GRID[-1], 60)
_UNSEEN = 0.1
"""Speed v_s, in these units, of a curve whose force is not seen."""
_SWEEPS, _ROUNDS = 3, 2
_CERTAIN = 5.0
"""Standard deviations of F from which on v_s is estimated too."""
_ABSORBED = 1e-3
"""Share of a column beside the others below which it is left out."""
_BEARING = ("inertial", "armature", "spring")
"""Kinds of parameters that make the load of a joint."""


@dataclass(frozen=True)
class StribeckCurve:
    """A curve at a joint: v_s (rad/s or m/s), n, and the F (N m or N) about which it is linear in v_s.

    force 0: F alone is estimated.
    """

    joint: str
    speed: float
    exponent: int
    force: float = 0.0

    @property
    def text(self) -> str:
        """The curve as text."""
        power = "" if self.exponent == 1 else "²"
        ratio = "|v|/v_s" if self.exponent == 1 else "(v/v_s)"
        return f"{self.joint}: stribeck × exp(−{ratio}{power}) sign v, v_s the stribeck_speed"

    def shape(self, rate: float, sharp: float) -> tuple[float, float]:
        """Return the curve for F = 1 and its derivative by v_s; sharp: speed of Coulomb friction."""
        power = float((abs(rate) / self.speed) ** self.exponent)
        size = float(np.tanh(rate / sharp) * np.exp(-power))
        return size, size * self.exponent * power / self.speed


class FrictionRegressor(Regressor):
    """A regressor with further friction at motors' joints: its columns follow those of `Regressor`.

    Rows of a tree (`rows`) have zeros there, since a load depends on the closures: use `projected`.
    """

    def __init__(
        self, machine: Machine, curves: Sequence[StribeckCurve] = (), bearing: Floats | None = None
    ) -> None:
        """Take Stribeck curves, and the values (columns of `Regressor`) that loads follow from.

        bearing: None for no friction by load.
        """
        super().__init__(machine.mechanism)
        self.machine, self.curves, self._bearing = machine, tuple(curves), bearing
        self._own = len(self.parameters)
        mechanism = machine.mechanism
        self._motors = [motor.index for motor in machine.motors]
        self._sharp = mechanism.model.coulomb_speed
        self._place = {name: k for k, name in enumerate(mechanism.joint_names)}
        added = []
        for each in self.curves:
            force, speed = (
                ("N m", "rad/s") if mechanism.joint_is_angle[self._place[each.joint]] else ("N", "m/s")
            )
            added.append(DynamicParameter("stribeck", each.joint, "stribeck", force, 0.0))
            if each.force:
                added.append(
                    DynamicParameter("stribeck_speed", each.joint, "stribeck_speed", speed, each.speed)
                )
        if bearing is not None:
            added += [
                DynamicParameter("load", motor.joint, "load_friction", "", 0.0) for motor in machine.motors
            ]
        self.parameters = (*self.parameters, *added)
        self.values = np.array([each.value for each in self.parameters])

    @property
    def added(self) -> tuple[DynamicParameter, ...]:
        """The parameters of further friction."""
        return self.parameters[self._own :]

    @property
    def laws(self) -> tuple[FrictionLaw, ...]:
        """Kinds of further friction."""
        by_load: tuple[FrictionLaw, ...] = () if self._bearing is None else ("load",)
        return ("stribeck", *by_load) if self.curves else by_load

    @property
    def texts(self) -> tuple[str, ...]:
        """Laws of further friction, for people."""
        loads = () if self._bearing is None else ("each motor: load_friction × |load of its joint| sign v",)
        return (*(each.text for each in self.curves), *loads)

    def projected(self, q: Floats, v: Floats, vdot: Floats, gradient: Floats) -> Floats:
        """Return G'Y (k × columns) at q, v and v̇ for the gradient G (nv × k) of a closed pose."""
        found = super().projected(q, v, vdot, gradient)
        column = self._own
        for each in self.curves:
            k = self._place[each.joint]
            size, slope = each.shape(float(v[k]), float(self._sharp[k]))
            found[:, column] = size * gradient[k]
            column += 1
            if each.force:
                found[:, column] = each.force * slope * gradient[k]
                column += 1
        if self._bearing is not None:
            at_motors = gradient[self._motors]
            loads = np.linalg.solve(at_motors.T, found[:, : self._own] @ self._bearing)
            signs = np.tanh(v[self._motors] / self._sharp[self._motors])
            found[:, column:] = at_motors.T * (np.abs(loads) * signs)
        return found

    def known(self, q: npt.ArrayLike, v: npt.ArrayLike, time_s: float = 0.0) -> Floats:
        """Return the effort (nv; N m or N) of applied forces, stops and contacts, less F ∂/∂v_s v_s."""
        found = super().known(q, v, time_s)
        rates = np.asarray(v)
        for each in self.curves:
            k = self._place[each.joint]
            slope = each.shape(float(rates[k]), float(self._sharp[k]))[1]
            found[k] -= each.force * slope * each.speed
        return found

    def with_curves(self, curves: Sequence[StribeckCurve]) -> "FrictionRegressor":
        """Return the regressor with Stribeck curves."""
        return FrictionRegressor(self.machine, curves, self._bearing)

    def with_loads(self, columns: Sequence[int], values: Floats) -> "FrictionRegressor":
        """Return the regressor with friction by the loads of an estimate: values (n) of n columns."""
        whole = np.zeros(len(self.parameters))
        whole[list(columns)] = values
        bears = np.array([each.kind in _BEARING for each in self.parameters[: self._own]])
        return FrictionRegressor(self.machine, self.curves, whole[: self._own] * bears)


def curve_grid(machine: Machine, largest: Floats) -> ExtraTerms:
    """Return the columns (nv × motors · exponents · grid) of Stribeck curves of a grid of speeds.

    largest (motors): speed of each motor's joint.
    """
    mechanism = machine.mechanism
    motors = [motor.index for motor in machine.motors]
    speeds = largest[:, None] * _GRID
    sharp = mechanism.model.coulomb_speed[motors]
    width = len(_EXPONENTS) * len(_GRID)

    def columns(_: Floats, v: Floats) -> Floats:
        rates = v[motors]
        ratio = np.abs(rates)[:, None] / speeds
        shapes = (
            np.exp(-np.stack([ratio**n for n in _EXPONENTS], axis=1)) * np.tanh(rates / sharp)[:, None, None]
        )
        found = np.zeros((mechanism.nv, len(motors) * width))
        for k, place in enumerate(motors):
            found[place, k * width : (k + 1) * width] = shapes[k].ravel()
        return found

    return columns


def stribeck_curves(equations: Equations, kept: Sequence[int], largest: Floats) -> tuple[StribeckCurve, ...]:
    """Return the curve of each motor with which the least residual remains.

    equations: with the columns of `curve_grid` as extra ones. kept: columns of base parameters. largest
    (motors): speeds.
    """
    motors, rows = len(equations.motors), len(equations.row)
    grid = equations.extra.reshape(rows, motors, len(_EXPONENTS), len(_GRID))
    between = np.asarray(CubicSpline(np.log(_GRID), np.eye(len(_GRID)))(np.log(_FINE)))
    fine = np.einsum("rmeg,fg->mref", grid, between).reshape(motors, rows, -1)
    own = list(kept)
    chosen: list[int] = []
    found = estimate(equations, own)
    for _ in range(_ROUNDS):
        chosen = _chosen(found, fine, len(own), chosen)
        columns = np.column_stack([fine[k][:, place] for k, place in enumerate(chosen)])
        whole = replace(equations, matrix=np.hstack([equations.matrix, columns]))
        width = equations.matrix.shape[1]
        found = estimate(whole, [*own, *range(width, width + motors)])
    curves = []
    for k, (joint, place) in enumerate(zip(equations.motors, chosen, strict=True)):
        exponent, at = divmod(place, len(_FINE))
        force, sigma = float(found.values[len(own) + k]), float(found.deviations[len(own) + k])
        if abs(force) > _CERTAIN * sigma:
            curves.append(StribeckCurve(joint, float(largest[k] * _FINE[at]), _EXPONENTS[exponent], force))
        else:
            curves.append(StribeckCurve(joint, float(largest[k] * _UNSEEN), _EXPONENTS[0]))
    return tuple(curves)


def _chosen(found: BaseEstimate, fine: Floats, base: int, before: Sequence[int]) -> list[int]:
    """Return the place of each motor's best curve, with the others at theirs.

    fine (motors × rows × curves). base: number of base parameters, the first columns of the estimate.
    before: of an earlier round, whose columns stand after those of base parameters.
    """
    white = [found.whitening.of(each, found.series) for each in fine]
    model = np.delete(found.matrix, np.arange(base, base + len(before)), axis=1)
    model = np.linalg.qr(model / np.maximum(np.linalg.norm(model, axis=0), 1e-300))[0]
    side = found.side - model @ (model.T @ found.side)
    beside = [each - model @ (model.T @ each) for each in white]
    chosen: dict[int, int] = dict(enumerate(before))
    for _ in range(_SWEEPS):
        for k, columns in enumerate(beside):
            others = [beside[j][:, [place]] for j, place in chosen.items() if j != k]
            basis = np.linalg.qr(np.hstack(others))[0] if others else np.zeros((len(side), 0))
            rest, own = side - basis @ (basis.T @ side), columns - basis @ (basis.T @ columns)
            size = np.linalg.norm(own, axis=0)
            seen = size > _ABSORBED * np.linalg.norm(white[k], axis=0)
            gain = np.where(seen, (own.T @ rest) ** 2 / np.maximum(size, 1e-300) ** 2, 0.0)
            chosen[k] = int(np.argmax(gain))
    return [chosen[k] for k in range(len(beside))]
