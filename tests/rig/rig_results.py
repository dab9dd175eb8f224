"""What rig tests could have found: findings of every verdict, beside a real log."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from linkwork.controller.exchange.records import layout_for
from linkwork.controller.gateway.records.log import Log
from linkwork.controller.gateway.records.log_segment import LogSource
from linkwork.machine import Machine
from linkwork.rig.collected import FaultSeen, Number, Span, TestFindings, Tolerated
from linkwork.rig.collecting import Collecting, read_collected
from linkwork.rig.report.evidence import evidence
from linkwork.rig.report.logs import Logs
from linkwork.rig.report.report_data import MachineReport, machine_report
from tests.recordings.recorded import InProcessRecorder

BIAS = {"name": "bent", "kind": "sensor: bias", "of": "elbow", "from_tick": 300, "by_rad": 0.01}
DROP = {"name": "thin", "kind": "wire: drop", "from_tick": 90, "for_ticks": 3, "applied": True}
FOUND = FaultSeen(
    BIAS, ("SENSOR_DISAGREES",), "SENSOR_DISAGREES", "contradicts", 2, 0.002, 3, "fault", 0.04,
    {"shoulder": 0.012, "lift": 0.0005}, holds=True,
)  # fmt: skip
BORNE = Tolerated(DROP, "fewer than <20> in a row", Number("error.max", 2e-5, "m", "<", 1e-3, holds=True))


def short_log(machine: Machine, folder: Path) -> Path:
    """Less than half a second of a swing."""
    run = InProcessRecorder(machine, folder)
    run.enable()
    run.send(*run.swing(seconds=0.2))
    run.run(0.3)
    return run.close()


def clocked_log(machine: Machine, folder: Path) -> Path:
    """400 ticks of 1 ms, at rest, 60 to 80 µs from state to command; tick 200 had no state."""
    layout = layout_for(machine)
    words = np.zeros((400, layout.words))
    number = np.arange(400)
    whole = words.view(np.int64)
    for name in ("tick", "device_tick"):
        whole[:, layout.offsets[name]] = number
    for name in ("fresh", "connected"):
        whole[:, layout.offsets[name]] = 1
    whole[200, layout.offsets["fresh"]] = 0
    whole[201, layout.offsets["missed"]] = 2
    whole[:, layout.offsets["received_ns"]] = 1_000_000 * (number + 1)
    whole[:, layout.offsets["sent_ns"]] = 1_000_000 * (number + 1) + 60_000 + 1000 * (number % 21)
    log = Log(folder, "clocked", "20260101-120000", LogSource(layout, True, "", {}), 2_000_000_000)
    log.write(words, [])
    log.close()
    return log.first


def findings(log: Path, coordinate: str, seconds: float = 0.5) -> list[TestFindings]:
    """One test of each verdict, as a plug-in fills them."""
    number = Number(f"tracking_error({coordinate}).max", 2.1e-5, "rad", "<", 1e-3, holds=True)
    missed = Number("stopping_time", 0.4, "s", "<=", 0.3, holds=False)
    failure = {"numbers": [missed], "text": "E  no & <x>"}
    span = Span(str(log), 0, 10_000, "swing")
    made = [
        ("test_motion.py::test_follows", "passed", "It follows.", {"numbers": [number], "spans": [span]}),
        ("test_faults.py::test_bias", "passed", "A bias is found.", {"faults": [FOUND], "injected": [BIAS]}),
        ("test_faults.py::test_drop", "passed", "Drops are borne.", {"tolerated": [BORNE], "spans": [span]}),
        ("test_stops.py::test_stop[<a>]", "failed", "It stops.", failure),
        ("test_forces.py::test_force", "skipped", "It presses.", {"reason": "it has no force"}),
        ("test_forces.py::test_other", "error", "It starts.", {"stage": "setup", "text": "E  no plant"}),
    ]
    return [
        TestFindings(node, node.rpartition("::")[2], text, "rig", verdict, seconds=seconds, **more)  # type: ignore[arg-type]
        for node, verdict, text, more in made
    ]


def reported(machine: Machine, log: Path, folder: Path, pace: str, seconds: float = 0.5) -> MachineReport:
    """Written as a session writes it, and read back; one test that was chosen was never done."""
    coordinate = machine.mechanism.coordinate_names[0]
    tests = findings(log, coordinate, seconds)
    facts = {
        "config": machine.name, "pace": pace, "seed": 7, "period_s": 0.001, "law": "pidc",
        "config_hash": machine.config_hash, "real_time": {"plant": "asked for: FIFO 60; obtained: none"},
    }  # fmt: skip
    path = folder / "collected.jsonl"
    with Collecting(path) as collecting:
        collecting.plan([*(test.node for test in tests), "test_last.py::test_never_done"])
        collecting.rig(machine.name, facts)
        for test in tests:
            collecting.begin(test.node)
            collecting.test(test)
    problem = f"ended by SIGKILL, see {Path.cwd()}/tests/a.py"
    made = machine_report(machine, machine.name, read_collected(path), problem)
    made.evidence = evidence(machine, made.tests, Logs(folder))
    return made
