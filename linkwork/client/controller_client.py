"""A connection to a running controller: the lease, requests in one name, events of goals, telemetry."""

import secrets
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from types import TracebackType
from typing import Any, Self, cast

from linkwork.client.connection import default_owner, find_controller, patiently, reach, telemetry_endpoint
from linkwork.client.goal import Goal, GoalFailed
from linkwork.client.request_client import RequestClient
from linkwork.client.stream import MOST_UNANSWERED
from linkwork.protocol.codes import RequestCode
from linkwork.protocol.errors import NobodyThere, RequestError
from linkwork.protocol.keys import ClientKeys
from linkwork.protocol.results import (
    DescribeResult,
    FaultsResult,
    GoalAccepted,
    RequestEffect,
    StateResult,
    StatusResult,
)
from linkwork.protocol.sockets import Subscriber
from linkwork.protocol.telemetry import TELEMETRY_TOPIC, read_telemetry

ANSWER_S = 10.0
NO_LIMIT_S = 1.0e6
_RENEWALS = 4
"""How often within its length the lease is renewed."""
_SAMPLE_S = 0.1
_SILENT_S = 3.0
"""Time without telemetry after which the controller is asked whether it is still there."""


class ControllerClient:
    """A connection to a controller; the base of `Robot`, which describes its arguments."""

    def __init__(
        self,
        name: str | None = None,
        *,
        endpoint: str | None = None,
        owner: str | None = None,
        keys: ClientKeys | None = None,
        lease: bool = True,
        take_over: bool = False,
        on_wait: Callable[[str], None] | None = None,
    ) -> None:
        self.owner = owner or default_owner()
        self._name, self._endpoint, self._keys = name, endpoint, keys
        self._lease, self._take_over = lease, take_over
        self._holder, self._on_wait = secrets.token_hex(8), on_wait
        self._client: RequestClient | None = None
        self._lock = threading.RLock()
        self._goals: dict[int, Goal] = {}
        self._gateway_pid = 0
        self._step_s: float | None = None
        self._leaving = threading.Event()
        self._keeper: threading.Thread | None = None

    def __repr__(self) -> str:
        connected = "not connected" if self._client is None else f"connected to {self._client.endpoint}"
        return f"<Robot {self._name or ''}: {connected}, as {self.owner}>".replace(" :", ":")

    def __enter__(self) -> Self:
        return self.connect()

    def connect(self) -> Self:
        """Connect and acquire the lease, until `close`; no effect where it is connected.

        Raises NobodyThere when no controller runs, RequestError (NOT_OWNER) when another client has the
        lease.
        """
        if self._client is not None:
            return self
        endpoint = self._endpoint or find_controller(self._name).requests
        self._client = RequestClient(endpoint, self._keys)
        try:
            reach(self._client, self._on_wait)
            self._gateway_pid = self.status["gateway_pid"]
            if self._lease:
                held = self.request("acquire", force=self._take_over, holder=self._holder)
                self._leaving.clear()
                interval_s = held["lease_s"] / _RENEWALS
                self._keeper = threading.Thread(target=self._keep, args=(endpoint, interval_s), daemon=True)
                self._keeper.start()
        except BaseException:
            self._close()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._client is None:
            return
        try:
            self._stop_keeping()
            if self._lease:
                self.request("release", holder=self._holder)
        except (RequestError, NobodyThere):
            if kind is None:
                raise
        finally:
            self._close()

    def close(self) -> None:
        """Release the lease and disconnect; no effect where it is not connected."""
        self.__exit__(None, None, None)

    @property
    def state(self) -> StateResult:
        """State of the machine: positions (rad or m), velocities, coordinates, goal, fault."""
        return cast(StateResult, self.request("state"))

    @property
    def status(self) -> StatusResult:
        """The daemons: plant, loop, timing, lease, log."""
        return cast(StatusResult, self.request("status"))

    def describe(self) -> DescribeResult:
        """The machine: joints, coordinates, motors, limits."""
        return cast(DescribeResult, self.request("describe"))

    def faults(self, limit: int = 20) -> FaultsResult:
        """The latest faults, newest first."""
        return cast(FaultsResult, self.request("faults", limit=limit))

    def telemetry(self, endpoint: str | None = None) -> Iterator[dict[str, Any]]:
        """Yield each sample of telemetry as it comes, until the robot is closed.

        A sample has `timestamp` (s) and the channels by name, as in docs/log.md. While lockstep time stands
        none comes, and the loop waits. endpoint: where to listen; default: the one that `status` gives.
        Raises NobodyThere when the controller has ended, EndpointError where that endpoint cannot be reached
        from this computer.
        """
        client = self._connected()
        endpoint = endpoint or telemetry_endpoint(self.status["telemetry"], client.endpoint)
        with Subscriber(endpoint, (TELEMETRY_TOPIC,), self._keys) as subscriber:
            heard = time.monotonic()
            while self._client is client:
                message = subscriber.receive(round(1e3 * _SAMPLE_S))
                if message is not None:
                    yield read_telemetry(message[1])
                elif time.monotonic() - heard < _SILENT_S:
                    continue
                else:
                    with RequestClient(client.endpoint, self._keys) as other:
                        other.request("state", timeout_s=ANSWER_S)
                heard = time.monotonic()

    def post(self, method: str, **params: Any) -> None:
        """Ask in this robot's name without waiting for the answer.

        Raises RequestError with the refusal of an earlier `post`, GoalFailed when that was sent for a stream
        which has ended, NobodyThere when answers have stayed away for long.
        """
        with self._lock:
            client = self._connected()
            refusal = self._refusal(client)
            if refusal is not None:
                goal = self._goals.get(params.get("goal", -1))
                if goal is not None and goal.result is not None:
                    raise GoalFailed(goal.result)
                raise refusal
            if client.posted > MOST_UNANSWERED or not client.post(method, {"as": self.owner, **params}):
                raise NobodyThere(
                    f"{client.endpoint} has not answered the last {client.posted} `{method}`: it has ended,"
                    " or they are sent faster than it takes them"
                )

    def check_posted(self) -> None:
        """Raise the refusal (RequestError) of an earlier `post`, if one has come."""
        with self._lock:
            refusal = self._refusal(self._connected())
            if refusal is not None:
                raise refusal

    def _refusal(self, client: RequestClient) -> RequestError | None:
        """The first refusal of a `post` that has not been raised; those after it are dropped."""
        self.listen(0.0)
        refusal = client.refusals.popleft() if client.refusals else None
        client.refusals.clear()
        return refusal

    def request(self, method: str, *, timeout_s: float | None = ANSWER_S, **params: Any) -> Any:
        """Any request of the protocol, in this robot's name. A parameter that is None is left out.

        timeout_s None waits as long as the controller is there. Raises RequestError, NobodyThere.
        """
        fields = {name: value for name, value in params.items() if value is not None}
        own, limit_s = self._connected(), NO_LIMIT_S if timeout_s is None else timeout_s
        free = self._lock.acquire(blocking=False)
        try:
            with nullcontext(own) if free else RequestClient(own.endpoint, self._keys) as client:
                return patiently(
                    own.endpoint,
                    method,
                    lambda: client.request(method, {"as": self.owner, **fields}, limit_s),
                    self._on_wait,
                )
        finally:
            if free:
                self._lock.release()

    def listen(self, timeout_s: float) -> None:
        """Process the events that have arrived, waiting at most this long for the first."""
        with self._lock:
            client = self._connected()
            event = client.next_notification(timeout_s)
            while event is not None:
                goal = self._goals.get(int(event.params.get("goal", -1)))
                if goal is not None:
                    goal.apply_event(event.method, event.params)
                event = client.next_notification(0.0)

    def _effect(self, method: str, **params: Any) -> RequestEffect:
        return cast(RequestEffect, self.request(method, **params))

    def _goal(self, method: str, timeout_s: float, **params: Any) -> Goal:
        with self._lock:
            accepted: GoalAccepted = self.request(method, timeout_s=timeout_s, **params)
            goal = Goal(self, accepted, self._gateway_pid)
            self._goals = {number: known for number, known in self._goals.items() if known.result is None} | {
                goal.number: goal
            }
        return goal

    def _connected(self) -> RequestClient:
        if self._client is None:
            raise RuntimeError(
                "this robot is not connected: use it within `with Robot() as robot:`, or call `connect()`"
            )
        return self._client

    def _keep(self, endpoint: str, interval_s: float) -> None:
        """Thread that renews the lease over a separate connection."""
        with RequestClient(endpoint, self._keys) as client:
            due = time.monotonic()
            while not self._leaving.wait(max(0.0, due - time.monotonic())):
                due = time.monotonic() + interval_s
                try:
                    client.request("acquire", {"as": self.owner, "holder": self._holder}, interval_s)
                except NobodyThere:
                    continue  # a restarted controller is found again
                except RequestError as error:
                    if error.code == RequestCode.NOT_OWNER:
                        return  # taken over; requests that need the lease are refused from now on

    def _stop_keeping(self) -> None:
        self._leaving.set()
        if self._keeper is not None:
            self._keeper.join()
            self._keeper = None

    def _close(self) -> None:
        self._stop_keeping()
        with self._lock:  # another thread may still wait for an answer
            if self._client is not None:
                self._client.close()
                self._client = None
