"""One order or more of every kind, with the places of its datagram: as every version has packed them."""

from __future__ import annotations

import struct

from linkwork.controller.exchange.orders import (
    Adopt,
    AdvanceTime,
    After,
    CancelGoal,
    ChooseLaw,
    ConfirmBranch,
    Disable,
    EmergencyStop,
    Enable,
    Finish,
    JogCoordinates,
    LeaseLost,
    Order,
    Pause,
    Recover,
    ReportDifference,
    Reset,
    Resume,
    Retime,
    SetGainMatrices,
    SetGains,
    SetOutputs,
    SetPayload,
    SetPreload,
    SetSpeed,
    SetTemperatures,
    Shutdown,
    Splice,
    StartGoal,
    StartStream,
    Stop,
    SuggestPose,
    SwitchConstraint,
)
from linkwork.protocol.codes import ResultCode

Places = tuple[int, int, int, int, int, int, tuple[float, ...]]
"""kind, slot, length, generation, checksum, goal, arguments"""
NOTHING: tuple[int, int, int, int, int, tuple[float, ...]] = (0, 0, 0, 0, 0, ())
BLOCK = (2, 5000, 7, 0xFFFFFFFF, 7)
INERTIA = (0.01, 0.0, 0.0, 0.02, 0.001, 0.03)

EXAMPLES: list[tuple[Order, Places]] = [
    (Enable(), (1, *NOTHING)),
    (Disable(), (2, *NOTHING)),
    (StartGoal(2, 5000, 0xFFFFFFFF, 7), (3, *BLOCK, (1.0, 0.0, 0.0, 0.0, 0.0, 0.0))),
    (StartGoal(2, 5000, 0xFFFFFFFF, 7, After(6)), (3, *BLOCK, (1.0, 2.0, 6.0, 0.0, 0.0, 0.0))),
    (
        StartGoal(2, 5000, 0xFFFFFFFF, 7, Splice(6, 0.75, 0.5, ResultCode.REPLACED)),
        (3, *BLOCK, (1.0, 1.0, 6.0, 0.75, 0.5, -105.0)),
    ),
    (StartGoal(2, 5000, 0xFFFFFFFF, 7, Retime(7, 1.5)), (3, *BLOCK, (1.0, 3.0, 7.0, 0.0, 1.5, 0.0))),
    (
        StartGoal(2, 5000, 0xFFFFFFFF, 7, Retime(7, 0.4, keep_speed=True)),
        (3, *BLOCK, (1.0, 3.0, 7.0, 0.0, 0.4, 0.0, 1.0)),
    ),
    (Stop(), (4, *NOTHING)),
    (CancelGoal(), (5, *NOTHING)),
    (CancelGoal(9), (5, 0, 0, 0, 0, 9, ())),
    (CancelGoal(9, ResultCode.INFEASIBLE), (5, 0, 0, 0, 0, 9, (-103.0,))),
    (CancelGoal(waiting=7), (5, 7, 0, 0, 0, 0, ())),
    (Pause(), (6, *NOTHING)),
    (Resume(), (7, *NOTHING)),
    (SetSpeed(0.25), (8, 0, 0, 0, 0, 0, (0.25,))),
    (JogCoordinates(((3, 0.05), (0, 0.0))), (9, 0, 2, 0, 0, 0, (3.0, 0.05, 0.0, 0.0))),
    (Recover(), (10, *NOTHING)),
    (EmergencyStop(), (11, *NOTHING)),
    (Reset(), (12, *NOTHING)),
    (AdvanceTime(1000), (13, 0, 1000, 0, 0, 0, ())),
    (ChooseLaw(3), (14, 0, 3, 0, 0, 0, ())),
    (Adopt(), (15, *NOTHING)),
    (Shutdown(), (16, *NOTHING)),
    (Shutdown(at_once=True), (16, 0, 1, 0, 0, 0, ())),
    (LeaseLost(), (17, *NOTHING)),
    (SuggestPose(((0, 0.5), (3, -1.5))), (31, 0, 2, 0, 0, 0, (0.0, 0.5, 3.0, -1.5))),
    (SetPreload(((1, -2.0),)), (24, 0, 1, 0, 0, 0, (1.0, -2.0))),
    (ConfirmBranch(), (30, *NOTHING)),
    (ReportDifference(1, 9.0, 4.0, fault=True), (35, 0, 1, 0, 0, 0, (1.0, 9.0, 4.0))),
    (SetGains(25.0, 0.8), (40, 0, 0, 0, 0, 0, (25.0, 0.8))),
    (SetGains(25.0, 0.0, (4, 2)), (40, 0, 2, 0, 0, 0, (25.0, 0.0, 4.0, 2.0))),
    (SetGainMatrices((4.0, 900.0, 60.0)), (45, 0, 3, 0, 0, 0, (4.0, 900.0, 60.0))),
    (
        SetPayload(4, 1.5, (0.0, 0.1, -0.02), INERTIA),
        (41, 0, 0, 0, 0, 0, (4.0, 1.5, 0.0, 0.1, -0.02, *INERTIA)),
    ),
    (SwitchConstraint(1, on=True), (42, 0, 0, 0, 0, 0, (1.0, 1.0))),
    (SetOutputs(((2, 0.75), (0, 1.0))), (43, 0, 2, 0, 0, 0, (2.0, 0.75, 0.0, 1.0))),
    (SetTemperatures(((0, 81.5), (1, 60.0))), (44, 0, 2, 0, 0, 0, (0.0, 81.5, 1.0, 60.0))),
    (
        StartStream(7, (4, 5, 0), 2, 11, 0.01, 0.033, ends=True),
        (60, 2, 3, 11, 0, 7, (0.01, 0.033, 1.0, 4.0, 5.0, 0.0)),
    ),
    (Finish(), (61, *NOTHING)),
]


def examples_of_orders() -> list[Order]:
    """One order of every kind."""
    return list({order.kind: order for order, _ in EXAMPLES}.values())


def datagram(number: int, at_tick: int, authority: int, places: Places) -> bytes:
    """Nine integers and 24 doubles: the datagram that versions without typed orders packed."""
    kind, *words, arguments = places
    padded = (*arguments, *(0.0,) * (24 - len(arguments)))
    return struct.pack("<9q24d", number, kind, at_tick, *words, authority, *padded)
