"""The end of every tick: filter, rate limit, saturation, and finite numbers only."""

import math

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from linkwork.controller.motion.limits.effort_limits import EffortLimits, Limited, filter_share, limit_effort

ANY = st.floats(allow_nan=True, allow_infinity=True)
MODERATE = st.floats(-1e3, 1e3)


def limit(
    force: list[float], last: list[float], most: float, rate: float, blend: float
) -> tuple[int, np.ndarray]:
    n = len(force)
    nothing, wanted, sent, out = np.zeros((4, n))
    limits = EffortLimits(
        force=np.array(force), motor=np.arange(n), most=np.full(n, most), step=np.full(n, 1e-3 * rate),
        disturbance=nothing, level=nothing, lead=np.ones(n), wanted=wanted,
    )  # fmt: skip
    done = limit_effort(limits, 1.0, 0.0, blend, nothing, np.array(last), sent, out)
    np.testing.assert_array_equal(sent, out)
    return done, sent


@given(st.lists(st.tuples(ANY, MODERATE), min_size=1, max_size=4), st.floats(0.0, 100.0), st.floats(0.0, 1e6))
def test_what_is_sent_is_finite_and_within_every_limit(
    pairs: list[tuple[float, float]], most: float, rate: float
) -> None:
    force, last = [pair[0] for pair in pairs], [max(-most, min(most, pair[1])) for pair in pairs]
    done, sent = limit(force, last, most, rate, 1.0)
    if done < 0:
        assert not math.isfinite(force[-1 - done])
        return
    assert np.all(np.isfinite(sent))
    assert np.all(np.abs(sent) <= most)
    assert np.all(np.abs(sent - last) <= rate * 1e-3 * (1 + 1e-9) + 1e-9)


def test_it_says_what_limited_it() -> None:
    assert limit([1.0], [0.0], 5.0, math.inf, 1.0) == (0, np.array([1.0]))
    assert limit([9.0], [0.0], 5.0, math.inf, 1.0)[0] == Limited.EFFORT
    assert limit([4.0], [0.0], 5.0, 1000.0, 1.0)[0] == Limited.EFFORT_RATE
    assert limit([40.0], [4.5], 5.0, 1000.0, 1.0)[0] == Limited.EFFORT | Limited.EFFORT_RATE


def test_a_limited_rate_keeps_the_direction_of_the_change() -> None:
    done, sent = limit([4.0, -1.0, 0.5], [0.0, 1.0, 0.5], 5.0, 1000.0, 1.0)
    assert done == Limited.EFFORT_RATE
    np.testing.assert_allclose(sent, [1.0, 0.5, 0.5], rtol=1e-15)


def test_the_filter_is_the_held_first_order_low_pass() -> None:
    share = filter_share(50.0, 1e-3)
    assert filter_share(0.0, 1e-3) == 1.0
    sent = 0.0
    for _ in range(10):
        sent = float(limit([1.0], [sent], 5.0, math.inf, share)[1][0])
    assert math.isclose(sent, 1.0 - math.exp(-2 * math.pi * 50.0 * 0.01), rel_tol=1e-12)
