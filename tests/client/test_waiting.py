"""Commands given right after the daemons were started: they wait for them, and say so."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator

import pytest

from linkwork import Robot
from linkwork.client import connection as patience
from linkwork.protocol.codes import RequestCode
from linkwork.protocol.endpoints import MachineEndpoints, claim
from linkwork.protocol.errors import NobodyThere, RequestError
from tests.client.test_robot import Controller

ENABLED = {"tick": 3, "state": "active", "text": ""}
STARTING = RequestError(RequestCode.NO_LOOP, "it is starting", data={"starting": True})
NO_PLANT = RequestError(RequestCode.NO_PLANT, "`enable` needs a plant: waiting for a plant")


@pytest.fixture
def seat(monkeypatch: pytest.MonkeyPatch) -> Iterator[MachineEndpoints]:
    with tempfile.TemporaryDirectory(prefix="lw-") as folder:
        monkeypatch.setenv("LINKWORK_RUNTIME_DIR", folder)
        yield MachineEndpoints.named("arm")


def test_enabling_waits_for_the_loop_and_its_plant(seat: MachineEndpoints) -> None:
    controller, said = Controller(seat.requests), list[str]()

    def told(text: str) -> None:
        said.append(text)
        controller.answers["enable"] = after

    controller.answers["enable"], after = STARTING, lambda _: ENABLED
    try:
        with Robot(endpoint=seat.requests, on_wait=told) as robot:
            assert robot.enable()["state"] == "active"
            assert said == ["it is starting. Waiting"]
            controller.answers["enable"] = NO_PLANT
            with pytest.raises(RequestError, match="needs a plant"):
                robot.enable()
            with claim(seat.folder, "plant", "plant of arm"):
                assert robot.enable()["state"] == "active"
            controller.answers["enable"] = RequestError(RequestCode.NO_LOOP, "it has ended")
            with pytest.raises(RequestError, match="it has ended"):
                robot.enable()
    finally:
        controller.close()


def test_a_controller_that_is_starting_is_waited_for(
    seat: MachineEndpoints, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(patience, "CONNECT_S", 0.1)
    made: list[Controller] = []
    with pytest.raises(NobodyThere), Robot(endpoint=seat.requests):
        pytest.fail("entered without a controller")
    with claim(seat.folder, "gateway", "starting"):
        try:
            with Robot(endpoint=seat.requests, on_wait=lambda _: made.append(Controller(seat.requests))):
                assert len(made) == 1
        finally:
            for controller in made:
                controller.close()
