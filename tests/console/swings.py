"""Recordings of a SCARA that swings, made without daemons by the gateway's own log writer."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from linkwork.controller.gateway.records.log_segment import LogSource, Segment
from linkwork.controller.gateway.records.messages import Messages
from linkwork.machine import load
from linkwork.protocol.codes import Pace
from tests.controller.loop.in_process import InProcess

SCARA = load("scara")


def swing_recording(path: Path, amplitude: float = 0.4, wait_s: float = 0.1, *, faulty: bool = False) -> Path:
    """Records a wait and a swing of one second to this file; a faulty one swings too fast.

    It is written to its end, and has no index, like the log of a controller that was killed.
    """
    run = InProcess(SCARA)
    run.enable()
    samples = run.run(wait_s)
    run.send(*run.swing(amplitude=1.6 if faulty else amplitude, seconds=1.0), path=1.0)
    if faulty:
        samples += run.until(lambda sample: sample["fault"] != 0)
        samples += run.run(0.1)
    else:
        samples += run.run(1.3)
    words: Any = np.frombuffer(b"".join(sample.record.tobytes() for sample in samples), np.float64)
    segment = Segment(path, LogSource.for_machine(SCARA, run.layout, Pace.LOCKSTEP))
    segment.ticks(words.reshape(len(samples), -1))
    if faulty:
        segment.event("fault", dict(Messages(SCARA).fault(samples[-1].record)))
    segment.flush(close_chunk=True)
    segment.abandon()
    return path
