"""Objects, operation modes and error codes of the profile CiA 402 (IEC 61800-7-201) and of CiA 301."""

import struct
from dataclasses import dataclass
from enum import IntEnum
from typing import Final


@dataclass(frozen=True)
class DriveObject:
    """An entry of the object dictionary. code: its type, as `struct` names it (little-endian)."""

    index: int
    sub: int
    code: str

    @property
    def bits(self) -> int:
        """Length of its value."""
        return 8 * struct.calcsize(f"<{self.code}")

    @property
    def mapped(self) -> int:
        """Its entry in the mapping of a PDO."""
        return self.index << 16 | self.sub << 8 | self.bits

    def pack(self, value: int) -> bytes:
        """Return the bytes of a value. Raises struct.error for one beyond the type's range."""
        return struct.pack(f"<{self.code}", value)

    def unpack(self, data: bytes) -> int:
        """Return the value of at least as many bytes as the type has."""
        value: int = struct.unpack_from(f"<{self.code}", data)[0]
        return value

    def __str__(self) -> str:
        return f"{self.index:04X}h" + (f":{self.sub:02X}" if self.sub else "")


CONTROLWORD: Final = DriveObject(0x6040, 0, "H")
STATUSWORD: Final = DriveObject(0x6041, 0, "H")
ERROR_CODE: Final = DriveObject(0x603F, 0, "H")
MODE: Final = DriveObject(0x6060, 0, "b")
MODE_DISPLAY: Final = DriveObject(0x6061, 0, "b")
POSITION: Final = DriveObject(0x6064, 0, "i")
VELOCITY: Final = DriveObject(0x606C, 0, "i")
TARGET_POSITION: Final = DriveObject(0x607A, 0, "i")
FOLLOWING_WINDOW: Final = DriveObject(0x6065, 0, "I")
FOLLOWING_TIMEOUT: Final = DriveObject(0x6066, 0, "H")
FOLLOWING_ERROR: Final = DriveObject(0x60F4, 0, "i")
TORQUE_OFFSET: Final = DriveObject(0x60B2, 0, "h")
TARGET_TORQUE: Final = DriveObject(0x6071, 0, "h")
RATED_CURRENT: Final = DriveObject(0x6075, 0, "I")
RATED_TORQUE: Final = DriveObject(0x6076, 0, "I")
TORQUE: Final = DriveObject(0x6077, 0, "h")
DIGITAL_INPUTS: Final = DriveObject(0x60FD, 0, "I")
SUPPORTED_MODES: Final = DriveObject(0x6502, 0, "I")
ABORT_OPTION: Final = DriveObject(0x6007, 0, "h")
HOMING_METHOD: Final = DriveObject(0x6098, 0, "b")
INTERPOLATION_TIME: Final = DriveObject(0x60C2, 1, "B")
INTERPOLATION_EXPONENT: Final = DriveObject(0x60C2, 2, "b")
DEVICE_TYPE: Final = DriveObject(0x1000, 0, "I")
MASTER_WATCHED: Final = DriveObject(0x1016, 1, "I")
HEARTBEAT: Final = DriveObject(0x1017, 0, "H")


class OperationMode(IntEnum):
    """Values of 6060h that linkwork uses."""

    HOMING = 6
    POSITION = 8
    TORQUE = 10

    @property
    def words(self) -> str:
        """Its name in texts."""
        return {6: "homing", 8: "cyclic synchronous position", 10: "cyclic synchronous torque"}[self.value]

    @property
    def offered(self) -> int:
        """Its bit in 6502h."""
        return int(1 << (self.value - 1))
