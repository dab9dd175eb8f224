"""The two structs of every kernel: the read-only numbers of a mechanism, and the memory of its motion.

Sizes: nq coordinates, nv velocities. SI units, radians; vectors in world axes unless said otherwise.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated

import numpy as np

from linkwork.arrays import Floats, Integers
from linkwork.multibody.kernels.layout import RANKING_SIZE, SEARCH_SIZE
from linkwork.multibody.kernels.structs import Struct

__all__ = ["Model", "Workspace", "touches"]


class Model(Struct):
    """A mechanism's topology and parameters: the argument m of kernels, which only read it.

    `buffer` holds all its floats, `Mechanism.parameters`. A link -1 is the world.
    """

    nq: Annotated[int, "coordinates"]
    nv: Annotated[int, "velocities"]
    n_links: int
    n_points: int
    n_coordinates: Annotated[int, "coordinates of interest"]
    n_combinations: Annotated[int, "the last of them: linear combinations of those before"]
    n_constraints: int
    n_rows: Annotated[int, "rows of all constraints"]
    n_targets: Annotated[int, "prescribed values of constraints"]
    n_terms: Annotated[int, "terms of linear rows"]
    n_tape: Annotated[int, "instructions of the longest program"]
    n_balls: int
    n_stops: int
    n_contacts: int
    n_elements: Annotated[int, "springs and applied forces"]
    n_instructions: Annotated[int, "of all programs"]
    n_factors: Annotated[int, "factors of velocity rows"]
    n_fronts: Annotated[int, "fronts of the elimination plan"]
    n_front_columns: int
    n_front_rows: int
    n_fronts_before: int
    n_column_list: Annotated[int, "room for the fronts' lists of columns"]
    n_row_list: Annotated[int, "room for the fronts' lists of rows"]

    gravity: Annotated[Floats, "1, 3", "m/s²"]
    fixed_axes: Annotated[Floats, "3 * n_links, 3", "row 3 i + k: k-th axis of joint frame i, in its parent"]
    fixed_origin: Annotated[Floats, "n_links, 3", "origin of joint frame i in the parent link"]
    turn: Annotated[Floats, "n_links", "rotation about the joint's z axis per unit of its coordinate (rad)"]
    travel: Annotated[Floats, "n_links", "translation along it per unit (m)"]
    mass: Annotated[Floats, "n_links", "kg"]
    com: Annotated[Floats, "n_links, 3", "centre of mass, in link axes"]
    inertia: Annotated[Floats, "n_links, 6", "about it, in link axes: xx, xy, xz, yy, yz, zz"]
    armature: Annotated[Floats, "nv"]
    viscous: Annotated[Floats, "nv", "friction per speed"]
    coulomb: Annotated[Floats, "nv"]
    coulomb_speed: Annotated[Floats, "nv", "speed scale of its tanh"]
    point_at: Annotated[Floats, "n_points, 3", "in link axes, world if the point is fixed"]
    point_axes: Annotated[Floats, "3 * n_points, 3", "axes of the point's body, in link axes"]
    directions: Annotated[
        Floats,
        "n_coordinates, 4",
        "along a direction: it, and its value at the origin; a distance: place, what is taken off",
    ]
    combination: Annotated[Floats, "n_combinations, n_coordinates", "coefficients; own: 0 while unused"]
    frame_at: Annotated[Floats, "2 * n_constraints, 3", "origins of frames a and b, in link axes"]
    frame_axes: Annotated[Floats, "6 * n_constraints, 3", "their axes"]
    row_offset: Annotated[Floats, "n_rows", "m"]
    term_factor: Annotated[Floats, "n_terms", "factors of the terms of linear rows"]
    target_given: Annotated[Floats, "n_targets", "what targets begin with"]
    baumgarte_given: Annotated[Floats, "n_rows, 2"]
    on_given: Annotated[Floats, "n_constraints", "what the switches begin with"]
    program_constant: Annotated[Floats, "n_instructions", "constants of the programs"]
    row_scale: Annotated[Floats, "n_rows", "takes a row to unit size"]
    column_scale: Annotated[Floats, "nv", "rad or m for one unit of velocity"]
    reference_size: Annotated[Floats, "1", "size of the scaled rows in ordinary poses"]
    rank_tolerance: Annotated[Floats, "1", "relative to it: shorter directions of scaled rows are round-off"]
    element_law: Annotated[
        Floats,
        "n_elements, 8",
        "stiffness, damping, rest, preload, progressive (a constant force: that force), direction",
    ]
    stop_range: Annotated[Floats, "n_stops, 2", "lowest and highest coordinate"]
    stop_law: Annotated[Floats, "n_stops, 2", "stiffness and damping"]
    surfaces: Annotated[
        Floats, "n_contacts, 7", "plane: a place, the normal, 0; sphere: centre, nothing, radius"
    ]
    contact_law: Annotated[
        Floats, "n_contacts, 5", "stiffness, damping, friction, slip speed, radius of the ball"
    ]

    parent: Annotated[Integers, "n_links", "parent link"]
    in_q: Annotated[Integers, "n_links", "index in q of the joint's coordinate"]
    in_v: Annotated[Integers, "n_links", "index in v of the joint's velocity"]
    scalar: Annotated[Integers, "n_links", "index in q of a quaternion's scalar part, SCREW or FOLLOWS"]
    base: Annotated[Integers, "n_links", "link that carries the joint's axis"]
    ball_vector: Annotated[Integers, "n_balls", "index in q of a quaternion's vector part"]
    ball_scalar: Annotated[Integers, "n_balls", "index in q of its scalar part"]
    point_link: Annotated[Integers, "n_points"]
    coordinate_kind: Annotated[Integers, "n_coordinates", "layout.COORDINATE_KINDS"]
    coordinate_of: Annotated[Integers, "n_coordinates", "index in v of the joint, or index of the point"]
    first_row: Annotated[Integers, "n_constraints"]
    row_count: Annotated[Integers, "n_constraints"]
    link_a: Annotated[Integers, "n_constraints", "link of frame a"]
    link_b: Annotated[Integers, "n_constraints", "link of frame b"]
    row_kind: Annotated[Integers, "n_rows", "layout.ALONG to layout.VELOCITY"]
    row_first: Annotated[Integers, "n_rows", "axis i, or the first term, instruction or factor"]
    row_second: Annotated[Integers, "n_rows", "axis j, or how many of them"]
    row_target: Annotated[Integers, "n_rows", "-1: none; layout.WRAPS: none, an angle that may jump by turns"]
    term: Annotated[Integers, "n_terms", "coordinate of interest of each term"]
    factors: Annotated[Integers, "n_factors, 3", "coordinate (-1: none), first instruction, instructions"]
    program: Annotated[Integers, "n_instructions, 3", "operation, and the entries of the tape that it takes"]
    elements: Annotated[
        Integers,
        "n_elements, 7",
        "line; indices of its dof, points, or point or link and its link; law; program: start, length, flag",
    ]
    stop_at: Annotated[Integers, "n_stops", "index in q and v"]
    contact_point: Annotated[Integers, "n_contacts", "index of the point"]
    fronts: Annotated[
        Integers,
        "n_fronts, 9",
        "columns: first, end of the summed ones, end; rows: first, end; fronts before: first, end; 1 where "
        "a later front takes over what is left; first front of its cluster",
    ]
    front_columns: Annotated[Integers, "n_front_columns", "places in v"]
    front_rows: Annotated[Integers, "n_front_rows", "rows of A"]
    fronts_before: Annotated[Integers, "n_fronts_before", "fronts whose rows a front takes over"]

    def __init__(self, counts: Mapping[str, int], values: Mapping[str, Floats | Integers]) -> None:
        """Copy the arrays; counts: the numbers. Raises ValueError for an array of another size."""
        super().__init__(**counts)
        for name, array in values.items():
            field = getattr(self, name)
            field[...] = np.asarray(array).reshape(field.shape)
        self._freeze()

    def _freeze(self) -> None:
        for value in self.__dict__.values():
            if isinstance(value, np.ndarray):
                value.flags.writeable = False

    def changed(self, values: Mapping[str, Floats]) -> Model:
        """Return this model with other values (n each, as many as the field has) of some parameters."""
        made = self.with_parameters(writable=True)
        for name, array in values.items():
            field = getattr(made, name)
            field[...] = np.asarray(array).reshape(field.shape)
        made._freeze()
        return made

    @property
    def counts(self) -> dict[str, int]:
        """The numbers."""
        return {name: value for name, value in self.__dict__.items() if isinstance(value, int)}

    def with_parameters(self, parameters: Floats | None = None, *, writable: bool = False) -> Model:
        """Return the same topology with other floats (n, as `buffer`; None: a copy of these)."""
        made = object.__new__(Model)
        tables = {name: value for name, value in self.__dict__.items() if _is_table(name, value)}
        made._place(
            {**self.counts, **tables},
            self.counts,
            np.array(self.buffer if parameters is None else parameters),
        )
        if not writable:
            made._freeze()
        return made

    def alike(self, other: Model) -> bool:
        """Whether the other one has the same topology."""
        return self.counts == other.counts and all(
            np.array_equal(value, getattr(other, name))
            for name, value in self.__dict__.items()
            if _is_table(name, value)
        )


def _is_table(name: str, value: object) -> bool:
    return isinstance(value, np.ndarray) and value.dtype == np.int64 and name not in ("integers", "words")


class Workspace(Struct):
    """State and results of one mechanism: the argument w of kernels.

    `q`, `v`, `effort`, `target` are written by the caller. M v̇ + h = effort + friction + compliant +
    constraint_force, and A v̇ = b. `model` is the mechanism's; all floats stand in `buffer`.
    """

    q: Annotated[Floats, "nq", "coordinates"]
    v: Annotated[Floats, "nv", "velocities"]
    effort: Annotated[Floats, "nv", "applied generalized force"]
    h: Annotated[Floats, "nv", "Coriolis, centrifugal and gravity terms, on the left-hand side"]
    friction: Annotated[Floats, "nv", "generalized force of friction, opposing v"]
    M: Annotated[Floats, "nv, nv", "mass matrix, armature included"]
    vdot: Annotated[Floats, "nv", "accelerations"]
    theta: Annotated[Floats, "n_coordinates", "coordinates of interest: θ˙ = J v, θ¨ = J v̇ + Jdv"]
    J: Annotated[Floats, "n_coordinates, nv", "their Jacobian"]
    Jdv: Annotated[Floats, "n_coordinates", "its rate times v"]
    point_position: Annotated[Floats, "n_points, 3"]
    point_velocity: Annotated[Floats, "n_points, 3"]
    point_bias: Annotated[Floats, "n_points, 3", "acceleration for v̇ = 0"]
    energy: Annotated[Floats, "2", "kinetic, potential (J)"]
    on: Annotated[Floats, "n_constraints", "1 for a constraint that is switched on, else 0 (switching.py)"]
    clock: Annotated[Floats, "2", "time (s) now, and the time at which the targets hold"]
    target: Annotated[Floats, "n_targets, 6", "a prescribed value and its first five time derivatives"]
    baumgarte: Annotated[Floats, "n_rows, 2", "alpha (1/s) and beta (1/s²)"]
    phi: Annotated[Floats, "n_rows", "residual of position, 0 in rows of velocity level"]
    phi_rate: Annotated[Floats, "n_rows", "residual of velocity"]
    explicit: Annotated[Floats, "n_rows", "the part of it that is not A v: Φ_t"]
    level: Annotated[Floats, "1", "1: rows of velocity level are left out, for finding positions; else 0"]
    driven_work: Annotated[
        Floats, "1", "J, done in the steps taken by applied forces and constraints that move with time"
    ]
    A: Annotated[Floats, "n_rows, nv", "rows that are switched off are 0"]
    b: Annotated[Floats, "n_rows"]
    constraint_force: Annotated[Floats, "nv", "acting on the mechanism"]
    multipliers: Annotated[Floats, "n_rows", "those of minimum norm, in scaled rows"]
    basis: Annotated[Floats, "nv, nv", "its first nv - rank rows span the velocities that A admits"]
    ranking: Annotated[Floats, "RANKING_SIZE", "the decision on the rank (rank.py); layout names its entries"]
    choice: Annotated[
        Floats,
        "3",
        "formulation (other_formulations.py); 1: the step corrects, 0: not; 1: minimal coordinates3",
        "formulation of a step (other_formulations.py); 1: it corrects, 0: not; 1: minimal coordinates",
    ]
    compliant: Annotated[Floats, "nv", "generalized force of stops and contacts"]
    contact_force: Annotated[Floats, "n_contacts, 3", "N, on the point"]
    contact_gap: Annotated[Floats, "n_contacts", "distance from the surface (m), negative inside"]
    losses: Annotated[
        Floats,
        "4",
        "power lost to friction, stops and contacts (W), energy of their springs (J, potential), energy lost "
        "so far (J), energy of springs that press no more (J), on its way back",
    ]

    reference: Annotated[Floats, "1, 3", "the point about which moments and linear velocities are taken"]
    axes: Annotated[Floats, "3 * n_links, 3", "row 3 i + k is the k-th axis of link i"]
    origin: Annotated[Floats, "n_links, 3"]
    screw_angular: Annotated[Floats, "n_links, 3", "joint i's twist for unit velocity"]
    screw_linear: Annotated[Floats, "n_links, 3"]
    angular: Annotated[Floats, "n_links, 3", "angular velocity of link i"]
    linear: Annotated[Floats, "n_links, 3", "velocity of link i's material at the reference point"]
    angular_bias: Annotated[Floats, "n_links, 3", "rate of the twist for v̇ = 0"]
    linear_bias: Annotated[Floats, "n_links, 3"]
    moment: Annotated[Floats, "n_links, 3", "wrench carried by joint i for v̇ = 0"]
    force: Annotated[Floats, "n_links, 3"]
    composite_mass: Annotated[Floats, "n_links", "mass of link i and everything it carries"]
    composite_first: Annotated[Floats, "n_links, 3", "first moment of mass"]
    composite_second: Annotated[Floats, "n_links, 6", "inertia (xx, xy, xz, yy, yz, zz)"]
    factor: Annotated[Floats, "nv, nv", "Cholesky factor of M"]
    start_q: Annotated[Floats, "nq", "state at the beginning of a step"]
    start_v: Annotated[Floats, "nv"]
    sum_q: Annotated[Floats, "nq", "weighted sum of stages"]
    sum_v: Annotated[Floats, "nv"]
    second: Annotated[Floats, "nv", "acceleration of a step's second stage"]
    kept: Annotated[Floats, "RANKING_SIZE + 3", "ranking, clock[0], driven_work, losses[2] before a step"]
    rates: Annotated[Floats, "nq", "q̇"]
    factored: Annotated[Floats, "n_rows, nv", "scaled rows, after their pivoted QR"]
    right_side: Annotated[Floats, "n_rows", "scaled b, after the reflections of that QR"]
    exchanges: Annotated[Floats, "nv", "exchanged columns"]
    reflected: Annotated[Floats, "nv", "factors of the reflections"]
    reduced: Annotated[Floats, "nv * nv", "mass matrix of the admitted velocities and its factor"]
    momenta: Annotated[Floats, "nv, nv", "scratch of reduced_mass.py: M times the basis"]
    supports: Annotated[Floats, "nv * nv", "links that each row of the basis moves, row after row"]
    coupled: Annotated[Floats, "5, nv", "see reduced_mass.py"]
    shift: Annotated[Floats, "nv", "forces, or a correction of position or velocity"]
    free_motion: Annotated[Floats, "nv", "components of a motion in the basis"]
    tape: Annotated[Floats, "n_tape, 4", "value, two derivatives along the motion, adjoint (tape.py)"]
    derivative: Annotated[Floats, "n_rows, nv", "of the scaled rows along v (branches.py)"]
    third: Annotated[Floats, "n_rows", "derivative of Ȧ v along v, scaled"]
    kept_q: Annotated[Floats, "nq"]
    system: Annotated[Floats, "n_rows, nv", "scratch of branch poses and of the slower formulations"]
    column: Annotated[Floats, "n_rows"]
    touching: Annotated[
        Floats, "2 * n_stops + n_contacts", "1 for each side of a stop, then each contact, that presses; or 0"
    ]
    held: Annotated[Floats, "1", "1 while a step holds `touching` fixed (touch_search.py)"]
    pressure: Annotated[
        Floats, "2 * n_stops + n_contacts", "elastic force and the damper's pull (N or N m), > 0 presses"
    ]
    backup: Annotated[
        Floats,
        "nq + nv + 4 + RANKING_SIZE if n_stops + n_contacts else 0",
        "state at the beginning of a part of a step",
    ]
    stages: Annotated[
        Floats, "2 * (nq + nv) + 4", "of an implicit step: rates, then losses and driving powers (W)"
    ]
    search: Annotated[
        Floats,
        "SEARCH_SIZE if n_stops + n_contacts else 0",
        "how far a step in parts has come (touch_search.py)",
    ]
    slipping: Annotated[Floats, "nv", "constant force of slipping brakes and of dampers at their limit"]
    dampers: Annotated[Floats, "nv", "coefficient of dampers beside the viscous friction"]
    stuck: Annotated[Floats, "nv", "1 where a brake holds the velocity at zero"]
    stuck_count: Annotated[Floats, "2", "how many, and how many of them are independent on the manifold"]
    sticking: Annotated[Floats, "nv", "the force with which it does, after an acceleration"]
    stuck_rows: Annotated[Floats, "nv * nv", "scratch of sticking.py: QR of the stuck velocities' rows"]
    stuck_basis: Annotated[Floats, "nv, nv", "the velocities that A admits, stuck ones too"]
    stuck_exchanges: Annotated[Floats, "nv"]
    stuck_reflected: Annotated[Floats, "nv"]
    stuck_side: Annotated[Floats, "nv"]
    stuck_motion: Annotated[Floats, "nv"]
    pushes: Annotated[
        Floats, "2 * n_rows", "multipliers of the corrections of a symmetric step: position, velocity"
    ]
    pushed: Annotated[Floats, "4 * nv", "its corrections of position and velocity at its beginning, its end"]
    unpushed: Annotated[Floats, "nq + nv + RANKING_SIZE + 3", "the start of a symmetric step"]
    square: Annotated[Floats, "(nv + n_rows) * (nv + n_rows + 4)", "scratch of the slower formulations"]
    combinations: Annotated[Floats, "n_rows * n_rows", "lost directions in scaled rows (branch_window.py)"]
    images: Annotated[Floats, "n_rows * (nv + 1)", "their images under H"]
    span: Annotated[Floats, "nv + 1, nv", "admitted velocities, scaled"]
    slopes: Annotated[Floats, "(nv + 1) * (nv + 1)", "scratch of branch_window.py"]
    course: Annotated[Floats, "(nv + 1) * (nv + 1)", "scratch of branch_window.py"]
    window: Annotated[Floats, "nq + 3 * (nv + 1)", "scratch of branch_window.py"]
    element_force: Annotated[
        Floats,
        "n_elements, 3",
        "spring: length or angle, rate, pull; applied force: coordinate (0: none), rate, force",
    ]
    element_wrench: Annotated[
        Floats, "4 * n_elements, 3", "moment about the reference and force on the first and second body"
    ]
    element_power: Annotated[Floats, "1", "power of the applied forces (W)"]
    passed: Annotated[Floats, "2", "rank and switches of the last sample (passages.py)"]
    passed_rows: Annotated[Floats, "n_rows, nv", "its scaled rows"]
    passed_x: Annotated[Floats, "n_rows"]
    passed_image: Annotated[Floats, "n_rows"]
    front_states: Annotated[Floats, "n_fronts if n_fronts > 1 else 0, 9", "see elimination.py"]
    column_lists: Annotated[Floats, "n_column_list", "columns of each front, in the order of elimination"]
    row_lists: Annotated[Floats, "n_row_list", "the rows of each front"]
    stamps: Annotated[Floats, "nv + n_rows if n_fronts > 1 else 0", "scratch of elimination.py"]
    column_squares: Annotated[Floats, "nv if n_fronts > 1 else 0", "squared lengths of the scaled columns"]

    partition: Annotated[Integers, "4 + 2 * nv", "dependent and independent coordinates (partition.py)"]
    chart: Annotated[Floats, "nv", "minimal.py: way since the start of a step"]
    chart_rate: Annotated[Floats, "nv"]
    chart_sum: Annotated[Floats, "nv", "weighted sum of stages"]
    speed_sum: Annotated[Floats, "nv"]
    began_q: Annotated[Floats, "nq", "state at the start of a step"]
    began_v: Annotated[Floats, "nv"]
    solution: Annotated[Floats, "nv", "shift of the dependent coordinates"]
    exchanged: Annotated[Floats, "nv"]
    reflections: Annotated[Floats, "nv"]
    dependent_side: Annotated[Floats, "n_rows", "right side of the dependent coordinates' equations"]
    dependent: Annotated[Floats, "n_rows * nv", "their scaled columns of A, and the QR of these"]

    def __init__(self, model: Model) -> None:
        """Allocate for a mechanism; at rest at the zero pose."""
        super().__init__({**model.counts, "RANKING_SIZE": RANKING_SIZE, "SEARCH_SIZE": SEARCH_SIZE})
        self.model = model
        self.on[:] = model.on_given
        self.choice[1] = 1.0
        self.partition[2:4] = -1  # not decided
        self.target[:, 0] = model.target_given
        self.baumgarte[:] = model.baumgarte_given
        self.q[model.ball_scalar] = 1.0
        if not model.n_rows:
            self.basis[:] = np.eye(model.nv)

    @property
    def driving_power(self) -> float:
        """After an acceleration: power (W) of applied forces and of moving constraints, -λ'Φ_t."""
        return float(self.element_power[0] - self.multipliers @ self.explicit)

    @property
    def arguments(self) -> tuple[Model, Workspace]:
        """The first arguments of most kernels: `dynamics(*workspace.arguments)`."""
        return self.model, self


def touches(work: Workspace) -> bool:
    """Whether the mechanism has stops or contacts."""
    return work.touching.size > 0
