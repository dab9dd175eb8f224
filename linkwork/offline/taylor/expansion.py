"""Second-order Taylor expansion of the closures of joints, and the square system for their reactions.

In a step, body i shifts by x_i + X_i and turns by the rotation vector θ_i + Θ_i, where X, Θ come from the
reactions. A vector s fixed in it becomes, to second order,

    s~ = s + θ × s + θ × (θ × s) / 2,       ds~ = Θ × s + (Θ × (θ × s) + θ × (Θ × s)) / 2

The last two terms are Phi_qq kap0 of the general form of Huang et al. 2000, section 3. Its printed rows of
rigid bodies have them for directions only; with them in all rows, motion restores the rank that Phi_q loses
at a singular pose. A joint has these rows, and as many unknowns:

| joint | rows | unknowns |
| --- | --- | --- |
| spherical | coincide | force |
| revolute | coincide, parallel | force; moment normal to the axis |
| cylindrical | on axis, parallel | force and moment normal to the axis |
| prismatic | on axis, parallel, perpendicular | force normal to the axis; moment |
| pin | on axis | force normal to the axis |

coincide: E = p_b~ - p_a~ (3); on axis: s_a~ × E (2); parallel: s_b~ × s_a~ (2); perpendicular: h_b~'h_a~ (1).
Products of vectors are projected on two unit vectors normal to a's axis: as triples, they have rank 2.

    (dt²/2) (Phi_q + Phi_qq kap0) M⁻¹ Z' Q = -(Phi + Phi_q kap0 + ½ kap0' Phi_qq kap0)

The unknowns of a joint are a force and a moment on b, at the origin of frame b, in the directions that the
joint constrains; the body of a receives the opposite, at the same point. Phi_q + Phi_qq kap0 are the
gradients at the end of the step; the places and directions Z are those of some part of it, reached by motion
without reactions: of its beginning (0) in the paper. But then a step that starts in a singular pose has no
solution for any Phi_qq, because Z loses there the rank that Phi_q loses. Taken half way (1/2) they do not
lose rank together; and the reactions do no work to second order, since the step's displacement is dt times
the mean of the old and the new velocity.

A rotor geared to a joint (armature I) is one more unknown T along the axis, with T / I + s'(α_b - α_a) = 0,
or the accelerations of the coincident points for a slide.
"""

from typing import NamedTuple

import numpy as np

from linkwork.arrays import Floats, Integers
from linkwork.offline.taylor.rigid_motion import RigidMotion, cross, dot, hat, turned


class StepExpansion(NamedTuple):
    """The system `matrix` Q = `right` for the nr reactions of a step.

    `joint` (nr - rotors): the joint of each. `pulls` (nr × 6): force and moment on b of one unit of each, and
    `responses` (nr × n × 6) the accelerations by it. `free` (n × 6): those without reactions, by which the
    body that turns most turns by `turn` (rad).
    """

    matrix: Floats
    right: Floats
    joint: Integers
    pulls: Floats
    responses: Floats
    free: Floats
    turn: float


def expand(motion: RigidMotion, dt: float, reactions_at: float) -> StepExpansion:
    """Expand the closures of all joints over a step of dt (s); unknowns act after the part `reactions_at`."""
    m, half = motion.model, 0.5 * dt * dt
    free = motion.free_acceleration()
    way = motion.displacement(free, dt)
    joint = np.nonzero(m.closed)[0]
    rows, right = _rows(motion, way)

    part, turning = reactions_at * way, _turning(reactions_at * way[:, 3:])
    a, b, axis = m.a.body, m.b.body, m.dof_joint[m.rotors]
    lever_b = turned(turning[b], motion.lever_b)
    lever_a = motion.reach - motion.lever_b + part[b, :3] - part[a, :3] + lever_b
    directions = (turning[a] @ motion.frame_a).transpose(0, 2, 1)
    pulls = np.zeros((len(a), 8, 6))
    pulls[:, :3, :3], pulls[:, 3:5, :3], pulls[:, 5:, 3:] = np.eye(3), directions[:, :2], directions
    pulls = np.concatenate([pulls[m.closed], motion.along(m.rotors, directions[axis, 2])])
    at = np.concatenate([joint, axis])
    wrenches = motion.wrenches(at, (lever_b[at], lever_a[at]), pulls)
    responses = motion.response(wrenches)

    w_a, w_b, s = motion.omega[a[axis]], motion.omega[b[axis]], directions[axis, 2]
    centripetal = cross(w_b, cross(w_b, lever_b[axis])) - cross(w_a, cross(w_a, lever_a[axis]))
    geared = wrenches[len(joint) :]
    apart = (geared * free).sum(axis=(1, 2)) + np.where(m.slides[m.rotors], dot(s, centripetal), 0.0)

    matrix = half * np.tensordot(np.concatenate([rows, geared]), responses, ((1, 2), (1, 2)))
    matrix[len(joint) :, len(joint) :] += np.diag(half / m.axis_values[0, m.rotors])
    turn = float(np.sqrt(dot(way[:, 3:], way[:, 3:]).max()))
    return StepExpansion(matrix, np.concatenate([-right, -half * apart]), joint, pulls, responses, free, turn)


def gaps(motion: RigidMotion) -> Floats:
    """Residuals (nr; m or rad) of all closures now; 0 for rotors."""
    axes_a, axes_b = (frame.transpose(0, 2, 1) for frame in (motion.frame_a, motion.frame_b))
    found = _values(axes_a[:, :2], motion.reach - motion.lever_a, axes_a, axes_b)[motion.model.closed]
    return np.append(found, np.zeros(len(motion.model.rotors)))


def _values(e: Floats, apart: Floats, axes_a: Floats, axes_b: Floats) -> Floats:
    """Values (nj × 8) of all rows: E `apart`, axes of frames as rows, e (nj × 2 × 3) normal to a's axis."""
    s_a, s_b = axes_a[:, 2], axes_b[:, 2]
    on_axis, parallel = turned(e, cross(s_a, apart)), turned(e, cross(s_b, s_a))
    return np.concatenate([apart, on_axis, parallel, dot(axes_b[:, 1], axes_a[:, 0])[:, None]], axis=1)


def _rows(motion: RigidMotion, way: Floats) -> tuple[Floats, Floats]:
    """Gradients (k × n × 6) on the displacement of all bodies, and values (k), after the one of `way`."""
    m, turns, turning = motion.model, hat(way[:, 3:]), _turning(way[:, 3:])
    a, b = m.a.body, m.b.body
    axes_a, axes_b = motion.frame_a.transpose(0, 2, 1), motion.frame_b.transpose(0, 2, 1)
    later_a = (turning[a] @ motion.frame_a).transpose(0, 2, 1)
    later_b = (turning[b] @ motion.frame_b).transpose(0, 2, 1)
    e, s_a, s_b = axes_a[:, :2], later_a[:, None, 2], later_b[:, None, 2]
    ends = turned(turning[b], motion.lever_b) - turned(turning[a], motion.lever_a)
    apart = motion.reach - motion.lever_b + way[b, :3] - way[a, :3] + ends

    def gradients(body: Integers, *s: Floats) -> Floats:
        """Matrices D (nj × 3 × 3) with ds~ = D Θ, for each of the vectors s (nj × 3) of bodies (nj)."""
        vectors, turn = np.array(s), turns[body]
        still = hat(vectors)
        return -still - 0.5 * (hat(turned(turn, vectors)) + turn @ still)

    d_b, ds_b, dh_b = gradients(b, motion.lever_b, axes_b[:, 2], axes_b[:, 1])
    d_a, ds_a, dh_a = gradients(a, motion.lever_a, axes_a[:, 2], axes_a[:, 0])
    on_b, on_a = np.zeros((2, len(a), 8, 6))
    on_b[:, :3, :3], on_b[:, 3:5, :3] = np.eye(3), cross(e, s_a)
    on_a[:, :, :3] = -on_b[:, :, :3]
    on_b[:, :, 3:], on_a[:, :, 3:] = on_b[:, :, :3] @ d_b, on_a[:, :, :3] @ d_a
    on_a[:, 3:5, 3:] += cross(apart[:, None], e) @ ds_a
    on_b[:, 5:7, 3:], on_a[:, 5:7, 3:] = cross(s_a, e) @ ds_b, cross(e, s_b) @ ds_a
    on_b[:, 7:, 3:], on_a[:, 7:, 3:] = later_a[:, :1] @ dh_b, later_b[:, 1:2] @ dh_a

    joint = np.nonzero(m.closed)[0]
    rows, k = np.zeros((len(joint), len(way), 6)), np.arange(len(joint))
    rows[k, b[joint]], rows[k, a[joint]] = on_b[m.closed], on_a[m.closed]
    return rows, _values(e, apart, later_a, later_b)[m.closed]


def _turning(turn: Floats) -> Floats:
    """Matrices (n × 3 × 3) that turn s to s~, for rotation vectors (n × 3)."""
    first = hat(turn)
    return np.asarray(np.eye(3) + first + 0.5 * first @ first)
