"""Client of the requests: sends requests, waits for answers, and keeps unsolicited events.

For one thread at a time. It reconnects by itself when a daemon restarts.
"""

import time
from collections import deque
from collections.abc import Mapping
from typing import Any, Self

from linkwork.protocol.errors import NobodyThere, ProtocolError, RequestError
from linkwork.protocol.keys import ClientKeys
from linkwork.protocol.request_messages import Notification, Response, pack_request, read_answer
from linkwork.protocol.sockets import RequestDealer

_MOST_NOTIFICATIONS = 4096


class RequestClient:
    """Client of one requests endpoint.

    `encrypted`: whether it has keys. `stale` counts unreadable frames and answers that came after their
    time-out; `dropped` counts notifications that were not fetched in time (the queue keeps the newest 4,096).
    """

    def __init__(self, endpoint: str, keys: ClientKeys | None = None) -> None:
        self.transport = RequestDealer(endpoint, keys)
        self.endpoint = endpoint
        self.encrypted = keys is not None
        self.stale = 0
        self.dropped = 0
        self._notifications: deque[Notification] = deque()
        self._last_id = 0
        self._posted: set[int] = set()
        self.refusals: deque[RequestError] = deque(maxlen=_MOST_NOTIFICATIONS)
        """Why requests of `post` were refused, oldest first."""

    def request(self, method: str, params: Mapping[str, Any] | None = None, timeout_s: float = 5.0) -> Any:
        """Send a request, and return the result.

        method: its name; params: its parameters as plain data, see protocol/requests.py. Raises RequestError
        when refused; NobodyThere when no process is connected or no answer comes within timeout_s. After a
        time-out the server may still have acted: ask `state`.
        """
        deadline = time.monotonic() + timeout_s
        self._last_id = self._last_id % (2**32 - 1) + 1
        frame = pack_request(self._last_id, method, params or {})
        while not self.transport.send(frame):
            if not self.transport.writable(_left_ms(deadline)):
                raise NobodyThere(f"no answer from {self.endpoint}: is the daemon running?")
        while True:
            answer = self._next(_left_ms(deadline))
            if answer is None:
                raise NobodyThere(f"{self.endpoint} gave no answer to `{method}` within {timeout_s:g} s")
            if isinstance(answer, Notification):
                self._keep(answer)
            elif answer.msgid == self._last_id:
                if answer.error is not None:
                    raise answer.error
                return answer.result
            else:
                self._put_away(answer)

    def post(self, method: str, params: Mapping[str, Any] | None = None) -> bool:
        """Ask without waiting for the answer; False, without asking, where the connection has no room.

        A refusal is kept in `refusals` when it has come in (`next_notification` or a later request).
        """
        self._last_id = self._last_id % (2**32 - 1) + 1
        if not self.transport.send(pack_request(self._last_id, method, params or {})):
            return False
        self._posted.add(self._last_id)
        return True

    @property
    def posted(self) -> int:
        """Requests of `post` that have not been answered yet."""
        return len(self._posted)

    def next_notification(self, timeout_s: float = 0.0) -> Notification | None:
        """The oldest notification that was not fetched yet, or None when none comes in time."""
        deadline = time.monotonic() + timeout_s
        while not self._notifications:
            answer = self._next(_left_ms(deadline))
            if answer is None:
                return None
            if isinstance(answer, Notification):
                self._keep(answer)
            else:
                self._put_away(answer)
        return self._notifications.popleft()

    def connected(self, timeout_s: float = 0.0) -> bool:
        """Whether a server is connected, waiting at most this long."""
        return self.transport.writable(int(timeout_s * 1000))

    def close(self) -> None:
        """Close the connection. May be called twice."""
        self.transport.close()

    def _put_away(self, answer: Response) -> None:
        """An answer that is not waited for."""
        if answer.msgid not in self._posted:
            self.stale += 1
            return
        self._posted.discard(answer.msgid)
        if answer.error is not None:
            self.refusals.append(answer.error)

    def _keep(self, notification: Notification) -> None:
        if len(self._notifications) == _MOST_NOTIFICATIONS:
            self._notifications.popleft()
            self.dropped += 1
        self._notifications.append(notification)

    def _next(self, timeout_ms: int) -> Response | Notification | None:
        deadline = time.monotonic() + timeout_ms / 1000
        while True:
            data = self.transport.receive(_left_ms(deadline))
            if data is None:
                return None
            try:
                return read_answer(data)
            except ProtocolError:
                self.stale += 1

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _left_ms(deadline: float) -> int:
    return max(0, round((deadline - time.monotonic()) * 1000))
