"""Named curves are themselves to 1e-12 m, and their leads are smooth."""

import numpy as np
import pytest
from scipy.interpolate import BPoly

from linkwork.controller.planning.messages.planner_start import Present
from linkwork.controller.planning.paths.curves import CurveProfile, path_along, ramp
from linkwork.protocol.codes import ResultCode
from linkwork.protocol.errors import RequestError
from linkwork.protocol.trajectory import Circle, Curve, Helix, LineCurve

HELIX = Helix(
    center_m=[0.0, 0.35, 0.0], radius_m=0.05, rate_rad_s=0.4 * np.pi, pitch_speed_m_s=0.02, duration_s=5.0
)
SHAPES = [
    HELIX,
    Helix(
        center_m=[1, 2, 3], radius_m=2.0, rate_rad_s=-7.0, phase_rad=0.5, pitch_speed_m_s=-1.0, duration_s=3.0
    ),
    Circle(center_m=[0.0, 0.35, 0.1], radius_m=0.05, rate_rad_s=12.0, duration_s=2.0),
    Circle(center_m=[0.0, 0.35, 0.1], radius_m=0.05, rate_rad_s=0.0, duration_s=2.0),
    LineCurve(from_m=[0.1, 0.3, 0.0], to_m=[-0.1, 0.4, 0.05], duration_s=1.5),
]


def exact(shape, u):
    """Position on the curve, written out once more."""
    u = np.asarray(u)[:, None]
    if isinstance(shape, LineCurve):
        return np.array(shape.from_m) + (np.array(shape.to_m) - shape.from_m) * u / shape.duration_s
    angle = shape.rate_rad_s * u + shape.phase_rad
    rise = shape.pitch_speed_m_s * u if isinstance(shape, Helix) else 0.0 * u
    circle = shape.radius_m * np.hstack([np.sin(angle), np.cos(angle)])
    return np.array(shape.center_m) + np.hstack([circle, rise])


def present_at(shape, u, rate=None):
    theta = np.append(exact(shape, [u])[0], 0.7)
    rates = np.zeros(4) if rate is None else np.append(rate, 0.0)
    return Present(
        (4, 5, 6, 7), ("x", "y", "z", "angle"), theta, rates, np.array([False] * 3 + [True]), np.full(4, 1e-3)
    )


def path_of(shape, ramp_s, capacity=2**20):
    kind = type(shape).__name__.lower().removesuffix("curve")
    present = present_at(shape, -ramp_s / 2.0)
    return path_along(Curve(**{kind: shape}), ramp_s, [0, 1, 2], present, present.theta, capacity)


def position_at(shape, ramp_s, s):
    """u(s) by numerical integration of u' = 10 x^3 - 15 x^4 + 6 x^5."""
    if s < ramp_s:
        nodes, weights = np.polynomial.legendre.leggauss(8)
        x = (nodes + 1.0) / 2.0 * s / ramp_s
        return -ramp_s / 2.0 + s / 2.0 * float(weights @ (10 * x**3 - 15 * x**4 + 6 * x**5))
    if s > ramp_s + shape.duration_s:
        total = shape.duration_s + 2.0 * ramp_s
        return shape.duration_s - position_at(shape, ramp_s, total - s)
    return s - ramp_s


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("ramp_s", [0.3, 1.0, 4.0])
def test_the_path_is_the_curve(shape, ramp_s):
    path = path_of(shape, ramp_s)
    pieces = BPoly.from_derivatives(path.knots, path.values)
    assert path.full_speed == (ramp_s, ramp_s + shape.duration_s)
    assert path.duration_s == pytest.approx(shape.duration_s + 2.0 * ramp_s, abs=1e-12)
    s = np.random.default_rng(5).uniform(0.0, path.duration_s, 2000)
    u = np.array([position_at(shape, ramp_s, one) for one in s])
    np.testing.assert_allclose(
        pieces(s)[:, :3], exact(shape, u), rtol=0, atol=1e-12 * max(1.0, abs(exact(shape, u)).max())
    )
    np.testing.assert_array_equal(path.values[:, 0, 3], 0.7)


def test_the_helix_at_its_own_speed_is_the_one_of_the_paper():
    path = path_of(HELIX, 1.0)
    pieces = BPoly.from_derivatives(path.knots, path.values)
    t = np.linspace(0.0, 5.0, 501)
    x, y, z, _ = pieces(1.0 + t).T
    np.testing.assert_allclose(x, 0.05 * np.sin(0.4 * np.pi * t), atol=1e-12)
    np.testing.assert_allclose(y, 0.35 + 0.05 * np.cos(0.4 * np.pi * t), atol=1e-12)
    np.testing.assert_allclose(z, 0.02 * t, atol=1e-12)
    np.testing.assert_allclose(path.values[0, 0, 2], -0.01, atol=1e-15)
    velocity = pieces(1.0 + t, 1)
    np.testing.assert_allclose(velocity[:, 0], 0.02 * np.pi * np.cos(0.4 * np.pi * t), atol=1e-10)


@pytest.mark.parametrize("shape", SHAPES)
def test_it_begins_and_ends_at_rest(shape):
    path = path_of(shape, 0.5)
    np.testing.assert_allclose(path.values[[0, -1], 1:], 0.0, atol=1e-15)


def test_the_ramp_limits_its_jerk():
    ramp_s = 1.7
    s = np.linspace(0.0, ramp_s, 20001)
    u, u1, u2 = ramp(s, ramp_s)
    assert (u[0], u1[0], u2[0]) == (0.0, 0.0, 0.0)
    assert (u[-1], u1[-1]) == (pytest.approx(ramp_s / 2.0), pytest.approx(1.0))
    assert u2[-1] == pytest.approx(0.0, abs=1e-12)
    assert np.all(np.diff(u1) >= 0.0)
    np.testing.assert_allclose(np.diff(u) / np.diff(s), (u1[1:] + u1[:-1]) / 2.0, atol=1e-7)
    np.testing.assert_allclose(np.diff(u1) / np.diff(s), (u2[1:] + u2[:-1]) / 2.0, atol=1e-6)
    assert u2.max() == pytest.approx(1.875 / ramp_s, rel=1e-6)
    jerk = np.abs(np.diff(u2) / np.diff(s)).max()
    assert jerk == pytest.approx(10.0 / np.sqrt(3.0) / ramp_s**2, rel=1e-3)


def test_the_profile_is_smooth_where_its_parts_meet():
    profile = CurveProfile(5.0, 1.0)
    for s in (1.0, 6.0):
        before, after = profile(np.array([s - 1e-9])), profile(np.array([s + 1e-9]))
        for one, other in zip(before, after, strict=True):
            np.testing.assert_allclose(one, other, atol=1e-7)


def test_a_curve_elsewhere_is_refused_and_says_where_it_begins():
    present = present_at(HELIX, 0.0)
    with pytest.raises(RequestError, match=r"x = -0\.02938") as caught:
        path_along(Curve(helix=HELIX), 1.0, [0, 1, 2], present, present.theta, 2**20)
    assert caught.value.code == ResultCode.INVALID_GOAL
    assert caught.value.data["coordinate"] == "x"
    np.testing.assert_allclose(
        list(caught.value.data["begin"].values()), np.append(exact(HELIX, [-0.5])[0], 0.7), atol=1e-12
    )


def test_a_curve_without_leads_begins_in_motion():
    present = present_at(HELIX, 0.0)
    with pytest.raises(RequestError, match=r"begins in motion .* entry") as caught:
        path_along(Curve(helix=HELIX), 0.0, [0, 1, 2], present, present.theta, 2**20)
    assert caught.value.code == ResultCode.INVALID_GOAL


def test_a_curve_without_leads_ends_in_motion_even_where_it_may_begin():
    present = present_at(HELIX, 0.0, rate=[0.02 * np.pi, 0.0, 0.02])
    with pytest.raises(RequestError, match="ends in motion"):
        path_along(Curve(helix=HELIX), 0.0, [0, 1, 2], present, present.theta, 2**20)


def test_a_curve_too_long_for_a_block_is_refused():
    endless = HELIX.model_copy(update={"duration_s": 1e7})
    with pytest.raises(RequestError, match=r"pieces .* fit") as caught:
        path_of(endless, 1.0)
    assert caught.value.data["value"] > caught.value.data["limit"]
