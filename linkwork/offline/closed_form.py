"""Motion in minimal coordinates where the closures are solved in closed form, after Blajer et al. 1992.

The coordinates are parted into independent and dependent ones, q_D = G(q_I). With A_x = dG/dq_I,
ξ = Ȧ_x q˙_I, and D = [1, A_x'] (independent ones first):

    M_r q¨_I = h_r,   M_r = D M D',   h_r = D (r - M [0; ξ]),   q¨_D = A_x q¨_I + ξ

A_x and ξ are needed only through products, and q stays on the manifold exactly. A mechanism has several such
*variants*, each singular elsewhere; the motion changes to another one where that is clearly better. q and v
are continuous there; signs of branches and whole turns are carried on by continuity.

minimal.py does the same for any mechanism, with variants from the Jacobian and Newton's method for G.
"""

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from linkwork.arrays import Floats
from linkwork.multibody.assembly.closed_form_search import ClosedFormFourBar
from linkwork.multibody.dynamics.tree_dynamics import dynamics
from linkwork.multibody.functions import set_array
from linkwork.multibody.mechanism import Mechanism
from linkwork.multibody.steps.divided_steps import FASTEST, REACH, divide

BETTER = 1.25
"""How many times better another variant must be before it is taken; larger ones come too near the poles."""


@dataclass(frozen=True)
class ReducedTerms:
    """Terms of M_r q¨_I = h_r: M_r (k × k), h_r (k), D' (n × k, order of q), ξ (n, zeros for independent
    entries).

    Blajer et al. 1992; N m, N, rad, m by coordinate.
    """

    mass: Floats
    force: Floats
    motions: Floats
    bias: Floats


class ClosedFormMotion:
    """A mechanism that moves by its closed forms. `q`, `v` (n): the state; `switches`: changes so far.

    `effort` (n) is held until changed. `mechanism` is the open tree: its own constraints are not used. Its
    velocities must be the rates of its coordinates.
    """

    def __init__(
        self, mechanism: Mechanism, forms: ClosedFormFourBar, q: npt.ArrayLike, v: npt.ArrayLike
    ) -> None:
        """Begin near q, v, whose independent entries hold. Raises ValueError for wrong lengths."""
        if mechanism.nq != mechanism.nv:
            raise ValueError("closed forms need coordinates whose rates are the velocities: no quaternions")
        self._work = w = mechanism.workspace()
        set_array("q", w.q, q)
        set_array("v", w.v, v)
        self._forms = forms
        self._variant, self.switches = 0, 0
        self._variant = self._best(w.q)
        self.q = forms.complete(self._variant, w.q)
        self.v = self._velocity(self.q, w.v[self._own])
        self.effort = np.zeros(mechanism.nv)
        self._second = self._last = np.zeros(mechanism.nv)

    @property
    def variant(self) -> int:
        """The variant in use."""
        return self._variant

    @property
    def _own(self) -> list[int]:
        return list(self._forms.independent[self._variant])

    def _best(self, q: Floats) -> int:
        measures = [self._forms.measure(k, q) for k in range(len(self._forms.independent))]
        best = int(np.argmax(measures))
        return best if measures[best] > BETTER * measures[self._variant] else self._variant

    def _motions(self, q: Floats) -> Floats:
        own = self._own
        motions = np.zeros((len(q), len(own)))
        motions[own] = np.eye(len(own))
        motions[[k for k in range(len(q)) if k not in own]] = self._forms.ratios(self._variant, q)
        return motions

    def _velocity(self, q: Floats, independent: Floats) -> Floats:
        return self._motions(q) @ independent

    def terms(self, q: Floats, v: Floats) -> ReducedTerms:
        """Return the reduced equations at a state q (n), v (n) on the manifold, for the variant in use."""
        own, motions = self._own, self._motions(q)
        bias = np.zeros(len(q))
        bias[[k for k in range(len(q)) if k not in own]] = self._forms.bias(self._variant, q, v)
        w = self._work
        w.q[:], w.v[:] = q, v
        dynamics(*w.arguments)
        r = self.effort + w.friction + w.compliant - w.h
        return ReducedTerms(motions.T @ w.M @ motions, motions.T @ (r - w.M @ bias), motions, bias)

    def acceleration(self) -> Floats:
        """Return q¨ (n; rad/s² or m/s²) at the present state."""
        found = self.terms(self.q, self.v)
        return found.motions @ np.linalg.solve(found.mass, found.force) + found.bias

    def step(self, dt: float, count: int = 1) -> None:
        """Move on by `count` steps of dt (s) of Runge and Kutta's classical method, effort held."""
        for _ in range(count):
            self._choose()
            self._step(dt)

    def divided_step(self, dt: float) -> None:
        """Move on by dt (s) in as many steps of `step` as the motion needs (divided_steps.py)."""
        left, parts = 1.0, 1.0
        while left > 0.0:
            self._choose()
            kept = self.q, self.v
            share = left / parts * dt
            self._step(share)
            gap = self.v - kept[1] - share * self._second
            counts, left, parts = divide(left, parts, self._pace(gap) / FASTEST)
            if not counts:
                self.q, self.v = kept

    def _pace(self, gap: Floats) -> float:
        """L dt after `_step`, from its difference to the midpoint rule; 0 at rest."""
        mass = self._work.M
        speed, change, off = (math.sqrt(max(0.0, float(x @ mass @ x))) for x in (self.v, self._last, gap))
        size = speed + REACH * change
        return float((6.0 * off / size) ** (1.0 / 3.0)) if size > 0.0 else 0.0

    def semi_implicit_step(self, dt: float) -> None:
        """Move on by a step of first order: v_I += dt v̇_I, q_I += dt v_I."""
        self._choose()
        own = self._own
        found = self.terms(self.q, self.v)
        v = self.v[own] + dt * np.linalg.solve(found.mass, found.force)
        self.q, self.v = self._at(np.concatenate([self.q[own] + dt * v, v]), self.q)

    def _choose(self) -> None:
        best = self._best(self.q)
        self.switches += best != self._variant
        self._variant = best

    def _step(self, dt: float) -> None:
        own = self._own
        start = np.concatenate([self.q[own], self.v[own]])
        q, v, total = self.q, self.v, np.zeros(2 * len(own))
        accelerations: list[Floats] = []
        for reach, weight in ((0.5, 1 / 6), (0.5, 1 / 3), (1.0, 1 / 3), (1.0, 1 / 6)):
            found = self.terms(q, v)
            independent = np.linalg.solve(found.mass, found.force)
            accelerations.append(found.motions @ independent + found.bias)
            rate = np.concatenate([v[own], independent])
            total += weight * rate
            q, v = self._at(start + reach * dt * rate, q)
        self.q, self.v = self._at(start + dt * total, self.q)
        self._second, self._last = accelerations[1], accelerations[3]

    def _at(self, independent: Floats, near: Floats) -> tuple[Floats, Floats]:
        own = self._own
        guess = near.copy()
        guess[own] = independent[: len(own)]
        q = self._forms.complete(self._variant, guess)
        return q, self._velocity(q, independent[len(own) :])
