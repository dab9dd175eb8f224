"""Objects that a notebook shows: their texts are one short line."""

from __future__ import annotations

from pathlib import Path

from hypothesis.vendor.pretty import pretty

import linkwork
from linkwork.machine.loading import drawable
from linkwork.recordings.recording import read_recording
from tests.recordings.recorded import InProcessRecorder


def test_large_objects_have_one_short_line(tmp_path: Path) -> None:
    machine = linkwork.load("delta")
    motion = linkwork.simulate(machine, 0.002, track=["tool"], reactions=True)
    shown = [machine, machine.mechanism, machine.document, drawable(machine.source_text), motion]
    shown += [motion.points, motion.reactions]
    recorder = InProcessRecorder(machine, tmp_path)
    recorder.tick()
    recorder.log.close()
    recording = read_recording(recorder.path)
    shown += [recording, recording.ticks]
    for each in shown:
        text = repr(each)
        assert text.startswith(type(each).__name__)
        assert len(text) < 500, text
        assert "\n" not in text
    assert "q=<3 × " in repr(motion)
    assert pretty(machine) == repr(machine)
