"""The whole way: a wall that only the plant knows, met in lockstep, stops the machine at a stated tick."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from mcap.reader import make_reader

from linkwork.client.request_client import RequestClient
from linkwork.controller.gateway.twin.twin import REACTS_AFTER
from linkwork.launch.daemons import Rig
from linkwork.machine import shipped_path
from tests.waiting import wait_for

WALL = (
    "contacts: {wall: {point: tool, plane: {at_m: [0.02, 0, 0], normal: [-1, 0, 0]}, "
    "stiffness_N_m: 2.0e4, damping_N_s_m: 10}}\n"
)
MOST_S = 60.0


@contextmanager
def in_lockstep(name: str, plant: list[str], config: Path, log: Path) -> Iterator[Callable[..., Any]]:
    """A plant, a controller with its twin, and one who asks; a `move` is answered by its result."""
    controller = [str(config), "--pace", "lockstep", "--twin", "--log", str(log)]
    with Rig(name, plant, controller) as rig:
        rig.wait_ready(lambda _: None)
        with RequestClient(rig.requests) as client:

            def ask(method: str, **params: Any) -> Any:
                answer = client.request(method, {"as": "me@test", **params}, timeout_s=MOST_S)
                while method == "move":
                    event = client.next_notification(MOST_S)
                    assert event is not None
                    if event.method == "goal.result" and event.params["goal"] == answer["goal"]:
                        return dict(event.params)
                wait_for(lambda: client.request("state", timeout_s=MOST_S)["time_stands"], "rest")
                return answer

            yield ask


@contextmanager
def before_a_wall(folder: Path, section: str) -> Iterator[Callable[..., Any]]:
    """The five-bar with this section `twin`, in whose way there is a wall; the log is in folder/log."""
    text = shipped_path("five_bar").read_text()
    config, walled = folder / "five_bar.yaml", folder / "walled.yaml"
    config.write_text(text + f"twin: {section}\n")
    walled.write_text(text + WALL)
    with in_lockstep("five_bar", [str(walled)], config, folder / "log") as ask:
        yield ask


@pytest.mark.slow
def test_a_collision_in_lockstep_stops_the_machine_and_can_be_backed_out_of(tmp_path: Path) -> None:
    with before_a_wall(tmp_path, "{on_exceeded: stop}") as ask:
        ask("enable")
        assert ask("move", target={"x": 0.06, "y": 0.2})["name"] == "MODEL_DIFFERENCE"
        assert ask("state")["state"] == "active"
        ask("disable")
        ask("enable")  # to hold where it is, not where it was to be
        assert ask("move", target={"x": 0.0, "y": 0.2})["name"] == "SUCCESSFUL"
        ask("advance", ticks=300)
        assert ask("status")["twin"]["restarts"] == 0
    told, orders, order = log_of(tmp_path / "log")
    assert [event["event"] for event in told] == ["twin.exceeded", "twin.over"]
    assert told[1]["since_s"] == told[0]["time_s"]
    assert orders[0] == told[0]["tick"] + REACTS_AFTER
    assert order == ["tick", "twin"]


@pytest.mark.slow
def test_energy_beyond_its_threshold_is_a_fault_where_the_file_says_so(tmp_path: Path) -> None:
    reacts = "{on_exceeded: fault, effort_share: null, energy_threshold_J: 0.005}"
    with before_a_wall(tmp_path, reacts) as ask:
        ask("enable")
        result = ask("move", target={"x": 0.06, "y": 0.2})
        assert (result["name"], "the energy" in result["text"]) == ("FAULT", True), result
        (fault,) = ask("faults")["faults"]
        assert (fault["name"], fault["limit"], fault["unit"]) == ("MODEL_DIFFERENCE", 0.005, "J")
        ask("recover")
        ask("enable")
        assert ask("move", target={"x": 0.0, "y": 0.2})["name"] == "SUCCESSFUL"
    told, (order, *_), _ = log_of(tmp_path / "log")
    assert (told[0]["kind"], told[0]["action"]) == ("energy", "fault")
    assert abs(told[0]["value"]) > 0.005
    assert order == told[0]["tick"] + REACTS_AFTER


@pytest.mark.slow
def test_a_load_is_told_of_until_the_model_knows_it(tmp_path: Path) -> None:
    config, line, log = tmp_path / "scara.yaml", tmp_path / "line.yaml", tmp_path / "log"
    text = shipped_path("scara").read_text()
    config.write_text(text + "twin: {on_exceeded: tell, effort_share: 0.005}\n")
    line.write_text("faults:\n  - {at_s: 0.3, mechanism: payload, of: lift_link, mass_kg: 0.1}\n")
    with in_lockstep("scara", [str(config), "--faults", str(line)], config, log) as ask:
        ask("enable")
        ask("advance", ticks=600)
        assert ask("state")["state"] == "active"
        ask("payload", point="tool", mass_kg=0.1)
        ask("advance", ticks=600)
        ask("disable")
    told, orders, _ = log_of(log)
    assert [(event["event"], event["name"]) for event in told] == [
        ("twin.exceeded", "lift"),
        ("twin.over", "lift"),
    ]
    assert told[1]["value"] == pytest.approx(-0.1 * 9.81, rel=0.1)
    assert orders == []


def log_of(folder: Path) -> tuple[list[dict[str, Any]], list[int], list[str]]:
    """The events of the digital twin, the ticks in which its orders took effect, and in which order a tick's
    messages stand."""
    told, orders, topics = [], [], []
    for path in sorted(folder.glob("*-[0-9][0-9][0-9][0-9].mcap")):
        with path.open("rb") as stream:
            for _, channel, message in make_reader(stream).iter_messages(log_time_order=False):
                if channel.topic != "events":
                    topics += [channel.topic] if channel.topic != "goals" else []
                    continue
                event = json.loads(message.data)
                if event["event"] in ("twin.exceeded", "twin.over"):
                    told.append(event)
                elif event.get("kind") == "difference" and event["outcome"] is not None:
                    orders.append(event["tick"])
    assert topics == ["tick", "twin"] * (len(topics) // 2)
    return told, orders, topics[:2]
