"""Random requests without the right key or lease, in large numbers: none has an effect."""

from __future__ import annotations

import os
import random
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
import zmq

from linkwork.protocol.codes import RequestCode, Role
from linkwork.protocol.keys import ClientKeys, revoke
from linkwork.protocol.request_messages import Response, pack_request, read_answer
from linkwork.protocol.request_table import REQUESTS
from linkwork.protocol.requests import params_of
from linkwork.protocol.sockets import RequestDealer, Subscriber
from linkwork.protocol.telemetry import TELEMETRY_TOPIC, read_telemetry
from tests.controller.gateway.keyed_rig import EXAMPLES, KeyedRig
from tests.waiting import PATIENCE_S, wait_for

REQUESTS_SENT = int(os.environ.get("LINKWORK_TEST_REQUESTS", "100000"))
BATCH = 100
HOLDER = "me@test"
SETTINGS = ("bandwidth", "damping_ratio", "law", "state", "mode", "goal_id", "authority", "fault")
"""Channels of telemetry that requests change."""


@pytest.fixture
def keyed() -> Iterator[KeyedRig]:
    with tempfile.TemporaryDirectory(prefix="lw-") as folder:
        rig = KeyedRig(Path(folder), "lockstep")
        try:
            rig.connected()
            yield rig
        finally:
            rig.close()


class Intruder:
    """A connection with a key, and the methods that it has no right to."""

    def __init__(self, rig: KeyedRig, key: str, methods: list[str], seed: int) -> None:
        self.transport = RequestDealer(rig.endpoint, rig.keys[key])
        rig.clients.append(self.transport)  # type: ignore[arg-type] - closed with them
        self.methods, self.sent = methods, 0
        self.answered: Counter[tuple[str, int]] = Counter()
        """Answers by method and code, 0: done."""
        self._rng = random.Random(seed)
        assert self.transport.writable(round(1000 * PATIENCE_S))

    def batch(self, count: int) -> None:
        """Send requests and read their answers."""
        asked = {}
        for _ in range(count):
            self.sent += 1
            method = asked[self.sent] = self._rng.choice(self.methods)
            frame = pack_request(self.sent, method, self._params(method))
            while not self.transport.send(frame):
                assert self.transport.writable(round(1000 * PATIENCE_S))
        while asked:
            data = self.transport.receive(round(1000 * PATIENCE_S))
            assert data is not None
            answer = read_answer(data)
            assert isinstance(answer, Response), answer
            assert answer.msgid is not None
            code = 0 if answer.error is None else answer.error.code
            self.answered[asked.pop(answer.msgid), code] += 1

    def _params(self, method: str) -> dict[str, Any]:
        rng, fields = self._rng, params_of(method).model_fields
        params = dict(EXAMPLES.get(method, {}))
        if "owner" in fields:
            params["as"] = rng.choice((HOLDER, "thief@test"))
        if "at_tick" in fields and rng.random() < 0.3:
            params["at_tick"] = rng.randrange(10_000)
        if "replace" in fields:
            params["replace"] = rng.random() < 0.5
        return params


def settings(rig: KeyedRig) -> dict[str, Any]:
    """Let time run until there is telemetry; return what it shows of the settings."""
    found: list[dict[str, Any]] = []
    with Subscriber(rig.telemetry, (TELEMETRY_TOPIC,), keys=rig.keys["observe"]) as subscriber:

        def heard() -> bool:
            rig.ask("advance", ticks=20)
            while (message := subscriber.receive(50)) is not None:
                found.append(read_telemetry(message[1]))
            return bool(found)

        wait_for(heard, "telemetry")
    return {name: found[-1][name] for name in SETTINGS}


def next_order(rig: KeyedRig) -> int:
    """Place two orders, of which the first has no effect; return its number. Numbers have no gaps."""
    number: int = rig.ask("pause", at_tick=rig.ask("state")["tick"] + 5)["order"]
    rig.ask("advance", ticks=10)
    wait_for(lambda: rig.ask("state")["time_stands"], "the loop")
    return number


def strangers(rig: KeyedRig, count: int) -> None:
    """Send requests on connections with unknown keys or none, twenty on each while it is being refused."""
    context: zmq.Context[zmq.Socket[bytes]] = zmq.Context()
    methods, sent = list(REQUESTS), 0
    try:
        while sent < count:
            sockets = [stranger(context, rig, rig.keys["stranger"] if odd else None) for odd in (0, 1) * 25]
            for socket in sockets:
                with suppress(zmq.Again):  # this one has been refused already
                    for _ in range(20):
                        method = methods[sent % len(methods)]
                        params = {"as": HOLDER, **EXAMPLES.get(method, {})}
                        socket.send(pack_request(sent, method, params), zmq.NOBLOCK)
                        sent += 1
            rig.ask("state")
            time.sleep(0.2)
            assert not any(socket.poll(0) for socket in sockets), "a stranger has an answer"
            for socket in sockets:
                socket.close(0)
    finally:
        context.destroy(linger=0)


def stranger(
    context: zmq.Context[zmq.Socket[bytes]], rig: KeyedRig, keys: ClientKeys | None
) -> zmq.Socket[bytes]:
    """A connection that queues requests until the controller lets it in."""
    socket = context.socket(zmq.DEALER)
    socket.set(zmq.LINGER, 0)
    if keys is not None:
        socket.set(zmq.CURVE_PUBLICKEY, keys.public)
        socket.set(zmq.CURVE_SECRETKEY, keys.secret)
        socket.set(zmq.CURVE_SERVERKEY, keys.server)
    socket.connect(rig.endpoint)
    return socket


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_no_request_without_the_right_key_or_lease_has_an_effect(keyed: KeyedRig) -> None:
    """LINKWORK_TEST_REQUESTS: how many; a tenth of them on connections with unknown keys or none."""
    keyed.enabled()
    methods = {role: [name for name, one in REQUESTS.items() if one.role is role] for role in Role}
    leased = [name for name in methods[Role.OPERATE] if REQUESTS[name].needs_lease]
    observer = Intruder(keyed, "observe", methods[Role.OPERATE] + methods[Role.SERVICE], 1)
    operator = Intruder(keyed, "operate", methods[Role.SERVICE], 2)
    thief = Intruder(keyed, "other", [*leased, "acquire", "release"], 3)
    revoked = Intruder(keyed, "service", list(REQUESTS), 4)
    revoke(keyed.allowed, "service")
    seen, order = settings(keyed), next_order(keyed)
    before = keyed.standing()
    for _ in range(REQUESTS_SENT * 9 // 10 // (4 * BATCH)):
        for intruder in (observer, operator, thief, revoked):
            intruder.batch(BATCH)
        assert keyed.standing() == before
    strangers(keyed, REQUESTS_SENT // 10)
    assert keyed.standing() == before
    for intruder in (observer, operator, revoked):
        assert {code for _, code in intruder.answered} == {RequestCode.NOT_PERMITTED}
    done = {method for method, code in thief.answered if code == 0}
    assert done == {"release"}, "which releases nothing"
    assert {code for _, code in thief.answered} >= {0, RequestCode.NOT_OWNER}
    assert next_order(keyed) == order + 2, "an order was placed"
    assert settings(keyed) == seen
