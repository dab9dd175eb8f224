"""Kernels of other rooms: they call this room's kernels and read and write its fields, at no cost."""

import numpy as np

from linkwork.multibody.kernels import layout
from linkwork.multibody.kernels.compiling import (
    BUFFER,
    PARAMETERS,
    TOPOLOGY,
    VECTOR,
    float64,
    int64,
    kernel,
    part,
)
from linkwork.multibody.kernels.views import block, copy, matrix, table, vector
from linkwork.multibody.tree.coordinates import coordinates
from linkwork.multibody.tree.dynamics import dynamics
from tests.multibody.machines import scara


@kernel(float64(PARAMETERS, TOPOLOGY, BUFFER))
def computed_torque(p, t, w):
    """effort := h - friction + M θ[:nv], and twice the kinetic energy is returned."""
    dynamics(p, t, w)
    coordinates(p, t, w)
    m, v, h = matrix(t, w, layout.M, t[layout.NV]), vector(t, w, layout.V), vector(t, w, layout.H)
    theta, friction = vector(t, w, layout.THETA), vector(t, w, layout.FRICTION)
    effort = vector(t, w, layout.EFFORT)
    twice = 0.0
    for i in range(t[layout.NV]):
        effort[i] = h[i] - friction[i]
        for j in range(t[layout.NV]):
            effort[i] += m[i, j] * theta[j]
            twice += v[i] * m[i, j] * w[t[layout.V] + j]
    return twice


def test_a_kernel_of_another_room(allocations):
    w = scara().workspace()
    w.q[:], w.v[:] = [0.5, -1.0, 0.4, 0.1], [1.0, 2.0, -1.0, 0.1]
    assert np.isclose(computed_torque(*w.arguments), w.v @ w.M @ w.v, rtol=1e-14)
    assert np.allclose(w.effort, w.h - w.friction + w.M @ w.q, rtol=1e-14)
    assert allocations(computed_torque, *w.arguments) == 0


def test_every_field_is_the_view_of_its_name():
    w = scara().workspace()
    w.buffer[:] = np.arange(len(w.buffer))
    names = {
        layout.Q: w.q, layout.V: w.v, layout.EFFORT: w.effort, layout.H: w.h, layout.M: w.M, layout.J: w.J,
        layout.FRICTION: w.friction, layout.VDOT: w.vdot, layout.THETA: w.theta, layout.JDV: w.Jdv,
        layout.POINT_POSITION: w.point_position, layout.POINT_VELOCITY: w.point_velocity,
        layout.ENERGY: w.energy,
    }  # fmt: skip
    for field, view in names.items():
        assert np.array_equal(w.buffer[w.topology[field] : w.topology[field + 1]], view.ravel())
    assert w.M.shape == (4, 4)
    assert w.J.shape == (8, 4)
    assert w.point_position.shape == (1, 3)


@part
def _row(values, i):
    return block(values, 3 * i, 1, 3)


@part
def _sum_of_row(values, i):
    row = _row(values, i)
    return row[0, 0] + row[0, 1] + row[0, 2]


def test_python_may_call_a_part_whose_parts_give_views():
    """No kernel has compiled these parts before."""
    assert _sum_of_row(np.arange(12.0), 2) == 6.0 + 7.0 + 8.0


@kernel(int64(TOPOLOGY, BUFFER, VECTOR))
def _pieces(t, w, out):
    copy(block(w, 2, 2, 3)[1], out)
    return table(t, layout.LINKS, 3)[2, 0]


def test_blocks_and_tables():
    w = scara().workspace()
    w.buffer[:] = np.arange(len(w.buffer))
    out = np.zeros(3)
    assert _pieces(w.topology, w.buffer, out) == 1  # the third link hangs on the second
    assert out.tolist() == [5.0, 6.0, 7.0]
