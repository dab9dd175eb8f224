"""Stability of a force control loop with the controller's delay and zero-order hold.

A pressed contact is a mass m on a spring k and damper c, m n̈ = -k n - c ṅ - u, pushed by the motors. The push
computed from state j acts over [t_{j+1}, t_{j+2}):

    u_j = G_F e_j + I_j + d ṅ(t_j + 1.5 T),      I_j = I_{j-1} + G_I T e_j,      e_j = k n_j + c ṅ_j,

ṅ predicted with the push that acts now and the force that is felt. A force that the model finds passes a
low-pass first. The force of a rigid constraint follows the push at once, e_j = -u_{j-1}; then G_F < 1 - G_I
T / 2 is the bound. A force sensor measures the period before, e_j = -u_{j-2}. Stable means that all
eigenvalues of the map from one tick to the next lie within a circle of radius 1.
"""

import math
from collections.abc import Callable

import numpy as np

from linkwork.arrays import Floats
from linkwork.machine.building.initial_assembly import admitted_velocities
from linkwork.machine.description import Machine
from linkwork.machine.sections.force_settings import ForceRow
from linkwork.multibody.functions import coordinate_jacobian, mass_matrix

AHEAD = 1.5
"""Periods from a state to the middle of the hold of its command."""
_INSIDE = 1.0 - 1e-9
_STEPS = 60


def mass_along(machine: Machine, gap: int) -> float:
    """Mass (kg) that a contact's point moves along its normal, in the initial pose."""
    q = machine.initial_q
    basis = admitted_velocities(machine.mechanism, q)
    row = coordinate_jacobian(machine.mechanism, q)[gap] @ basis
    inertia = basis.T @ mass_matrix(machine.mechanism, q) @ basis
    return 1.0 / max(float(row @ np.linalg.solve(inertia, row)), 1e-300)


def unstable(machine: Machine) -> tuple[ForceRow, str, float, float] | None:
    """The first force whose loop is not stable: it, the key at fault, its value, the most allowed (0: none).

    None where all are stable.
    """
    settings = machine.controller.force
    for row in machine.force_rows:
        gains = (settings.proportional, settings.integral_per_s, settings.added_damping_ratio)
        at_fault = _at_fault(_radius_of(machine, row), *gains)
        if at_fault is not None:
            return row, *at_fault
    return None


def _at_fault(
    radius: Callable[[float, float, float], float], gain: float, integral: float, ratio: float
) -> tuple[str, float, float] | None:
    """Key, value and most allowed of the gain that makes a loop unstable; None where it is stable."""
    if radius(gain, integral, ratio) < _INSIDE:
        return None
    if radius(0.0, integral, ratio) < _INSIDE:
        return "proportional", gain, _most(lambda x: radius(x, integral, ratio), gain)
    if radius(0.0, 0.0, ratio) < _INSIDE:
        return "integral_per_s", integral, _most(lambda x: radius(0.0, x, ratio), integral)
    most = _most(lambda x: radius(0.0, 0.0, x), ratio) if radius(0.0, 0.0, 0.0) < _INSIDE else 0.0
    return "added_damping_ratio", ratio, most


def _most(radius: Callable[[float], float], beyond: float) -> float:
    """The largest gain below `beyond` that is stable."""
    low, high = 0.0, beyond
    for _ in range(_STEPS):
        middle = 0.5 * (low + high)
        if radius(middle) < _INSIDE:
            low = middle
        else:
            high = middle
    return low


def _radius_of(machine: Machine, row: ForceRow) -> Callable[[float, float, float], float]:
    """The largest eigenvalue's size by gain, integral gain and damping ratio."""
    period, settings = machine.period_s, machine.controller.force
    if row.kind == "constraint":
        rigid = rigid_map if machine.gauge_of(row.row) < 0 else gauged_map
        return lambda gain, integral, _: _largest(rigid(period, gain, integral), integral)
    contact = machine.mechanism.contacts[row.index]
    mass = mass_along(machine, row.gap)
    sensed = settings.source == "sensor" and any(
        sensor.index == row.index for sensor in machine.force_sensors
    )
    blend = 1.0 if sensed else 1.0 - math.exp(-2.0 * math.pi * settings.estimate_Hz * period)

    def radius(gain: float, integral: float, ratio: float) -> float:
        damping = 2.0 * ratio * math.sqrt(contact.stiffness_N_m * mass)
        step = contact_map(
            period, mass, contact.stiffness_N_m, contact.damping_N_s_m, gain, integral, damping, blend
        )
        return _largest(step, integral)

    return radius


def _largest(step: Floats, integral: float) -> float:
    """Return the spectral radius, without the integrator when its gain is zero."""
    if integral == 0.0:
        keep = [i for i in range(len(step)) if i != 0]
        step = step[np.ix_(keep, keep)]
    return float(np.abs(np.linalg.eigvals(step)).max())


def rigid_map(period_s: float, proportional: float, integral_per_s: float) -> Floats:
    """Return the map (2 × 2) of (I, u) over one tick, for a rigid constraint; the force is the push."""
    g = integral_per_s * period_s
    return np.array([[1.0, -g], [1.0, -proportional - g]])


def gauged_map(period_s: float, proportional: float, integral_per_s: float) -> Floats:
    """Return the map (3 × 3) of (I, u, u before) over one tick, for a rigid constraint with a sensor."""
    g = integral_per_s * period_s
    return np.array([[1.0, 0.0, -g], [1.0, 0.0, -proportional - g], [0.0, 1.0, 0.0]])


def contact_map(
    period_s: float, mass_kg: float, stiffness: float, damping: float,
    proportional: float, integral_per_s: float, added_damping: float, blend: float = 1.0,
) -> Floats:  # fmt: skip
    """Return the map (5 × 5) of (I, n, ṅ, u, felt) over one tick, for a pressed contact.

    Stiffness in N/m, dampings in N s/m; `blend`: of the low-pass.
    """
    motion = np.array([[0.0, 1.0], [-stiffness / mass_kg, -damping / mass_kg]])
    push = np.array([0.0, -1.0 / mass_kg])
    step, reach = _over(motion, push, period_s)
    force = np.array([-stiffness, -damping])
    felt = np.concatenate([[0.0], blend * force, [0.0, 1.0 - blend]])
    integral = np.array([1.0, 0, 0, 0, 0]) - integral_per_s * period_s * felt
    soon = AHEAD * period_s / mass_kg
    rate = np.array([0.0, 0.0, 1.0, -soon, 0.0]) + soon * felt
    wanted = integral - proportional * felt + added_damping * rate
    moved = np.column_stack([np.zeros(2), step, reach, np.zeros(2)])
    return np.vstack([integral, moved, wanted, felt])


def _over(motion: Floats, push: Floats, seconds: float) -> tuple[Floats, Floats]:
    """Φ and Γ of ẋ = A x + b u over a time in which u is held."""
    from scipy.linalg import expm

    whole = np.zeros((3, 3))
    whole[:2, :2], whole[:2, 2] = motion, push
    grown = expm(whole * seconds)
    return grown[:2, :2], grown[:2, 2]
