"""The C library, for the few real-time calls that Python does not offer."""

import ctypes
import os
from typing import NoReturn

LIBC = ctypes.CDLL(None, use_errno=True)
LIBC.clock_nanosleep.argtypes = (ctypes.c_int, ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p)
LIBC.prctl.argtypes = (ctypes.c_int, ctypes.c_ulong, ctypes.c_ulong, ctypes.c_ulong, ctypes.c_ulong)
LIBC.mlockall.argtypes = (ctypes.c_int,)
LIBC.mlock.argtypes = (ctypes.c_void_p, ctypes.c_size_t)
LIBC.munlockall.argtypes = ()
LIBC.mallopt.argtypes = (ctypes.c_int, ctypes.c_int)


def raise_errno(call: str, error: int) -> NoReturn:
    """Raise the OSError of this error number, naming the call that failed."""
    raise OSError(error, f"{call}: {os.strerror(error)}")
