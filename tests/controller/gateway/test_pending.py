"""Requests for a later tick, over sockets: what ends them, who is told, and what `state` lists."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from linkwork.protocol.codes import PENDING_GOALS, PENDING_STOPS, PENDING_STOPS_EACH, RequestCode, ResultCode
from tests.controller.gateway.conftest import GatewayRig
from tests.waiting import wait_for

Make = Callable[[str], GatewayRig]
LATER = {"lockstep": 400, "device": 6000}
"""Ticks ahead: in real time long enough for a loaded computer to end the request before."""
YOU = {"as": "you@test"}


def released(rig: GatewayRig) -> None:
    rig.ask("release")
    rig.ask("acquire", force=True)


def taken(rig: GatewayRig) -> None:
    rig.ask("acquire", **YOU, force=True)
    rig.ask("release", **YOU)
    rig.ask("acquire", force=True)


def stopped(rig: GatewayRig) -> None:
    assert "1 pending order was cancelled" in rig.ask("stop", **YOU)["text"]


def disabled(rig: GatewayRig) -> None:
    rig.ask("disable")
    rig.ask("enable")


def emergency(rig: GatewayRig) -> None:
    rig.ask("estop", **YOU)
    rig.ask("reset")
    rig.ask("enable")


def expired(rig: GatewayRig) -> None:
    wait_for(lambda: rig.ask("state", **YOU)["lease"]["owner"] is None, "the end of the lease")
    rig.ask("acquire", **YOU)


WAYS: dict[Callable[[GatewayRig], None], ResultCode] = {
    released: ResultCode.LEASE_LOST,
    taken: ResultCode.LEASE_LOST,
    expired: ResultCode.LEASE_LOST,
    stopped: ResultCode.CANCELLED,
    disabled: ResultCode.CANCELLED,
    emergency: ResultCode.CANCELLED,
}


def past(rig: GatewayRig, tick: int) -> None:
    """To this tick, with every lease kept alive."""
    if rig.pace == "lockstep":
        who = YOU if rig.ask("state", **YOU)["lease"]["owner"] == YOU["as"] else {}
        rig.ask("advance", ticks=max(1, tick - rig.ask("state", **YOU)["tick"]), **who)
    wait_for(lambda: rig.ask("state")["tick"] >= tick and rig.ask("state", **YOU), f"tick {tick}")


@pytest.mark.parametrize("way", WAYS, ids=lambda way: way.__name__)
@pytest.mark.parametrize("pace", ["lockstep", pytest.param("device", marks=pytest.mark.slow)])
def test_a_pending_goal_ends_with_what_ends_motion(
    rigs: Make, pace: str, way: Callable[[GatewayRig], None]
) -> None:
    rig = rigs(pace)
    rig.enabled()
    late = 3 if (pace, way) == ("device", expired) else 1  # a lease ends 4 s after its last request
    tick = rig.ask("state")["tick"] + late * LATER[pace]
    lift = rig.ask("state")["q"]["lift"]
    goal = rig.ask("move", target={"lift": 0.02 if lift > 0.1 else 0.15}, at_tick=tick)["goal"]
    (pending,) = rig.ask("state")["pending"]
    assert (pending["goal"], pending["at_tick"], pending["owner"]) == (goal, tick, "me@test")
    way(rig)
    wait_for(lambda: rig.ask("state", **YOU)["pending"] == [], "the end of what was pending")
    result = next(one for one in rig.ask("state", **YOU)["results"] if one["goal"] == goal)
    assert result["code"] == WAYS[way]
    assert "not started" in result["text"]
    assert result["tick"] < tick
    past(rig, tick + 300)
    state: Any = rig.ask("state", **YOU)
    assert state["goal"] is None
    assert state["q"]["lift"] == pytest.approx(lift, abs=1e-4)


def test_pending_goals_leave_a_slot_free_and_go_one_by_one_or_all(rigs: Make) -> None:
    rig = rigs("lockstep")
    rig.enabled()
    tick = rig.ask("state")["tick"]
    waiting = [
        rig.ask("move", target={"lift": 0.05}, at_tick=tick + 50_000)["goal"] for _ in range(PENDING_GOALS)
    ]
    error = rig.refused("move", target={"lift": 0.05}, at_tick=tick + 50_000)
    assert (error.code, error.data["goals"]) == (RequestCode.BUSY, waiting)
    here = rig.ask("state")["q"]["lift"]
    moved = rig.ask("move", target={"lift": 0.05 if here > 0.1 else 0.1})["goal"]
    assert (rig.result()["code"], rig.goal) == (0, moved)
    rig.ask("cancel", goal=waiting[1])
    state = rig.ask("state")
    assert [one["goal"] for one in state["pending"]] == [waiting[0], waiting[2]]
    ended = next(one for one in state["results"] if one["goal"] == waiting[1])
    assert (ended["code"], "was cancelled" in ended["text"]) == (ResultCode.CANCELLED, True)
    rig.ask("jog", velocity={"lift": 0.01}, at_tick=tick + 60_000)
    assert "3 pending orders were cancelled" in rig.ask("stop")["text"]
    told = rig.events("order.refused")[-1].params
    assert (told["method"], told["code"]) == ("jog", ResultCode.CANCELLED)
    assert rig.ask("state")["pending"] == []


def test_a_request_beyond_the_horizon_is_refused_with_the_latest_tick(rigs: Make) -> None:
    rig = rigs("lockstep")
    rig.enabled()
    tick = rig.ask("state")["tick"]
    for method, params in (
        ("move", {"target": {"lift": 0.05}}),
        ("stop", {}),
        ("jog", {"velocity": {"lift": 0.0}}),
    ):
        error = rig.refused(method, at_tick=tick + 2**40, **params)
        assert (error.code, error.path) == (RequestCode.INVALID_PARAMS, ("at_tick",))
        assert error.data["latest"] == tick + 600_000
        assert "600 s" in error.message


def test_stops_for_a_later_tick_are_listed_bounded_and_cancelled_by_the_owner(rigs: Make) -> None:
    rig = rigs("lockstep")
    rig.enabled()
    tick, crowd = rig.ask("state")["tick"], [rig.connect() for _ in range(4)]
    for number in range(PENDING_STOPS):
        client = crowd[number // PENDING_STOPS_EACH]
        method = "estop" if number % 2 else "stop"
        rig.ask(method, client, at_tick=tick + 1000 + number, **YOU)
    mine = rig.refused("stop", crowd[0], at_tick=tick + 999)
    assert (mine.code, f"{PENDING_STOPS_EACH} of them of this client" in mine.message) == (
        RequestCode.BUSY,
        True,
    )
    assert rig.refused("stop", crowd[3], at_tick=tick + 999).code == RequestCode.BUSY
    for client in crowd:
        client.close()
    pending = rig.ask("state")["pending"]
    assert [one["at_tick"] for one in pending] == [tick + 1000 + number for number in range(PENDING_STOPS)]
    assert {(one["method"], one["owner"], one["goal"]) for one in pending} == {
        ("stop", YOU["as"], None),
        ("estop", YOU["as"], None),
    }
    assert rig.refused("cancel", order=pending[0]["order"], **YOU).code == RequestCode.NOT_OWNER
    for one in pending:
        rig.ask("cancel", order=one["order"])
    assert rig.refused("cancel", order=pending[0]["order"]).path == ("order",)
    rig.ask("advance", ticks=1100)
    state = rig.ask("state")
    assert (state["state"], state["pending"]) == ("active", [])
