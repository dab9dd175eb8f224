"""A state as control laws need it: M, h, friction, coordinates, and the motion that the constraints admit.

With Λ (nv × degrees of freedom) spanning the velocities that the constraints A v = 0 admit, every
acceleration that obeys A v̇ = b is v̇ = x + Λ z with some x, A x = b. Without rows of constraints Λ is
diagonal and x is zero.
"""

from linkwork.multibody.closure.rank import admitted, particular
from linkwork.multibody.dynamics.constrained_dynamics import constrained_terms, motion_terms
from linkwork.multibody.dynamics.reduced_mass import motion_in_basis
from linkwork.multibody.dynamics.tree_dynamics import dynamics
from linkwork.multibody.kernels.compiling import kernel
from linkwork.multibody.kernels.layout import RANK
from linkwork.multibody.kernels.views import fill
from linkwork.multibody.tree.coordinates import coordinates
from linkwork.multibody.workspace import Model, Workspace


@kernel
def evaluate_motion(m: Model, w: Workspace) -> None:
    """At the workspace's state: M, h, friction, coordinates, `basis`, and in `vdot` some x with A x = b."""
    if m.n_rows == 0:
        dynamics(m, w)
        fill(w.vdot, 0.0)
    else:
        motion_terms(m, w)
        particular(m, w, w.right_side, w.vdot)
    admitted(m, w)
    coordinates(m, w)


@kernel
def shorten(m: Model, w: Workspace) -> None:
    """After `evaluate_motion`: `vdot` becomes the x with A x = b that is shortest in the mass metric."""
    if m.n_rows > 0:
        fill(w.sum_v, 0.0)
        motion_in_basis(m, w, m.nv - int(w.ranking[RANK]), w.sum_v, w.vdot)


@kernel
def evaluate_shortest(m: Model, w: Workspace) -> None:
    """`evaluate_motion` with the shortest x, and with how near other ranks are (rank.py)."""
    constrained_terms(m, w)
    particular(m, w, w.right_side, w.vdot)
    admitted(m, w)
    shorten(m, w)
    coordinates(m, w)
