"""Steps of requests: results and errors arrive at the yield, early, late or never."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from linkwork.controller.gateway.requests.call import PendingResult, Steps, caught, run_steps
from linkwork.protocol.codes import RequestCode
from linkwork.protocol.errors import RequestError

ERROR = RequestError(RequestCode.BUSY, "no room")
OUTCOMES = st.lists(st.tuples(st.integers() | st.just(ERROR), st.booleans()), max_size=6)


@given(OUTCOMES)
def test_steps_sum_results_until_the_first_error(outcomes: list[tuple[int | RequestError, bool]]) -> None:
    pending: list[PendingResult[int]] = [PendingResult() for _ in outcomes]
    done: list[int] = []
    failed: list[RequestError] = []

    def steps() -> Steps[int]:
        total = 0
        for one in pending:
            total += yield one
        return total

    for one, (result, early) in zip(pending, outcomes, strict=True):
        if early:
            one(result)
    run_steps(steps(), done.append, failed.append)
    for one, (result, early) in zip(pending, outcomes, strict=True):
        if not early:
            one(result)
    results = [result for result, _ in outcomes]
    if ERROR in results:
        assert (done, failed) == ([], [ERROR])
    else:
        assert (done, failed) == ([sum(r for r in results if isinstance(r, int))], [])


def test_an_error_can_be_taken_as_a_result_and_steps_may_end_without_one() -> None:
    pending: PendingResult[int] = PendingResult()
    never: PendingResult[int] = PendingResult()
    passed: list[object] = []

    def steps() -> Steps[None]:
        passed.append((yield from caught(pending)))
        passed.append((yield never))

    run_steps(steps())
    assert passed == []
    pending(ERROR)
    assert passed == [ERROR]
