"""Names and numbers by which Python and the compiled library know kernels and structs."""

import hashlib
from collections.abc import Mapping


def fingerprint(name: str, fields: Mapping[str, str]) -> int:
    """Return the number by which a kernel knows a struct; fields: their types in C."""
    return int(hashlib.sha256(f"{name}{dict(fields)}".encode()).hexdigest()[:15], 16)


def entry_name(kernel: str) -> str:
    """Return the symbol that Python calls, of a kernel `module.name`."""
    return f"python_{kernel.replace('.', '_')}"
