"""Random sessions: clients, faults and killed processes, beside the rig and without it."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from linkwork.rig.under_test import RigUnderTest

SESSIONS, AT_ONCE = 20, 5
"""Sessions in all, and of each test."""


@pytest.mark.parametrize("first", range(0, SESSIONS, AT_ONCE))
def test_random_sessions_break_no_rule(rig: RigUnderTest, first: int) -> None:
    """No random session of the machine file breaks a rule of states.md."""
    pytest.importorskip("greenlet", reason="sessions need: pip install 'linkwork[explore]'")
    words = [sys.executable, "-m", "linkwork", "explore", str(rig.machine.path), "--json"]
    words += ["--first", str(first), "--seeds", str(AT_ONCE)]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.stdout, done.stderr
    assert json.loads(done.stdout)["failures"] == []
