"""A machine that cannot be had ends the session, with the reason, instead of failing each test."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from linkwork.rig.collecting import Collecting


@contextmanager
def told(collecting: Collecting | None, *, had: bool) -> Iterator[None]:
    """What is raised inside is written down, and pytest ended, where the reason is the rig's or its file's.

    had: whether the rig was there before: then it is the test's failure. So it is without a file to write to.
    """
    try:
        yield
    except Exception as error:
        if collecting is None or had:
            raise
        from linkwork.terminal.failures import explain

        cause = error.__cause__
        status, content = explain(cause if isinstance(cause, Exception) else error)
        collecting.no_rig(status, str(content["message"]))
        pytest.exit(str(content["message"]), returncode=pytest.ExitCode.INTERNAL_ERROR)
