"""Steps of time with stops or contacts: exact where touch begins and ends, short where it is stiff.

A step is taken in parts. During a part the set of pressing contacts is fixed, so that the motion is smooth
and the integrator keeps its order; where a side would begin or cease to press within it, the part ends at
that very time. A part is also so short that springs, dampers and friction are followed: for the mobility μ of
the contact (the trace of J M⁻¹ J'; under constraints of J Λ (Λ' M Λ)⁻¹ Λ' J', Λ a basis of the admitted
velocities),
    h √(stiffness μ) ≤ SPRING,   h damping μ ≤ DAMPER,   h μ friction N / slip_speed ≤ RUBBING
of which the last keeps the classical step of Runge and Kutta stable up to 2.7. touch_search.py finds the
lengths.
"""

from linkwork.multibody.kernels.compiling import kernel
from linkwork.multibody.steps.divided_steps import divided_rk4
from linkwork.multibody.steps.integrate import rk4, semi_implicit
from linkwork.multibody.steps.touch_search import begin_parts, judge_part, next_part
from linkwork.multibody.workspace import Model, Workspace


@kernel
def compliant_step(m: Model, w: Workspace, classical: int, dt: float) -> None:
    """One step of dt seconds without constraints; there must be sides.

    `classical` is 0 for the semi-implicit step, 1 for that of Runge and Kutta, 2 where that divides itself.
    """
    begin_parts(w, dt)
    while True:
        h = next_part(m, w, dt)
        if h == 0.0:
            break
        if classical == 2:
            divided_rk4(m, w, h)
        elif classical == 1:
            rk4(m, w, h)
        else:
            semi_implicit(m, w, h)
        judge_part(m, w, dt, h)
