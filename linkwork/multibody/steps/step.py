"""One step of time by a named integrator: the engine of plant, offline runs and batches.

With stops or contacts a step is taken in parts. During a part the set of pressing contacts is fixed, so that
the motion is smooth and the integrator keeps its order; where a side would begin or cease to press within it,
the part ends at that very time. A part is also so short that springs, dampers and friction are followed: for
the mobility μ of the contact (the trace of J M⁻¹ J'; under constraints of J Λ (Λ' M Λ)⁻¹ Λ' J', Λ a basis of
the admitted velocities),
    h √(stiffness μ) ≤ SPRING,   h damping μ ≤ DAMPER,   h μ friction N / slip_speed ≤ RUBBING
of which the last keeps the classical step of Runge and Kutta stable up to 2.7. touch_search.py finds the
lengths.
"""

from linkwork.multibody.dynamics.partition import PROJECTED_STEPS
from linkwork.multibody.kernels.compiling import kernel
from linkwork.multibody.steps.divided_steps import divided_rk4
from linkwork.multibody.steps.gauss_steps import gauss
from linkwork.multibody.steps.integrate import rk4, semi_implicit
from linkwork.multibody.steps.minimal import divided_minimal_rk4, minimal_rk4, minimal_semi_implicit
from linkwork.multibody.steps.touch_search import begin_parts, judge_part, next_part
from linkwork.multibody.workspace import Model, Workspace

MINIMAL = 2
"""Entry of `choice`: whether a step integrates minimal coordinates."""
RK4, SEMI_IMPLICIT, ADAPTIVE_RK4, GAUSS = range(4)
METHODS = {"rk4": RK4, "semi_implicit": SEMI_IMPLICIT, "adaptive_rk4": ADAPTIVE_RK4, "gauss": GAUSS}


@kernel
def smooth_step(m: Model, w: Workspace, method: int, dt: float) -> None:
    """One step of dt (s) during which no contact begins or ends.

    method: of `METHODS`. `choice` says whether minimal coordinates are integrated. While a brake sticks, such
    steps are made by projection, which holds its velocity at zero.
    """
    minimal = w.choice[MINIMAL] != 0.0 and m.n_rows > 0
    if minimal and w.stuck_count[0] == 0.0:
        if method == SEMI_IMPLICIT:
            minimal_semi_implicit(m, w, dt)
        elif method == ADAPTIVE_RK4:
            divided_minimal_rk4(m, w, dt)
        else:
            minimal_rk4(m, w, dt)
        return
    if minimal:
        w.partition[PROJECTED_STEPS] += 1
    if method == RK4:
        rk4(m, w, dt)
    elif method == ADAPTIVE_RK4:
        divided_rk4(m, w, dt)
    elif method == GAUSS:
        gauss(m, w, dt)
    else:
        semi_implicit(m, w, dt)


@kernel
def step(m: Model, w: Workspace, method: int, dt: float) -> None:
    """One step of dt (s), in parts where contacts begin or end; arguments of `smooth_step`.

    `GAUSS` does not detect stops and contacts.
    """
    if m.n_stops + m.n_contacts == 0:
        smooth_step(m, w, method, dt)
        return
    begin_parts(w, dt)
    while True:
        h = next_part(m, w, dt)
        if h == 0.0:
            break
        smooth_step(m, w, method, h)
        judge_part(m, w, dt, h)
