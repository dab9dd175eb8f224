"""The whole way: a wall that only the plant knows, met in lockstep, stops the machine at a stated tick."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from mcap.reader import make_reader

from controller.gateway.shadowing import REACTS_AFTER
from machine import shipped_path
from protocol.request_client import RequestClient
from station.rig import Rig

WALL = (
    "contacts: {wall: {point: tool, plane: {at_m: [0.02, 0, 0], normal: [-1, 0, 0]}, "
    "stiffness_N_m: 2.0e4, damping_N_s_m: 10}}\n"
)
MOST_S = 60.0


def test_a_collision_in_lockstep_stops_the_machine_and_can_be_backed_out_of(tmp_path: Path) -> None:
    text = shipped_path("five_bar").read_text()
    config, walled = tmp_path / "five_bar.yaml", tmp_path / "walled.yaml"
    config.write_text(text + "shadow: {on_exceeded: stop}\n")
    walled.write_text(text + WALL)
    log = tmp_path / "log"
    controller = [str(config), "--pace", "lockstep", "--shadow", "--log", str(log)]
    with Rig("five_bar", [str(walled)], controller) as rig:
        rig.wait_ready(lambda _: None)
        with RequestClient(rig.requests) as client:

            def ask(method: str, **params: Any) -> Any:
                return client.request(method, {"as": "me@test", **params}, timeout_s=MOST_S)

            def result(goal: int) -> dict[str, Any]:
                while True:
                    event = client.next_notification(MOST_S)
                    assert event is not None
                    if event.method == "goal.result" and event.params["goal"] == goal:
                        return dict(event.params)

            ask("enable")
            met = result(ask("move", target={"x": 0.06, "y": 0.2})["goal"])
            assert met["name"] == "MODEL_DIFFERENCE"
            assert ask("state")["state"] == "active"
            ask("disable")
            ask("enable")  # to hold where it is, not where it was to be
            back = result(ask("move", target={"x": 0.0, "y": 0.2})["goal"])
            assert back["name"] == "SUCCESSFUL"
            assert ask("status")["shadow"]["restarts"] == 0
    exceeded, orders, order = log_of(log)
    assert exceeded
    assert orders == [event["tick"] + REACTS_AFTER for event in exceeded]
    assert order == ["tick", "shadow"]


def log_of(folder: Path) -> tuple[list[dict[str, Any]], list[int], list[str]]:
    """The events of the shadow, the ticks of its orders, and in which order a tick's messages stand."""
    exceeded, orders, topics = [], [], []
    for path in sorted(folder.glob("*-[0-9][0-9][0-9][0-9].mcap")):
        with path.open("rb") as stream:
            for _, channel, message in make_reader(stream).iter_messages(log_time_order=False):
                if channel.topic != "events":
                    topics += [channel.topic] if channel.topic != "goals" else []
                    continue
                event = json.loads(message.data)
                if event["event"] == "shadow.exceeded":
                    exceeded.append(event)
                elif event["event"] == "order" and event["kind"] == "difference":
                    orders.append(event["tick"])
    assert topics == ["tick", "shadow"] * (len(topics) // 2)
    return exceeded, orders, topics[:2]
