"""The client for asyncio: `Robot`, whose methods run in threads and are awaited.

from linkwork import AsyncRobot

async with AsyncRobot() as robot:
    await robot.enable()
    await robot.move(shoulder=0.3)
    print((await robot.state)["q"])
"""

import asyncio
import inspect
from collections.abc import AsyncIterator, Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

from linkwork.client.goal import Goal
from linkwork.client.robot import Robot
from linkwork.client.stream import Stream

_MOST_AT_ONCE = 64
"""Calls that run at the same time; `stop` needs a free thread."""


class Awaited:
    """An object of the client: each method and property is awaited, with the same arguments and errors.

    Goals and streams that a method returns are such objects too. A task that is cancelled leaves the request
    behind: use `goal.cancel()` or `stop()` to end the motion.
    """

    def __init__(self, target: Any, threads: ThreadPoolExecutor) -> None:
        self._target, self._threads = target, threads

    def __repr__(self) -> str:
        return f"<{type(self).__name__} of {self._target!r}>"

    def __getattr__(self, name: str) -> Any:
        if isinstance(inspect.getattr_static(self._target, name), property):
            return self._call(getattr, self._target, name)
        member = getattr(self._target, name)
        return partial(self._call, member) if inspect.ismethod(member) else member

    def __dir__(self) -> list[str]:
        return dir(self._target)

    async def __aenter__(self) -> Any:
        return await self._call(self._target.__enter__)

    async def __aexit__(self, *error: Any) -> None:
        await self._call(self._target.__exit__, *error)

    async def _call(self, function: Callable[..., Any], *arguments: Any, **named: Any) -> Any:
        loop = asyncio.get_running_loop()
        result = await loop.run_in_executor(self._threads, partial(function, *arguments, **named))
        if result is self._target:
            return self
        return Awaited(result, self._threads) if isinstance(result, Goal | Stream) else result


class AsyncRobot(Awaited):
    """A running controller for asyncio. It is made as `Robot` is, and has its methods and properties."""

    def __init__(self, *given: Any, **named: Any) -> None:
        super().__init__(Robot(*given, **named), ThreadPoolExecutor(_MOST_AT_ONCE, "robot"))

    async def telemetry(self, endpoint: str | None = None) -> AsyncIterator[dict[str, Any]]:
        """Yield each sample of telemetry as it comes, as `Robot.telemetry` does."""
        samples = self._target.telemetry(endpoint)
        while (sample := await self._call(next, samples, None)) is not None:
            yield sample
