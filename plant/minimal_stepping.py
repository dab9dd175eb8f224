"""`plant.stepping` in minimal coordinates, for constrained machines with `plant.formulation: minimal`.

Under effort the steps are those of `multibody.minimal` (Blajer et al. 1992): the independent coordinates are
integrated, the dependent ones follow from the closures, and the independent set is switched between steps.
Under brakes or damping the velocity without impulses is v* = v + Δt v̇; a unit impulse on a motor's row R
changes it by Λ (Λ' M Λ)⁻¹ Λ' R', where Λ is the partition's basis of the admitted velocities. Then the
independent coordinates move by Δt v, and Newton's method recovers the dependent ones.

Where no choice of coordinates is independent (a branch pose), a step is made by projection.
"""

from multibody.compiling import (
    BUFFER,
    INTEGERS,
    PARAMETERS,
    TOPOLOGY,
    boolean,
    float64,
    int64,
    kernel,
    part,
    void,
)
from multibody.layout import CLOCK, NV, VDOT, V
from multibody.minimal import (
    begin_minimal,
    minimal_acceleration,
    minimal_rk4,
    minimal_semi_implicit,
    recover,
    restore,
)
from multibody.model import Integers
from multibody.partition import COUNT, PROJECTED_STEPS, VELOCITIES, X, of_z
from multibody.vectors import Rows
from multibody.views import fill, vector
from plant.constrained_stepping import motor_responses, resist_constrained, rests
from plant.layout import BRAKE, DAMP, METHOD, PARTITION, SCRATCH, SEMI_IMPLICIT, SUBSTEPS
from plant.stepping import impede, look_back, take_up

_RESIST = (PARAMETERS, TOPOLOGY, BUFFER, INTEGERS, BUFFER, int64, float64)


@part
def partition_of(s: Integers) -> Integers:
    """The partition of the coordinates, as a view."""
    return s[s[PARTITION] : s[PARTITION + 1]]


@kernel(boolean(*_RESIST))
def _resist_by_partition(p: Rows, t: Integers, w: Rows, s: Integers, b: Rows, mode: int, dt: float) -> bool:
    """The step of `resist_minimal`; False, with the state as it was, where the partition cannot make it."""
    partition, z = partition_of(s), vector(s, b, SCRATCH)
    v, vdot, clock, x = vector(t, w, V), vector(t, w, VDOT), vector(t, w, CLOCK), of_z(t, z, X)
    began, nv = clock[0], t[NV]
    if not begin_minimal(p, t, w, partition, z):
        return False
    good = minimal_acceleration(p, t, w, partition, z)
    if good:
        motor_responses(t, w, s, b, nv - int(partition[COUNT + VELOCITIES]))
        for k in range(nv):
            v[k] += dt * vdot[k]
        good = recover(p, t, w, partition, z)  # the dependent velocities of the step so far
    if good:
        impede(v, s, b, mode, dt)
        standing = mode == BRAKE and rests(v, s, b)
        if standing:
            fill(v, 0.0)
        for k in range(nv):
            x[k] = dt * v[k]
        clock[0] = began + dt
        good = recover(p, t, w, partition, z)
        if good and standing:
            fill(v, 0.0)
    if not good:
        restore(t, w, z, began)
    return good


@kernel(void(*_RESIST))
def resist_minimal(p: Rows, t: Integers, w: Rows, s: Integers, b: Rows, mode: int, dt: float) -> None:
    """One step of dt seconds with brakes (BRAKE) or damping motors (DAMP)."""
    if not _resist_by_partition(p, t, w, s, b, mode, dt):
        partition_of(s)[PROJECTED_STEPS] += 1
        resist_constrained(p, t, w, s, b, mode, dt)


@kernel(float64(PARAMETERS, TOPOLOGY, BUFFER, INTEGERS, BUFFER, int64))
def advance_minimal(p: Rows, t: Integers, w: Rows, s: Integers, b: Rows, mode: int) -> float:
    """One period with what is latched, as `plant.stepping.advance`."""
    dt = take_up(t, w, s, b, mode)
    partition, z = partition_of(s), vector(s, b, SCRATCH)
    for _ in range(s[SUBSTEPS]):
        if mode in (BRAKE, DAMP):
            resist_minimal(p, t, w, s, b, mode, dt)
        elif s[METHOD] == SEMI_IMPLICIT:
            minimal_semi_implicit(p, t, w, dt, partition, z)
        else:
            minimal_rk4(p, t, w, dt, partition, z)
    fastest: float = look_back(t, w, s, b, mode, dt)
    return fastest
