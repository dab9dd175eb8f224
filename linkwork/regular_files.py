"""Refusal of paths that are no regular files, before they are opened."""

import errno
import stat
from pathlib import Path


def check_regular(path: Path) -> None:
    """Raise OSError for a pipe, a socket or a device: reading it may never end. Standard input is allowed."""
    mode, given = path.stat().st_mode, str(path).startswith(("/dev/stdin", "/dev/fd/", "/proc/self/fd/"))
    if not (given or stat.S_ISREG(mode) or stat.S_ISDIR(mode)):
        raise OSError(errno.EINVAL, "this is a pipe, a socket or a device, not a file")
