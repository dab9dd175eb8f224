"""CANopen on a python-can bus: identifiers, frames, the sum of a bus's traffic."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from linkwork.plant.drivers.driver import DriverFailed

if TYPE_CHECKING:
    import can

NMT: Final = 0x000
SYNC: Final = 0x080
EMERGENCY: Final = 0x080
TPDO: Final = (0x180, 0x280)
RPDO: Final = 0x200
SDO_ANSWER: Final = 0x580
SDO_REQUEST: Final = 0x600
NODE_STATE: Final = 0x700
"""Identifiers; those with a node's number to be added come after SYNC."""
START, ENTER_PRE_OPERATIONAL, RESET_NODE = 1, 128, 129
BOOTED, STOPPED, OPERATIONAL, PRE_OPERATIONAL = 0, 4, 5, 127
"""NMT commands, and states in heartbeats."""
SAFE_GROUP: Final = "239.74.163.2"
DISABLED_PDO: Final = 1 << 31
MOST_LOAD: Final = 0.95
"""Share of a bus that cyclic traffic may take: heartbeats, emergencies and SDO need the rest."""

Send = Callable[[int, bytes], None]


def open_bus(interface: str, channel: str, settings: Mapping[str, Any]) -> can.BusABC:
    """Open a bus. Frames of `udp_multicast` stay on this computer unless `hop_limit` is set.

    Raises DriverFailed.
    """
    try:
        import can as python_can
    except ImportError as error:
        raise DriverFailed(f"{error}; CAN buses need an extra: pip install 'linkwork[can]'") from None
    values: dict[str, Any] = {"interface": interface, **settings}
    if interface == "udp_multicast":
        values = {"hop_limit": 0, "port": 43113, **values}
    if channel or interface == "udp_multicast":
        values["channel"] = channel or SAFE_GROUP
    try:
        return python_can.Bus(**values)
    except Exception as error:  # each interface has its own
        where = f"{interface} {channel}".strip()
        raise DriverFailed(
            f"cannot open the CAN bus {where}: {type(error).__name__}: {error}; check interface, channel and "
            "bus of driver.options (python-can's documentation lists the interfaces)"
        ) from None


def sender(bus: can.BusABC) -> Send:
    """Return a function that sends a frame: identifier and data. It raises DriverFailed."""
    import can as python_can

    def send(identifier: int, data: bytes) -> None:
        message = python_can.Message(arbitration_id=identifier, is_extended_id=False, data=data)
        try:
            bus.send(message)
        except python_can.CanError as error:
            raise DriverFailed(f"the CAN bus does not take frames: {error}; check wiring and power") from None

    return send


def frame_bits(size: int) -> int:
    """Return the most bits of a frame with `size` bytes: stuff bits and the pause behind it included."""
    return 8 * size + 47 + (34 + 8 * size - 1) // 4


def cyclic_bits(sizes: Sequence[int]) -> int:
    """Return the most bits of one cycle: a SYNC, and frames of these sizes."""
    return frame_bits(0) + sum(frame_bits(size) for size in sizes)
