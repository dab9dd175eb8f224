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
    """Record exceptions raised inside, and end pytest where the cause is the rig or its file.

    had: whether the rig was available before: then it counts as the test's failure, as it does without an
    output file.
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
