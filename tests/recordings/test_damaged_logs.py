"""Damaged logs: whatever is read is what was written, and the damage is reported."""

from __future__ import annotations

import json
import random
import warnings
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, example, given, settings
from hypothesis import strategies as st

from linkwork.controller.exchange.records import layout_for
from linkwork.controller.gateway.records.log import Log
from linkwork.controller.gateway.records.log_segment import LogSource
from linkwork.machine import load
from linkwork.recordings.log_file import DamagedLog, read_ticks
from linkwork.recordings.recorder import record
from linkwork.recordings.recording import NoRecording, Recording, read_recording
from tests.command import linkwork
from tests.recordings.recorded import InProcessRecorder

SCARA = load("scara")


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run in lockstep of one segment with several chunks."""
    run = InProcessRecorder(SCARA, tmp_path_factory.mktemp("log"))
    run.enable()
    run.send(*run.swing(seconds=0.4))
    run.run(0.6)
    return run.close()


@pytest.fixture(scope="module")
def segments(whole: Path, tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """The same ticks in a run of several segments."""
    run = read_recording(whole)
    source = LogSource(layout_for(SCARA), False, run.machine_file, run.metadata)
    folder = tmp_path_factory.mktemp("segments")
    log = Log(folder, "scara", "20260101-120000", source, 600_000)
    size = source.layout.deterministic_bytes // 8
    words = np.zeros((len(run.table), source.layout.words))
    words[:, :size] = np.frombuffer(run.table.tobytes(), np.float64).reshape(len(run.table), size)
    log.write(words)
    log.close()
    return sorted(folder.iterdir())


def read(path: Path) -> Recording | None:
    try:
        return read_recording(path)
    except NoRecording:
        return None


def check_sound(found: Recording | None, true: Recording) -> None:
    """What was read is the beginning of the run, and the rest is reported."""
    if found is None:
        return
    assert found.table.tobytes() == true.table[: len(found.table)].tobytes()
    assert list(found.events) == list(true.events[: len(found.events)])
    assert found.machine_file in ("", true.machine_file)
    if len(found.table) < len(true.table):
        assert f"from tick {len(found.table)} on" in found.damage


Damage = tuple[str, float, int]


def damaged(data: bytes, damages: list[Damage]) -> bytes:
    for kind, where, size in damages:
        at = int(where * max(len(data) - 1, 0))
        if kind == "flip" and data:
            data = data[:at] + bytes([data[at] ^ 1 << size % 8]) + data[at + 1 :]
        elif kind == "zeros":
            data = data[:at] + bytes(len(data) - at)
        elif kind == "hole":
            data = data[:at] + bytes(len(data[at : at + size])) + data[at + size :]
        elif kind == "lose":
            data = data[:at] + data[at + size :]
        elif kind == "cut":
            data = data[:at]
        elif kind == "noise":
            data = data[:at] + random.Random(size).randbytes(size) + data[at + size :]
    return data


DAMAGES = st.lists(
    st.tuples(
        st.sampled_from(["flip", "flip", "flip", "zeros", "hole", "lose", "cut", "noise"]),
        st.floats(0.0, 1.0),
        st.integers(1, 5000),
    ),
    min_size=1,
    max_size=3,
)
QUICK = settings(
    max_examples=60,
    phases=[Phase.explicit, Phase.generate],
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)


@QUICK
@example(damages=[("flip", 0.332, 378), ("hole", 0.1443308483917827, 378)])  # erases the checksum of a chunk
@given(damages=DAMAGES)
def test_no_damage_gives_other_numbers(whole: Path, damages: list[Damage], tmp_path: Path) -> None:
    path = tmp_path / "run.mcap"
    path.write_bytes(damaged(whole.read_bytes(), damages))
    check_sound(read(path), read_recording(whole))


@QUICK
@given(damages=DAMAGES, which=st.integers(0, 20))
def test_nor_does_that_of_one_segment(
    segments: list[Path], damages: list[Damage], which: int, tmp_path: Path
) -> None:
    for number, path in enumerate(segments):
        data = path.read_bytes()
        data = damaged(data, damages) if number == which % len(segments) else data
        (tmp_path / path.name).write_bytes(data)
    check_sound(read(tmp_path / segments[0].name), read_recording(segments[0]))


def test_a_flipped_bit_in_the_middle_is_reported_with_the_time_missing(whole: Path, tmp_path: Path) -> None:
    data, true = bytearray(whole.read_bytes()), read_recording(whole)
    data[data.index(b"\3\0\0\0lz4", len(data) // 2) + 40] ^= 4  # of a literal: a match may be as well off
    path = tmp_path / "run.mcap"
    path.write_bytes(data)
    found = read_recording(path)
    check_sound(found, true)
    rest_s = true.table["time_s"][-1] - found.table["time_s"][-1]
    assert rest_s > 0.05
    text = f"run.mcap is damaged from tick {len(found.table)} on: {rest_s:.3g} s are missing"
    assert (found.damage, found.cut) == (text, False)
    with pytest.warns(DamagedLog, match="is damaged from tick"):
        assert read_ticks(path).table.tobytes() == found.table.tobytes()


def test_a_tail_of_zeros_is_reported_with_the_time_by_its_size(whole: Path, tmp_path: Path) -> None:
    data, true = whole.read_bytes(), read_recording(whole)
    path = tmp_path / "run.mcap"
    path.write_bytes(data[: len(data) // 2] + bytes(len(data) // 2))
    found = read_recording(path)
    check_sound(found, true)
    assert "is damaged from tick" in found.damage
    assert "are missing" in found.damage


def test_a_log_that_breaks_off_is_only_cut(whole: Path, tmp_path: Path) -> None:
    path = tmp_path / "run.mcap"
    path.write_bytes(whole.read_bytes()[:-100_000])
    found = read_recording(path)
    assert found.cut
    assert found.damage.startswith(f"run.mcap breaks off from tick {len(found.table)} on")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        read_ticks(path)


def test_a_damaged_segment_names_those_that_are_not_read(segments: list[Path], tmp_path: Path) -> None:
    true = read_recording(segments[0])
    assert len(segments) > 3
    for path in segments:
        (tmp_path / path.name).write_bytes(path.read_bytes())
    broken = tmp_path / segments[1].name
    broken.write_bytes(broken.read_bytes()[:-30_000])
    found = read_recording(tmp_path / segments[0].name)
    check_sound(found, true)
    missing_s = true.table["time_s"][-1] - found.table["time_s"][-1]
    assert f"{missing_s:.3g} s are missing, and {segments[2].name} and later segments" in found.damage
    broken.unlink()
    gap = read_recording(tmp_path / segments[0].name)
    check_sound(gap, true)
    assert f"{segments[0].name} is not continued from tick" in gap.damage


def test_the_commands_say_so(whole: Path, tmp_path: Path) -> None:
    data = bytearray(whole.read_bytes())
    data[data.index(b"\3\0\0\0lz4", len(data) // 2) + 40] ^= 4
    path = tmp_path / "run.mcap"
    path.write_bytes(data)
    sound = len(read_recording(path).table)
    exported = linkwork("export", str(path), "--csv", "--json")
    assert (exported.returncode, json.loads(exported.stdout)["ticks"]) == (0, sound)
    assert f"warning: run.mcap is damaged from tick {sound} on" in exported.stderr
    replayed = linkwork("replay", str(path), "--json")
    answer = json.loads(replayed.stdout)
    assert (replayed.returncode, answer["ticks"], answer["difference"]) == (1, sound, None)
    assert "is damaged from tick" in answer["ended"]
    kept = record(path, tmp_path / "kept.mcap", lambda _: True)
    assert kept.ticks == sound
    assert "is damaged from tick" in kept.damage
