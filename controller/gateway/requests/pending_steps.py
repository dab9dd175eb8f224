"""Handlers that wait: generators that yield what they wait for, and return the answer."""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping
from typing import Any, Generic, TypeVar, cast

from linkwork.protocol.errors import RequestError

Result = TypeVar("Result")


class PendingResult(Generic[Result]):
    """A result that comes later, or the error that comes in its place: call it with either, once."""

    def __init__(self) -> None:
        self._result: Result | RequestError | None = None
        self._then: Callable[[Result | RequestError], None] | None = None

    def __call__(self, result: Result | RequestError) -> None:
        """Pass on the result."""
        if self._then is None:
            self._result = result
        else:
            self._then(result)

    def pass_to(self, then: Callable[[Result | RequestError], None]) -> None:
        """Call back with the result, at once where it has come already."""
        self._then = then
        if self._result is not None:
            then(self._result)


Steps = Generator[PendingResult[Any], Any, Result]
"""Yields results to wait for, receives them in turn, and returns what comes of it. An error in place of a
result is raised at the `yield`.
"""
Answering = Steps[Mapping[str, Any]]
"""Steps of a request; they return its answer, or raise its refusal."""


def caught(awaited: PendingResult[Result]) -> Steps[Result | RequestError]:
    """Await a result, or the error in its place."""
    try:
        return cast(Result, (yield awaited))
    except RequestError as error:
        return error


def run_steps(
    steps: Steps[Result],
    done: Callable[[Result], None] = lambda _: None,
    failed: Callable[[RequestError], None] = lambda _: None,
) -> None:
    """Run steps to the first result that has not come yet, and on when it comes.

    Steps whose result never comes, such as those behind an order for a later tick, end there.
    """

    def resume(result: Any) -> None:
        try:
            awaited = steps.throw(result) if isinstance(result, RequestError) else steps.send(result)
        except StopIteration as end:
            done(end.value)
        except RequestError as error:
            failed(error)
        else:
            awaited.pass_to(resume)

    resume(None)
