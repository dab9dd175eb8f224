"""The client for asyncio, against a server that plays a controller."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from linkwork import AsyncRobot, GoalFailed, Robot
from linkwork.protocol.errors import NobodyThere
from linkwork.protocol.sockets import Publisher
from linkwork.protocol.telemetry import TELEMETRY_TOPIC, pack_telemetry
from tests.client.test_robot import DONE, HELD, LATE, PROGRESS, Controller, controller, endpoint

__all__ = ["controller", "endpoint"]


def test_methods_and_properties_are_awaited(controller: Controller, endpoint: str) -> None:
    controller.events = [("goal.progress", PROGRESS), ("goal.result", DONE)]

    async def session() -> None:
        async with AsyncRobot(endpoint=endpoint, owner="anna") as robot:
            assert (await robot.state)["goal"] == PROGRESS
            goal = await robot.move(shoulder=0.3)
            assert await goal.result == DONE
            assert await goal.wait() == DONE
            controller.events = [("goal.result", LATE)]
            with pytest.raises(GoalFailed, match="elbow by"):
                await robot.move(shoulder=0.1)
            assert "anna" in repr(robot)

    asyncio.run(session())
    assert controller.asked[-1][0] == "release"


def test_other_tasks_run_while_one_waits(controller: Controller, endpoint: str) -> None:
    controller.answers |= {"advance": HELD, "stop": {"tick": 1, "state": "stopping", "text": ""}}

    async def session() -> None:
        async with AsyncRobot(endpoint=endpoint) as robot:
            long = asyncio.create_task(robot.advance(5))
            while not controller.count("advance"):
                await asyncio.sleep(0.01)
            try:
                answer: Any = await asyncio.wait_for(robot.stop(), 10.0)
                assert answer["state"] == "stopping"
                assert not long.done()
            finally:
                controller.let_go.set()
            assert (await long)["state"] == "holding"

    asyncio.run(session())


def test_connect_and_close(controller: Controller, endpoint: str) -> None:
    async def session() -> None:
        robot = AsyncRobot(endpoint=endpoint, lease=False)
        assert await robot.connect() is robot
        await robot.close()
        with pytest.raises(RuntimeError, match="not connected"):
            await robot.state

    asyncio.run(session())


def test_telemetry_is_a_loop(controller: Controller, endpoint: str) -> None:
    publisher = Publisher(endpoint.replace("requests", "telemetry"))
    controller.answers["status"] = {"gateway_pid": 7, "telemetry": publisher.endpoint}

    async def publish() -> None:
        stamp = 0.0
        while True:
            if publisher.wanted(TELEMETRY_TOPIC):
                publisher.send(TELEMETRY_TOPIC, pack_telemetry(stamp, {}))
                stamp += 0.5
            await asyncio.sleep(0.01)

    async def session() -> list[float]:
        found: list[float] = []
        source = asyncio.create_task(publish())
        async with AsyncRobot(endpoint=endpoint, lease=False) as robot:
            async for sample in robot.telemetry():
                found.append(sample["timestamp"])
                if len(found) == 3:
                    break
        source.cancel()
        return found

    assert asyncio.run(session()) == [0.0, 0.5, 1.0]
    publisher.close()


def test_errors_are_those_of_the_robot(endpoint: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LINKWORK_RUNTIME_DIR", str(Path(endpoint.removeprefix("ipc://")).parent))

    async def session() -> None:
        with pytest.raises(NobodyThere, match="linkwork up scara"):
            await AsyncRobot().connect()

    asyncio.run(session())


def test_all_of_the_robot_is_there() -> None:
    public = {name for name in dir(Robot) if not name.startswith("_")}
    robot = AsyncRobot()
    assert public <= set(dir(robot))
    with pytest.raises(AttributeError):
        _ = robot.nosuch
