"""The mutable side of a mechanism: one flat buffer, with named numpy views into it for people."""

import numpy as np
import numpy.typing as npt

from linkwork.arrays import Floats, Integers
from linkwork.multibody.kernels import layout
from linkwork.multibody.kernels.layout import RANKING_SIZE, SEARCH_SIZE


def _sizes(
    counts: tuple[int, ...], stops: int, contacts: int, elements: int, lists: tuple[int, int, int]
) -> dict[int, int]:
    """Numbers in each field of w, in the order of the fields.

    counts: those of layout.py. lists: fronts of the plan, and room for their lists of columns and rows.
    """
    fronts, columns, rows = lists
    nq, nv, nl, np_, nc, nk, nr, ng, _, tape = counts
    sides = 2 * stops + contacts
    aside = nr * nv + nr + nv + nq
    return {
        layout.Q: nq,
        layout.V: nv,
        layout.EFFORT: nv,
        layout.H: nv,
        layout.FRICTION: nv,
        layout.M: nv * nv,
        layout.VDOT: nv,
        layout.THETA: nc,
        layout.J: nc * nv,
        layout.JDV: nc,
        layout.POINT_POSITION: 3 * np_,
        layout.POINT_VELOCITY: 3 * np_,
        layout.POINT_BIAS: 3 * np_,
        layout.ENERGY: 2,
        layout.ON: nk,
        layout.CLOCK: 2,
        layout.TARGET: 6 * ng,
        layout.BAUMGARTE: 2 * nr,
        layout.PHI: nr,
        layout.PHI_RATE: nr,
        layout.EXPLICIT: nr,
        layout.LEVEL: 1,
        layout.DRIVEN_WORK: 1,
        layout.A: nr * nv,
        layout.B: nr,
        layout.CONSTRAINT_FORCE: nv,
        layout.MULTIPLIERS: nr,
        layout.BASIS: nv * nv,
        layout.RANKING: RANKING_SIZE,
        layout.CHOICE: 2,
        layout.COMPLIANT: nv,
        layout.CONTACT_FORCE: 3 * contacts,
        layout.CONTACT_GAP: contacts,
        layout.LOSSES: 4,
        layout.REFERENCE: 3,
        layout.AXES: 9 * nl,
        layout.ORIGIN: 3 * nl,
        layout.SCREW_ANGULAR: 3 * nl,
        layout.SCREW_LINEAR: 3 * nl,
        layout.ANGULAR: 3 * nl,
        layout.LINEAR: 3 * nl,
        layout.ANGULAR_BIAS: 3 * nl,
        layout.LINEAR_BIAS: 3 * nl,
        layout.MOMENT: 3 * nl,
        layout.FORCE: 3 * nl,
        layout.COMPOSITE_MASS: nl,
        layout.COMPOSITE_FIRST: 3 * nl,
        layout.COMPOSITE_SECOND: 6 * nl,
        layout.FACTOR: nv * nv,
        layout.START_Q: nq,
        layout.START_V: nv,
        layout.SUM_Q: nq,
        layout.SUM_V: nv,
        layout.SECOND: nv,
        layout.KEPT: RANKING_SIZE + 3,
        layout.RATES: nq,
        layout.FACTORED: nr * nv,
        layout.RIGHT_SIDE: nr,
        layout.EXCHANGES: nv,
        layout.REFLECTED: nv,
        layout.REDUCED: nv * nv,
        layout.MOMENTA: nv * nv,
        layout.SUPPORTS: nv * nv,
        layout.COUPLED: 5 * nv,
        layout.SHIFT: nv,
        layout.FREE_MOTION: nv,
        layout.TAPE: 4 * tape,
        layout.ASIDE: aside,
        layout.ASIDE_2: aside,
        layout.TOUCHING: sides,
        layout.HELD: 1,
        layout.PRESSURE: sides,
        layout.BACKUP: nq + nv + 4 + RANKING_SIZE if sides else 0,
        layout.STAGES: 2 * (nq + nv) + 4,
        layout.SEARCH: SEARCH_SIZE if sides else 0,
        layout.SLIPPING: nv,
        layout.DAMPERS: nv,
        layout.STUCK: nv,
        layout.STUCK_COUNT: 2,
        layout.STICKING: nv,
        layout.STUCK_ROWS: nv * nv,
        layout.STUCK_BASIS: nv * nv,
        layout.STUCK_EXCHANGES: nv,
        layout.STUCK_REFLECTED: nv,
        layout.STUCK_SIDE: nv,
        layout.STUCK_MOTION: nv,
        layout.PUSHES: 2 * nr,
        layout.PUSHED: 4 * nv,
        layout.UNPUSHED: nq + nv + RANKING_SIZE + 3,
        layout.SQUARE: (nv + nr) * (nv + nr + 4),
        layout.WINDOW: nr * (nr + nv + 1) + 3 * (nv + 1) * (nv + 1) + nq + 3 * (nv + 1) if nr else 0,
        layout.ELEMENT_FORCE: 3 * elements,
        layout.ELEMENT_WRENCH: 12 * elements,
        layout.ELEMENT_POWER: 1,
        layout.PASSED: 2 + nr * (nv + 2),
        layout.FRONT_STATES: layout.FRONT_STATE_NUMBERS * fronts,
        layout.COLUMN_LISTS: columns,
        layout.ROW_LISTS: rows,
        layout.STAMPS: nv + nr if fronts else 0,
        layout.COLUMN_SQUARES: nv if fronts else 0,
    }


def joined(parameters: dict[int, Floats]) -> Floats:
    """Return the read-only flat array p of these fields, in their order."""
    p = np.concatenate([values.ravel() for values in parameters.values()]).astype(np.float64)
    p.flags.writeable = False
    return p


def lay_out(
    parameters: dict[int, Floats],
    tables: dict[int, Integers],
    counts: tuple[int, ...],
    lists: tuple[int, int, int],
) -> tuple[Floats, Integers]:
    """Return the read-only flat arrays p and t, from the fields of p, the tables of t and the counts
    (layout.py).
    """
    header = np.zeros(layout.END_OF_HEADER, dtype=np.int64)
    header[: len(counts)] = counts
    stops, contacts = tables[layout.STOPS].size, tables[layout.CONTACTS].size

    def place(sizes: dict[int, int], start: int) -> None:
        for field, size in sizes.items():
            header[field : field + 2] = start, start + size
            start += size

    elements = tables[layout.ELEMENTS].size // layout.ELEMENT_COLUMNS
    place(_sizes(counts, stops, contacts, elements, lists), 0)
    place({field: values.size for field, values in parameters.items()}, 0)
    place({field: values.size for field, values in tables.items()}, layout.END_OF_HEADER)
    p = joined(parameters)
    t = np.concatenate([header, *(values.ravel() for values in tables.values())]).astype(np.int64)
    t.flags.writeable = False
    return p, t


class Workspace:
    """State and results of one mechanism. All arrays are views into `buffer`, which is w of every kernel.

    `q` (nq), `v` (nv), `effort` (nv, applied generalized force): written by the caller. `M` (nv × nv), `h`
    (nv), `friction` (nv, opposing v), `vdot` (nv): M v̇ + h = effort + friction. `theta` (nc), `J` (nc × nv),
    `Jdv` (nc): coordinates of interest with θ˙ = J v and θ¨ = J v̇ + Jdv. `point_position`, `point_velocity`
    (np × 3, world). `energy`: kinetic and potential, joules. SI units, radians.

    Of the constraints, all with nr rows: `on` (nk, 1 or 0, see switching.py), `phi`, `phi_rate`,
    `explicit` (Φ_t, the part of it that is not A v), `A` (nr × nv), `b`: A v̇ = b; `level` (1 leaves out rows
    of velocity level), `driven_work` (J, done by applied forces and by constraints that move with time, over
    the steps taken); `constraint_force` (nv) and `multipliers` (nr); `clock` (time now, and the time at which
    the targets hold), `target` (ng × 6, value and five time derivatives of each prescribed value, written by
    the caller), `baumgarte` (nr × 2), `ranking` (layout.py names its entries), `choice`: of the
    formulation (formulations.py) and of corrections after each step (0: none).

    Of stops and contacts: `compliant` (nv, their generalized force), `contact_force` (contacts × 3, N, on the
    point, world), `contact_gap` (m, negative inside), `losses`: power lost now to friction, stops and
    contacts (W), energy of their springs (J, part of the potential energy), energy lost in all steps (J),
    and the part of the springs' energy that will be dissipated (J). `held`: 1 while the set of pressing
    contacts is fixed. `element_force` (elements × 3): of each spring length or angle, rate and pull, of each
    applied force coordinate (0 where it has none), rate and force; `element_power` (1): of applied forces, W.
    """

    def __init__(self, parameters: Floats, topology: Integers) -> None:
        """Lay out a buffer for a mechanism's parameters and topology; at rest at the zero pose."""
        t = topology
        nv = int(t[layout.NV])
        self.parameters = parameters
        self.topology = topology
        self.buffer: Floats = np.zeros(int(t[layout.LAST + 1]))
        self.q = self._view(layout.Q)
        self.v = self._view(layout.V)
        self.effort = self._view(layout.EFFORT)
        self.h = self._view(layout.H)
        self.friction = self._view(layout.FRICTION)
        self.M = self._view(layout.M).reshape(nv, nv)
        self.vdot = self._view(layout.VDOT)
        self.theta = self._view(layout.THETA)
        self.J = self._view(layout.J).reshape(-1, nv)
        self.Jdv = self._view(layout.JDV)
        self.point_position = self._view(layout.POINT_POSITION).reshape(-1, 3)
        self.point_velocity = self._view(layout.POINT_VELOCITY).reshape(-1, 3)
        self.energy = self._view(layout.ENERGY)
        self.on = self._view(layout.ON)
        self.clock = self._view(layout.CLOCK)
        self.target = self._view(layout.TARGET).reshape(-1, 6)
        self.baumgarte = self._view(layout.BAUMGARTE).reshape(-1, 2)
        self.phi = self._view(layout.PHI)
        self.phi_rate = self._view(layout.PHI_RATE)
        self.explicit = self._view(layout.EXPLICIT)
        self.level = self._view(layout.LEVEL)
        self.driven_work = self._view(layout.DRIVEN_WORK)
        self.A = self._view(layout.A).reshape(-1, nv)
        self.b = self._view(layout.B)
        self.constraint_force = self._view(layout.CONSTRAINT_FORCE)
        self.multipliers = self._view(layout.MULTIPLIERS)
        self.ranking = self._view(layout.RANKING)
        self.choice = self._view(layout.CHOICE)
        self.compliant = self._view(layout.COMPLIANT)
        self.contact_force = self._view(layout.CONTACT_FORCE).reshape(-1, 3)
        self.contact_gap = self._view(layout.CONTACT_GAP)
        self.losses = self._view(layout.LOSSES)
        self.element_force = self._view(layout.ELEMENT_FORCE).reshape(-1, 3)
        self.element_power = self._view(layout.ELEMENT_POWER)
        self.held = self._view(layout.HELD)
        self.basis = self._view(layout.BASIS).reshape(-1, nv)
        self.on[:] = self._given(layout.ON_GIVEN)
        self.choice[1] = 1.0
        self.target[:, 0] = self._given(layout.TARGET_GIVEN)
        self.baumgarte.ravel()[:] = self._given(layout.BAUMGARTE_GIVEN)
        self.q[self.scalars] = 1.0
        if not len(self.A):
            self.basis[:] = np.eye(nv)

    def _view(self, field: int) -> npt.NDArray[np.float64]:
        return self.buffer[self.topology[field] : self.topology[field + 1]]

    def _given(self, field: int) -> Floats:
        return self.parameters[self.topology[field] : self.topology[field + 1]]

    @property
    def scalars(self) -> Integers:
        """Places in q of the scalar parts of quaternions (n)."""
        start, end = self.topology[layout.BALLS], self.topology[layout.BALLS + 1]
        return self.topology[start + 1 : end : 2]

    @property
    def driving_power(self) -> float:
        """After an acceleration: power (W) of applied forces and of moving constraints, -λ'Φ_t."""
        return float(self.element_power[0] - self.multipliers @ self.explicit)

    @property
    def arguments(self) -> tuple[Floats, Integers, Floats]:
        """The three flat arrays (p, t, w), arguments of every kernel: `dynamics(*workspace.arguments)`."""
        return self.parameters, self.topology, self.buffer


def touches(work: Workspace) -> bool:
    """Whether the mechanism has stops or contacts."""
    t = work.topology
    return bool(t[layout.TOUCHING + 1] > t[layout.TOUCHING])
