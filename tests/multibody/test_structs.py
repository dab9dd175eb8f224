"""Structs: named fields, the same for Python, for kernels and in C."""

from typing import Annotated, Any

import numpy as np
import pytest

from linkwork.arrays import Flags, Floats, Integers
from linkwork.multibody.dynamics.tree_dynamics import dynamics
from linkwork.multibody.kernels.compiling import block, flat, kernel, part
from linkwork.multibody.kernels.structs import Struct
from linkwork.multibody.kernels.views import copy
from linkwork.multibody.tree.coordinates import coordinates
from linkwork.multibody.workspace import Model, Workspace
from tests.multibody.machines import pendulum, scara


class Scattered(Struct):
    """Values and where they go."""

    n_values: int
    values: Annotated[Floats, "n_values"]
    places: Annotated[Integers, "n_values"]
    on: Annotated[Flags, "n_values"]
    table: Annotated[Floats, "2, n_values + 1"]


class Sized(Struct):
    """A length that nothing gives."""

    values: Annotated[Floats, "n"]


class Pair(Struct):
    """A struct with structs in it."""

    first: Scattered
    model: Model
    free: Floats


@kernel
def scatter(given: Scattered) -> None:
    """Values go to the second row of the table, at the places."""
    for i in range(given.n_values):
        if given.on[i]:
            given.table[1, given.places[i]] = given.values[i]


@kernel
def of_pair(pair: Pair) -> float:
    """Read through the inner structs."""
    inner = pair.first
    return inner.values[1] + pair.model.nv + pair.free[2]


@kernel
def computed_torque(m: Model, w: Workspace) -> float:
    """Effort := h - friction + M θ[:nv], and twice the kinetic energy is returned."""
    dynamics(m, w)
    coordinates(m, w)
    twice = 0.0
    for i in range(m.nv):
        w.effort[i] = w.h[i] - w.friction[i]
        for j in range(m.nv):
            w.effort[i] += w.M[i, j] * w.theta[j]
            twice += w.v[i] * w.M[i, j] * w.v[j]
    return twice


def given_values(**changed: Any) -> Scattered:
    arrays = {"values": np.array([1.0, 2.0, 3.0]), "places": np.array([2, 0, 1]), "on": np.ones(3, bool)}
    return Scattered(**({"n_values": 3, **arrays} | changed))


def test_a_kernel_finds_the_fields_by_name() -> None:
    given = given_values()
    scatter(given)
    np.testing.assert_array_equal(given.table, [[0.0] * 4, [2.0, 3.0, 1.0, 0.0]])
    pair = Pair(first=given, model=pendulum().model, free=np.arange(4.0))
    assert of_pair(pair) == 2.0 + 1.0 + 2.0


def test_fields_that_are_not_given_are_views_of_one_array() -> None:
    given = Scattered(n_values=3, on=np.zeros(3, bool))
    assert given.values.shape == (3,)
    assert given.table.shape == (2, 4)
    given.buffer[:] = np.arange(11)
    assert given.values.tolist() == [0.0, 1.0, 2.0]
    assert given.table[1].tolist() == [7.0, 8.0, 9.0, 10.0]


@pytest.mark.parametrize(
    ("changed", "text"),
    [
        (
            {"values": np.zeros(3, np.float32)},
            r"Scattered\.values is of float32, must be an array of float64",
        ),
        ({"places": np.zeros(3)}, r"Scattered\.places is of float64, must be an array of int64"),
        ({"table": [[0.0] * 4] * 2}, r"Scattered\.table is list, must be an array of float64"),
        ({"table": np.zeros(8)}, r"Scattered\.table has shape \(8,\), needs 2 dimension"),
        ({"table": np.zeros((2, 8))[:, ::2]}, r"Scattered\.table is not contiguous"),
        ({"places": np.arange(2)}, r"Scattered\.places has 2 n_values, must have 3"),
        ({"table": np.zeros((2, 3))}, r"Scattered\.table has 3 n_values \+ 1, must have 4"),
    ],
)
def test_arrays_that_a_kernel_would_misread_are_refused(changed: dict[str, object], text: str) -> None:
    with pytest.raises(ValueError, match=text):
        given_values(**changed)


def test_wrong_fields_and_other_structs_are_refused() -> None:
    with pytest.raises(TypeError, match="has no field other"):
        given_values(other=1)
    with pytest.raises(TypeError, match="needs its field n_values"):
        Scattered(values=np.zeros(3))
    with pytest.raises(TypeError, match="needs its field on"):
        Scattered(n_values=3)
    with pytest.raises(TypeError, match=r"Sized\.values needs its length n: give sizes"):
        Sized()
    with pytest.raises(TypeError, match=r"Pair\.model is Scattered, must be Model"):
        Pair(first=given_values(), model=given_values(), free=np.zeros(1))
    with pytest.raises(AttributeError, match=r"write into it: values\[:\]"):
        given_values().values = np.zeros(3)
    w = pendulum().workspace()
    with pytest.raises(TypeError, match="dynamics: `m` must be a Model"):
        dynamics(w, w)  # type: ignore[arg-type]


def test_a_declaration_has_fields_of_known_types_only() -> None:
    class Listed(Struct):
        listed: list[bool]

    with pytest.raises(TypeError, match=r"Listed\.listed is .*must be Floats"):
        Listed()


def test_a_kernel_of_another_package(allocations: Any) -> None:
    w = scara().workspace()
    w.q[:], w.v[:] = [0.5, -1.0, 0.4, 0.1], [1.0, 2.0, -1.0, 0.1]
    assert np.isclose(computed_torque(*w.arguments), w.v @ w.M @ w.v, rtol=1e-14)
    assert np.allclose(w.effort, w.h - w.friction + w.M @ w.q, rtol=1e-14)
    assert allocations(dynamics, *w.arguments) == 0


def test_a_workspace_is_one_array() -> None:
    w = scara().workspace()
    w.buffer[:] = np.arange(len(w.buffer))
    assert np.array_equal(w.buffer[: w.q.size], w.q)
    assert np.shares_memory(w.M, w.buffer)
    assert (w.M.shape, w.J.shape, w.point_position.shape) == ((4, 4), (8, 4), (1, 3))


def test_a_model_is_read_only_and_changes_by_copy() -> None:
    model = scara().model
    with pytest.raises(ValueError, match="read-only"):
        model.mass[0] = 1.0
    other = model.changed({"mass": 2.0 * model.mass})
    assert other.alike(model)
    np.testing.assert_array_equal(other.mass, 2.0 * model.mass)
    assert not other.mass.flags.writeable
    assert other.parent is model.parent


@part
def _row(values: Floats, i: int) -> Floats:
    return block(values, 3 * i, 1, 3)


@kernel
def pieces(m: Model, w: Workspace, out: Floats) -> int:
    """A block of the flat array, and its second row."""
    copy(block(flat(w.M), 2, 2, 3)[1], out)
    return m.parent[2]


def test_blocks() -> None:
    row = _row(np.arange(12.0), 2)
    assert row[0].tolist() == [6.0, 7.0, 8.0]
    w, out = scara().workspace(), np.zeros(3)
    w.M[:] = np.arange(16.0).reshape(4, 4)
    assert pieces(*w.arguments, out) == 1  # the third link hangs on the second
    assert out.tolist() == [5.0, 6.0, 7.0]
