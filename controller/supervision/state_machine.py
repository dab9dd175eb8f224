"""The state machine: a pure function over one table of (state, event).

    unconfigured → inactive → active → stopping → active or inactive      any → fault → (recover) → inactive
                                                                          any → estop → (reset)   → inactive

The table lists every transition; any other is refused and leaves the state unchanged. It is
printed in docs/states.md, and a test goes through every pair.
"""

from enum import IntEnum


class State(IntEnum):
    """State of the controller."""

    UNCONFIGURED = 0
    """No handshake with a plant yet."""
    INACTIVE = 1
    """Braked: every tick sends `brake`."""
    ACTIVE = 2
    """The law holds or moves the machine."""
    STOPPING = 3
    """The reference comes to rest on its path; then active, or inactive when disabling."""
    FAULT = 4
    """Braked and latched until `recover` finds the cause gone."""
    ESTOP = 5
    """Braked and latched until `reset`."""


UNCONFIGURED, ACTIVE, STOPPING = State.UNCONFIGURED, State.ACTIVE, State.STOPPING
"""What ticks compare with: see `brakes.RELEASED`."""


class Event(IntEnum):
    """Events of the state machine."""

    CONNECTED = 0
    ENABLE = 1
    DISABLE = 2
    MOVE = 3
    """A goal or a jog begins."""
    STOP = 4
    AT_REST = 5
    """A stop has ended, the machine holds."""
    BRAKED = 6
    """A disable has ended, the brakes are on."""
    FAULT = 7
    CLEARED = 8
    """`recover`, and the cause is gone."""
    ESTOP = 9
    RESET = 10


_S, _E = State, Event

TABLE: dict[tuple[State, Event], State] = {
    (_S.UNCONFIGURED, _E.CONNECTED): _S.INACTIVE,
    (_S.UNCONFIGURED, _E.FAULT): _S.FAULT,
    (_S.UNCONFIGURED, _E.ESTOP): _S.ESTOP,
    (_S.INACTIVE, _E.CONNECTED): _S.INACTIVE,
    (_S.INACTIVE, _E.ENABLE): _S.ACTIVE,
    (_S.INACTIVE, _E.DISABLE): _S.INACTIVE,
    (_S.INACTIVE, _E.STOP): _S.INACTIVE,
    (_S.INACTIVE, _E.FAULT): _S.FAULT,
    (_S.INACTIVE, _E.ESTOP): _S.ESTOP,
    (_S.ACTIVE, _E.ENABLE): _S.ACTIVE,
    (_S.ACTIVE, _E.DISABLE): _S.STOPPING,
    (_S.ACTIVE, _E.MOVE): _S.ACTIVE,
    (_S.ACTIVE, _E.STOP): _S.STOPPING,
    (_S.ACTIVE, _E.FAULT): _S.FAULT,
    (_S.ACTIVE, _E.ESTOP): _S.ESTOP,
    (_S.STOPPING, _E.DISABLE): _S.STOPPING,
    (_S.STOPPING, _E.STOP): _S.STOPPING,
    (_S.STOPPING, _E.AT_REST): _S.ACTIVE,
    (_S.STOPPING, _E.BRAKED): _S.INACTIVE,
    (_S.STOPPING, _E.FAULT): _S.FAULT,
    (_S.STOPPING, _E.ESTOP): _S.ESTOP,
    (_S.FAULT, _E.CONNECTED): _S.FAULT,
    (_S.FAULT, _E.STOP): _S.FAULT,
    (_S.FAULT, _E.DISABLE): _S.FAULT,
    (_S.FAULT, _E.FAULT): _S.FAULT,
    (_S.FAULT, _E.CLEARED): _S.INACTIVE,
    (_S.FAULT, _E.ESTOP): _S.ESTOP,
    (_S.ESTOP, _E.CONNECTED): _S.ESTOP,
    (_S.ESTOP, _E.STOP): _S.ESTOP,
    (_S.ESTOP, _E.DISABLE): _S.ESTOP,
    (_S.ESTOP, _E.FAULT): _S.ESTOP,
    (_S.ESTOP, _E.ESTOP): _S.ESTOP,
    (_S.ESTOP, _E.RESET): _S.INACTIVE,
}


def after(state: State, event: Event) -> State | None:
    """The state that `event` leads to from `state`, or None when that move is refused."""
    return TABLE.get((state, event))


def allowed(state: State) -> list[Event]:
    """The events that `state` accepts, for messages that say what would have been possible."""
    return [event for (origin, event) in TABLE if origin is state]
