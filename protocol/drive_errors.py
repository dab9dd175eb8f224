"""Faults of devices in words: those of the protocol, and the error codes of drives (CiA 402, 603Fh)."""

from typing import Final

from linkwork.protocol.codes import DeviceFault

DRIVE_ERROR: Final = 0x10000
"""A drive's error code (16 bits) plus this is its fault on the device link."""

_ERRORS: Final = {
    0x2310: "continuous over-current",
    0x2320: "short circuit at the motor",
    0x3130: "a phase of the supply is missing",
    0x3210: "over-voltage of the DC link",
    0x3220: "under-voltage of the DC link",
    0x4210: "device too hot",
    0x4310: "drive too hot",
    0x5441: "enable or safe torque off input open",
    0x5530: "parameter memory",
    0x7121: "motor blocked",
    0x7305: "incremental encoder",
    0x7306: "encoder",
    0x8120: "CAN in error-passive state",
    0x8130: "the master's heartbeat was missing",
    0x8140: "recovered from bus-off",
    0x8210: "PDO too short",
    0x8611: "following error",
    0x8612: "reference limit",
    0xFF01: "vendor-specific",
}
_CLASSES: Final = {
    0x1: "generic", 0x2: "current", 0x3: "voltage", 0x4: "temperature", 0x5: "hardware of the drive",
    0x6: "software of the drive", 0x7: "additional module", 0x8: "monitoring", 0x9: "external",
    0xF: "vendor-specific",
}  # fmt: skip


def error_text(code: int) -> str:
    """Return an error code (603Fh, emergency) in words."""
    return f"error {code:04X}h ({_ERRORS.get(code) or _CLASSES.get(code >> 12, 'unknown')})"


def device_fault_text(number: int) -> str:
    """Return a device's or a motor's fault in words."""
    if number in set(DeviceFault):
        return DeviceFault(number).name.lower().replace("_", " ")
    if DRIVE_ERROR < number < 2 * DRIVE_ERROR:
        return f"drive {error_text(number - DRIVE_ERROR)}"
    return f"the vendor's fault {number}"
