"""Removal of requests that wait in the gateway when their connection ends or their key is revoked."""

from __future__ import annotations

from collections.abc import Callable

from linkwork.controller.gateway.gateway import Gateway
from linkwork.controller.gateway.history import Requester
from linkwork.protocol.codes import RequestCode, Role
from linkwork.protocol.errors import RequestError
from linkwork.protocol.sockets import RequestServer


def client_left(gateway: Gateway, server: object, peer: bytes) -> None:
    """Forget what a client whose connection has ended waits for."""
    _drop(gateway, lambda one: one.server is server and one.peer == peer, "the client has disconnected")


def drop_revoked(gateway: Gateway, server: RequestServer) -> None:
    """Forget what clients wait for whose key is not allowed any longer; end the lease of such a key.

    server: the one with keys, if there is one.
    """
    roles: dict[bytes, Role | None] = {b"": Role.SERVICE}

    def role_of(key: bytes) -> Role | None:
        if key not in roles:
            roles[key] = server.role_of(key)
        return roles[key]

    def gone(one: Requester) -> bool:
        return role_of(one.key) is None

    _drop(gateway, gone, "the key of the client was revoked")
    gateway.order_queue.withdraw_stops(gone, gateway.now_ns)
    if (role_of(gateway.lease.key) or 0) < Role.OPERATE:
        gateway.change_lease(lambda: gateway.lease.revoke(in_motion=gateway.in_motion))


def _drop(gateway: Gateway, gone: Callable[[Requester], bool], why: str) -> None:
    gateway.planning.drop_checks(gone)
    gateway.order_queue.drop(gone, RequestError(RequestCode.NOT_PERMITTED, why))
