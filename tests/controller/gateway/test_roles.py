"""Roles and keys at a real controller over TCP: what each key may ask for; nothing else has an effect."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from linkwork.client.request_client import RequestClient
from linkwork.protocol.codes import RequestCode, Role
from linkwork.protocol.errors import RequestError
from linkwork.protocol.keys import allow, revoke
from linkwork.protocol.request_table import REQUESTS
from linkwork.protocol.requests import check_params
from linkwork.protocol.sockets import Subscriber
from tests.controller.gateway.keyed_rig import EXAMPLES, KeyedRig
from tests.waiting import PATIENCE_S, wait_for

REFUSED_S, REFUSED_MS = 0.4, 400
HOLDER = "holder@test"


@pytest.fixture(scope="module")
def keyed() -> Iterator[KeyedRig]:
    with tempfile.TemporaryDirectory(prefix="lw-") as folder:
        rig = KeyedRig(Path(folder), "lockstep")
        try:
            rig.connected()
            yield rig
        finally:
            rig.close()


@pytest.fixture(scope="module")
def clients(keyed: KeyedRig) -> dict[str, RequestClient]:
    return {role.word: keyed.enter(role.word) for role in Role}


def refusal(client: RequestClient, method: str, owner: str) -> RequestError | None:
    """Ask for what could take effect; return the refusal, None without one."""
    try:
        client.request(method, {"as": owner, **EXAMPLES.get(method, {})}, timeout_s=PATIENCE_S)
    except RequestError as error:
        return error
    return None


@pytest.mark.parametrize("role", list(Role))
@pytest.mark.parametrize("method", list(REQUESTS))
def test_each_role_may_ask_for_what_the_table_says(
    keyed: KeyedRig, clients: dict[str, RequestClient], method: str, role: Role
) -> None:
    needed, client = REQUESTS[method].role, clients[role.word]
    check_params(method, EXAMPLES.get(method, {}))
    keyed.ask("acquire", force=True)
    before = keyed.standing()
    error = refusal(client, method, "me@test" if role < needed else f"{role.word}@test")
    if role >= needed:
        assert error is None or error.code != RequestCode.NOT_PERMITTED
        return
    assert error is not None
    told = {"role": role.word, "needed": needed.word}
    assert (error.code, error.data) == (RequestCode.NOT_PERMITTED, told)
    assert f"linkwork keys allow NAME.public --role {needed.word}" in error.message
    assert keyed.standing() == before


def test_a_client_can_read_its_role_and_what_the_others_may(clients: dict[str, RequestClient]) -> None:
    for role, client in clients.items():
        told = client.request("describe", {}, timeout_s=PATIENCE_S)
        assert told["role"] == role
        assert told["roles"] == {name: request.role.word for name, request in REQUESTS.items()}


def test_operate_moves_service_sets_and_observe_stops_the_machine(
    keyed: KeyedRig, clients: dict[str, RequestClient]
) -> None:
    keyed.enabled()
    away = 0.0 if keyed.ask("state")["q"]["lift"] > 0.2 else 0.4  # other tests have moved the machine
    keyed.ask("release")
    slowly = {"as": "one@test", "target": {"lift": away}, "speed": 0.01}  # time runs until the goal ends
    clients["operate"].request("move", slowly, timeout_s=PATIENCE_S)
    assert keyed.ask("state")["goal"]["status"] == "running"
    assert refusal(clients["observe"], "stop", "two@test") is None
    wait_for(lambda: keyed.ask("state")["goal"] is None, "the end of the stop")
    assert keyed.ask("state")["results"][-1]["name"] == "CANCELLED"
    clients["operate"].request("release", {"as": "one@test"}, timeout_s=PATIENCE_S)
    assert refusal(clients["service"], "set_gain", "three@test") is None


def test_the_name_of_a_lease_holder_is_worth_nothing_with_another_key(
    keyed: KeyedRig, clients: dict[str, RequestClient]
) -> None:
    holder = {"as": "holder@test"}
    other = keyed.enter("other")
    keyed.ask("acquire", force=True)
    keyed.ask("release")
    clients["operate"].request("acquire", holder)
    before = keyed.standing()
    for method in ("enable", "move", "acquire", "advance", "disable"):
        error = refusal(other, method, "holder@test")
        assert error is not None
        assert error.code in (RequestCode.NOT_OWNER, RequestCode.WRONG_STATE), method
    other.request("release", holder)
    assert keyed.standing() == before
    left = clients["operate"].request("release", holder)
    assert left["owner"] is None


def test_a_revoked_key_is_refused_on_the_open_connection_and_on_new_ones(keyed: KeyedRig) -> None:
    client = keyed.enter("other")
    client.request("state", {}, timeout_s=PATIENCE_S)
    keyed.ask("acquire", force=True)
    before = keyed.standing()
    revoke(keyed.allowed, "other")
    try:
        for method in REQUESTS:
            error = refusal(client, method, "me@test")
            assert error is not None
            assert (error.code, error.data["role"]) == (RequestCode.NOT_PERMITTED, None)
        assert not keyed.enter("other").connected(REFUSED_S)
        assert keyed.standing() == before
    finally:
        allow(keyed.allowed, keyed.public["other"], Role.OPERATE)
    client.request("state", {}, timeout_s=PATIENCE_S)
    assert keyed.enter("other").connected(PATIENCE_S)


def test_what_a_revoked_key_has_left_never_acts(keyed: KeyedRig) -> None:
    keyed.enabled()
    keyed.ask("release")
    owner, watcher = keyed.enter("other"), keyed.enter("observe")
    owner.request("acquire", {"as": HOLDER}, timeout_s=PATIENCE_S)
    at = keyed.ask("state")["tick"] + 300
    owner.request("disable", {"as": HOLDER, "at_tick": at}, timeout_s=PATIENCE_S)
    owner.request("estop", {"at_tick": at + 1}, timeout_s=PATIENCE_S)
    watcher.request("stop", {"at_tick": at + 400}, timeout_s=PATIENCE_S)
    assert len(keyed.ask("state")["pending"]) == 3
    revoke(keyed.allowed, "other")
    try:
        keyed.ask("acquire")
        keyed.ask("advance", ticks=350)
        state = keyed.ask("state")
        assert (state["state"], [one["method"] for one in state["pending"]]) == ("active", ["stop"])
        keyed.ask("advance", ticks=400)
    finally:
        allow(keyed.allowed, keyed.public["other"], Role.OPERATE)


def test_unknown_keys_and_clients_without_keys_do_not_connect(keyed: KeyedRig) -> None:
    bare = RequestClient(keyed.endpoint)
    keyed.clients.append(bare)
    stranger = keyed.enter("stranger")
    with (
        Subscriber(keyed.telemetry, keys=keyed.keys["stranger"]) as unknown,
        Subscriber(keyed.telemetry) as plain,
        Subscriber(keyed.telemetry, keys=keyed.keys["observe"]) as known,
    ):
        keyed.ask("acquire", force=True)
        wait_for(lambda: keyed.ask("advance", ticks=50) and known.receive(0), "telemetry")
        assert not stranger.connected(REFUSED_S)
        assert not bare.connected()
        assert unknown.receive(0) is plain.receive(0) is None
