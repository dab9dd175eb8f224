"""What the gateway answers, with the real loop, planner and plant behind it."""

import random
import time
from collections.abc import Callable
from typing import Any

import msgpack
import numpy as np
import pytest

from linkwork.client.request_client import RequestClient
from linkwork.protocol.codes import RequestCode, ResultCode
from linkwork.protocol.request_messages import pack_request
from linkwork.protocol.request_table import REQUESTS
from linkwork.protocol.sockets import RequestDealer, Subscriber
from linkwork.protocol.telemetry import read_telemetry
from tests.waiting import wait_for

Make = Callable[[str], Any]
HOLDING = {"shoulder": 0.5, "elbow": -0.9}


def long_trajectory(points: int) -> dict[str, Any]:
    """A minute around zero; with so many way-points that they keep the planner busy for a while."""
    times = np.linspace(1.0, 60.0, points)
    positions = 0.01 * np.sin(times - 1.0) ** 4
    return {
        "coordinates": ["lift"],
        "points": [
            {"time_from_start_s": float(t), "positions": [float(z)]}
            for t, z in zip(times, positions, strict=True)
        ],
    }


def test_a_move_is_accepted_shown_and_succeeds(rigs: Make) -> None:
    rig = rigs("lockstep")
    rig.enabled()
    goal = rig.ask("move", target=HOLDING)
    assert goal["coordinates"] == ["shoulder", "elbow", "wrist", "lift"]
    assert goal["owner"] == "me@test"
    events = rig.events("goal.result")
    while events[-1].params["goal"] != goal["goal"]:  # the end of an earlier test's goal
        events += rig.events("goal.result")
    names = [event.method for event in events if event.params.get("goal", goal["goal"]) == goal["goal"]]
    assert names.index("goal.planned") < names.index("goal.accepted") < names.index("goal.result")
    # lockstep may end the goal within one batch of records: then nobody sees it half way
    told = [at for at, name in enumerate(names) if name == "goal.progress"]
    assert all(names.index("goal.accepted") < at < names.index("goal.result") for at in told)
    result = events[-1].params
    assert (result["goal"], result["code"], result["name"]) == (goal["goal"], 0, "SUCCESSFUL")
    assert result["tick"] > goal["tick"]
    state = rig.ask("state")
    assert state["results"][-1] == result
    assert state["state"] == "active"
    assert {name: pytest.approx(state["q"][name], abs=1e-3) for name in HOLDING} == HOLDING


def test_the_sixteen_last_results_are_kept(rigs: Make) -> None:
    rig = rigs("lockstep")
    rig.enabled()
    numbers = []
    for index in range(18):
        numbers.append(rig.ask("move", target={"lift": 0.001 * (index % 2)})["goal"])
        assert rig.result()["goal"] == numbers[-1]
    assert [result["goal"] for result in rig.ask("state")["results"]] == numbers[-16:]


@pytest.mark.parametrize(
    ("method", "params", "code", "path"),
    [
        ("move", {"target": {"shouldr": 0.1}}, ResultCode.INVALID_COORDINATES, ["target", "shouldr"]),
        ("move", {"target": {"lift": float("nan")}}, RequestCode.INVALID_PARAMS, ["target", "lift"]),
        ("move", {"target": {"lift": "high"}}, RequestCode.INVALID_PARAMS, ["target", "lift"]),
        ("move", {"target": {"lift": 9.0}}, ResultCode.INFEASIBLE, None),
        ("move", {"target": {"lift": 0.0}, "speed": 2.0}, RequestCode.INVALID_PARAMS, ["speed"]),
        ("move", {}, RequestCode.INVALID_PARAMS, ["target"]),
        ("move", {"target": {"lift": 0.0}, "at_tick": 0}, ResultCode.OLD_TIMESTAMP, ["at_tick"]),
        ("move", {"target": {"lift": 0.0}, "at_tick": "now"}, RequestCode.INVALID_PARAMS, ["at_tick"]),
        ("jog", {"velocity": {"lft": 0.1}}, ResultCode.INVALID_COORDINATES, ["velocity", "lft"]),
        ("jog", {"velocity": {"lift": 0.1, "x": 0.1}}, RequestCode.INVALID_PARAMS, []),
        ("law", {"name": "magic"}, RequestCode.INVALID_PARAMS, ["name"]),
        ("speed", {"fraction": -0.5}, RequestCode.INVALID_PARAMS, ["fraction"]),
        ("send", {}, RequestCode.INVALID_PARAMS, ["trajectory"]),
        ("enable", {"as": ""}, RequestCode.INVALID_PARAMS, ["as"]),
        ("enable", {"as": 7}, RequestCode.INVALID_PARAMS, ["as"]),
        ("advance", {"ticks": 0}, RequestCode.INVALID_PARAMS, ["ticks"]),
    ],
)  # fmt: skip
def test_refusals_carry_code_text_and_path(
    rigs: Make, method: str, params: dict[str, Any], code: int, path: list[str] | None
) -> None:
    rig = rigs("lockstep")
    rig.enabled()
    error = rig.refused(method, **params)
    assert error.code == code
    assert path is None or list(error.path) == path
    assert error.message
    assert rig.ask("state")["goal"] is None


def test_a_motion_while_inactive_says_what_would_be_possible(rigs: Make) -> None:
    rig = rigs("lockstep")
    rig.enabled()
    rig.ask("disable")
    assert rig.ask("confirm_branch")["text"] == "the assembly mode was already known"
    for method, params in (("move", {"target": {"lift": 0.0}}), ("jog", {"velocity": {"lift": 0.1}})):
        error = rig.refused(method, **params)
        assert error.code == RequestCode.WRONG_STATE
        assert error.data["state"] == "inactive"
        assert "enable it first" in error.message


def test_time_that_runs_by_itself_cannot_be_advanced(rigs: Make) -> None:
    error = rigs("device").refused("advance", ticks=5)
    assert error.code == RequestCode.UNSUPPORTED


def test_advance_runs_exactly_so_many_ticks(rigs: Make) -> None:
    rig = rigs("lockstep")
    rig.enabled()
    before = rig.ask("state")["tick"]
    effect = rig.ask("advance", ticks=137)
    assert effect["tick"] == before + 137
    assert rig.ask("state")["tick"] == before + 137


def test_an_order_for_a_later_tick_takes_effect_then(rigs: Make) -> None:
    rig = rigs("lockstep")
    rig.enabled()
    tick = rig.ask("state")["tick"]
    goal = rig.ask("move", target={"lift": 0.004}, at_tick=tick + 50)
    assert goal["tick"] == tick + 50
    assert rig.ask("state")["goal"] is None
    rig.ask("advance", ticks=60)
    accepted = rig.events("goal.accepted")[-1].params
    assert (accepted["goal"], accepted["tick"]) == (goal["goal"], tick + 50)
    assert rig.result()["code"] == 0


def test_another_name_is_refused_with_the_owner_and_may_look_and_stop(rigs: Make) -> None:
    rig = rigs("lockstep")
    rig.enabled()
    other = rig.connect()
    error = rig.refused("move", other, **{"as": "you@test", "target": {"lift": 0.0}})
    assert error.code == RequestCode.NOT_OWNER
    assert error.data["owner"] == "me@test"
    assert "me@test" in error.message
    assert rig.ask("state", other, **{"as": "you@test"})["lease"]["owner"] == "me@test"
    assert rig.ask("stop", other, **{"as": ""})["text"] == "nothing to stop"
    assert rig.ask("acquire", other, **{"as": "you@test", "force": True})["owner"] == "you@test"
    assert rig.ask("release", other, **{"as": "you@test"})["owner"] is None


def test_a_borrowed_lease_ends_with_what_it_was_taken_for(rigs: Make) -> None:
    rig = rigs("lockstep")
    rig.enabled()
    rig.ask("release")
    rig.ask("move", target={"lift": 0.003})
    assert rig.result()["code"] == 0
    assert rig.ask("state")["lease"]["owner"] is None


def test_a_lost_lease_stops_the_machine_on_its_path(rigs: Make) -> None:
    rig = rigs("device")
    rig.enabled()
    rig.ask("move", target={"lift": 0.0})
    assert rig.result()["code"] == 0
    rig.ask("release")
    watcher = Subscriber(rig.seat.telemetry, [b"goal.result", b"lease"])
    goal = rig.ask("send", trajectory=long_trajectory(60))["goal"]
    told: dict[str, Any] = {}
    deadline = time.monotonic() + 30.0
    while "goal.result" not in told:
        assert time.monotonic() < deadline
        event = watcher.receive(100)  # nothing is asked in the owner's name
        if event is not None:
            told[event[0].decode()] = read_telemetry(event[1])
    watcher.close()
    assert told["lease"]["reason"] == "expired"
    assert (told["goal.result"]["goal"], told["goal.result"]["code"]) == (goal, ResultCode.LEASE_LOST)
    assert rig.ask("state")["state"] in ("stopping", "active")
    assert rig.ask("state")["fault"] is None


def test_a_lease_taken_by_force_or_given_back_in_motion_stops_the_machine(rigs: Make) -> None:
    rig = rigs("device")
    other = rig.connect()
    for by, method, force in ((other, "acquire", {"force": True}), (rig.client, "release", {})):
        rig.enabled()
        goal = rig.ask(
            "move", target={"lift": 0.0 if rig.ask("state")["q"]["lift"] > 0.1 else 0.19}, speed=0.02
        )
        name = "you@test" if by is other else "me@test"
        rig.ask(method, by, **{"as": name, **force})
        result = rig.result()
        assert (result["goal"], result["code"]) == (goal["goal"], ResultCode.LEASE_LOST)
        assert "lease was lost" in result["text"]


def test_what_is_refused_at_its_tick_is_told_then(rigs: Make) -> None:
    rig = rigs("lockstep")
    rig.enabled()
    tick = rig.ask("state")["tick"]
    assert rig.ask("jog", velocity={"lift": 0.01}, at_tick=tick + 30)["tick"] == tick + 30
    rig.ask("enable")
    rig.ask("move", target={"lift": 0.03}, speed=0.02)
    rig.ask("advance", ticks=50)
    told = rig.events("order.refused")[-1].params
    assert (told["method"], told["code"]) == ("jog", RequestCode.BUSY)
    rig.ask("stop")


def test_stop_is_answered_while_the_planner_plans_and_the_plan_moves_nothing(rigs: Make) -> None:
    rig = rigs("device")
    rig.enabled()
    sender = rig.connect()
    rig.ask("move", target={"lift": 0.0})
    assert rig.result()["code"] == 0
    rig.ask("release")
    frame = pack_request(1, "send", {"as": "me@test", "trajectory": long_trajectory(4_000)})
    while not sender.transport.send(frame):
        sender.transport.writable(100)
    deadline = time.monotonic() + 30.0
    while rig.ask("state")["lease"]["owner"] is None:
        assert time.monotonic() < deadline, "the request has not borrowed the lease"
    assert rig.ask("stop")["text"] == "nothing to stop"
    answer = msgpack.unpackb(sender.transport.receive(5_000))
    assert answer[2]["code"] == ResultCode.CANCELLED
    assert "stop was requested" in answer[2]["message"]
    goal = rig.ask("move", target={"lift": 0.0})["goal"]
    assert (
        rig.result()["goal"] == goal
    )  # the planner's late answer for the dropped job is not taken for this one


def test_the_jog_moves_and_stops_when_the_key_is_let_go(rigs: Make) -> None:
    rig = rigs("lockstep")
    rig.enabled()
    before = rig.ask("state")["q"]["lift"]
    rig.ask("jog", velocity={"lift": 0.02})
    rig.ask("advance", ticks=1000)
    after = rig.ask("state")
    assert 0.001 < after["q"]["lift"] - before < 0.02
    assert after["v"]["lift"] == pytest.approx(0.0, abs=1e-6)
    assert after["law"] == "hold"


def test_estop_latches_until_reset(rigs: Make) -> None:
    rig = rigs("lockstep")
    rig.enabled()
    rig.ask("estop", **{"as": ""})  # answered before its tick where that is late
    wait_for(lambda: rig.ask("state")["state"] == "estop", "the emergency stop")
    error = rig.refused("enable")
    assert error.code == RequestCode.WRONG_STATE
    assert "reset first" in error.message
    assert rig.ask("reset")["state"] == "inactive"
    assert rig.ask("reset")["text"] == "no emergency stop is active"


def test_describe_and_status_say_what_the_page_promises(rigs: Make) -> None:
    rig = rigs("device")
    machine = rig.ask("describe")
    assert [one["name"] for one in machine["coordinates"]][:4] == ["shoulder", "elbow", "wrist", "lift"]
    assert machine["coordinates"][0]["unit"] == "rad"
    assert machine["motors"][3] == {
        "name": "lift", "unit": "N", "kind": "motor",
        "limits": {"effort": 100.0, "effort_rate": 10000.0, "speed": 1.5, "brake_effort": 60.0},
    }  # fmt: skip
    assert set(machine["methods"]) == set(REQUESTS)
    status = rig.ask("status")
    assert status["machine"] == "scara"
    assert status["gateway_pid"] == rig.gateway.pid
    assert status["timing"]["ticks"] > 0
    assert status["timing"]["period_us"]["p50"] > 0
    assert "asked" in status["real_time"]
    assert status["log"].startswith(str(rig.log))
    assert status["telemetry"] == rig.seat.telemetry


def test_telemetry_has_two_frames_a_time_and_every_channel(rigs: Make) -> None:
    rig = rigs("device")
    with Subscriber(rig.seat.telemetry, [b"telemetry"]) as subscriber:
        found = [read_telemetry(subscriber.receive(10_000)[1]) for _ in range(5)]
    assert found[0]["timestamp"] == pytest.approx(time.time(), abs=600)
    assert set(found[0]["effort"]) == {"shoulder", "elbow", "wrist", "lift"}
    assert np.all(np.diff([one["tick"] for one in found]) > 0)


def malformed(source: random.Random) -> bytes:
    """A frame that no method accepts, of one of many kinds."""
    trajectory: dict[str, Any] = {
        "coordinates": ["lift"],
        "points": [{"time_from_start_s": 1.0, "positions": [0.0]}],
    }
    wrong: Any = source.choice(
        [None, -1, 1e300, float("nan"), "x" * 100, [], {}, b"\xff", True, [[[]]], 2**63]
    )
    method = source.choice(sorted(REQUESTS))
    match source.randrange(7):
        case 0:
            return source.randbytes(source.randrange(200))
        case 1:
            return bytes(msgpack.packb([source.choice([0, 1, 2, 9]), wrong, method, {}]))[:-1]
        case 2:
            return pack_request(1, "no_such_method", {})
        case 3:
            frame = pack_request(1, "move", {"as": "bad@test", "target": {"lift": 0.0}})
            return frame[: source.randrange(len(frame) - 1)]
        case 4:
            return pack_request(
                1, source.choice(["move", "jog"]), {"as": "bad@test", "target": wrong, "velocity": wrong}
            )
        case 5:
            trajectory[source.choice(["coordinates", "points", "tolerances"])] = wrong or 7
            return pack_request(1, "check", {"as": "bad@test", "trajectory": trajectory})
        case _:
            return pack_request(
                1, source.choice(["advance", "speed", "law", "send"]), {"as": wrong, "ticks": "many"}
            )


@pytest.mark.parametrize("count", [1_000, pytest.param(10_000, marks=pytest.mark.slow)])
def test_malformed_requests_change_nothing_in_the_loop(rigs: Make, count: int) -> None:
    rig = rigs("device")
    rig.enabled()
    before, status = rig.ask("state"), rig.ask("status")
    source = random.Random(4)
    attacker = RequestDealer(rig.seat.requests)
    attacker.writable(5000)
    answers = sent = 0
    codes: set[int] = set()
    while answers < count:
        while sent - answers < 8 and sent < count:
            sent += attacker.send(malformed(source))
        answer = attacker.receive(20_000)
        assert answer is not None
        content = msgpack.unpackb(answer)
        assert content[2] is not None, content
        assert content[2]["code"] != RequestCode.INTERNAL, content
        codes.add(content[2]["code"])
        answers += 1
        if answers % 1000 == 0:
            rig.ask("acquire")
    attacker.close()
    after = rig.ask("state")
    assert {
        int(RequestCode.MALFORMED),
        int(RequestCode.UNKNOWN_METHOD),
        int(RequestCode.INVALID_PARAMS),
    } <= codes
    assert after["tick"] > before["tick"]
    assert after["state"] == "active"
    assert after["q"] == pytest.approx(before["q"], abs=1e-6)
    assert (after["goal"], after["fault"], after["results"]) == (None, None, before["results"])
    assert after["lease"]["owner"] == "me@test"
    now = rig.ask("status")
    assert now["loop_pid"] == status["loop_pid"]
    assert now["log_lost"] == 0
    assert rig.ask("move", target={"lift": 0.0})["goal"]
    assert rig.result()["code"] == 0


@pytest.mark.slow
def test_a_request_of_many_megabytes_is_refused_and_the_next_one_served(rigs: Make) -> None:
    rig = rigs("device")
    client: RequestClient = rig.connect()
    error = rig.refused("check", client, trajectory={"x": b"0" * (9 * 1024 * 1024)})
    assert error.code == RequestCode.TOO_LARGE
    assert rig.ask("state", client)["pace"] == "device"
