"""A pose in which assembly modes meet: the estimate that stays behind there is a fault, not a pose."""

import json
from pathlib import Path

from linkwork.controller.exchange.faults import FaultCode
from linkwork.explore.session_run import Explored, run_session
from linkwork.explore.workload import ExploredSession

PLATFORM = Path(__file__).parent / "machines" / "platform_3rpr.yaml"


def test_an_estimate_that_its_sensors_have_left_is_a_fault() -> None:
    """Pushes take an idle platform through a pose in which two assembly modes have the same struts."""
    session = ExploredSession.from_map(json.loads(PLATFORM.with_suffix(".json").read_text()))
    found = run_session(Explored.of(str(PLATFORM)), session)
    assert found.violations == ()
    assert f"fault {FaultCode.SENSORS_DISAGREE:d}" in found.seen
