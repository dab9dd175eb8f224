"""Recordings as files: followed while they are written, drawn, exported, animated, replayed by command."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from linkwork.cli import recording_commands as commands
from linkwork.cli.options.study import AnimateOptions, ExportOptions, PlotOptions, ReplayOptions
from linkwork.cli.recording_commands import replay
from linkwork.controller.exchange.records import layout_for
from linkwork.controller.gateway.records.log import Log
from linkwork.controller.gateway.records.log_segment import LogSource
from linkwork.controller.gateway.records.logged_orders import GoalWords
from linkwork.machine import load
from linkwork.recordings.animation import animate, draw_scene, frames_of
from linkwork.recordings.log_follower import first_segment
from linkwork.recordings.recorder import Recorded, record
from linkwork.recordings.recording import NoRecording, Recording, read_recording, signals
from linkwork.terminal.failures import Misuse
from tests.recordings.recorded import InProcessRecorder

SCARA = load("scara")


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> Path:
    run = InProcessRecorder(SCARA, tmp_path_factory.mktemp("log"))
    run.enable()
    run.send(*run.swing(seconds=0.3))
    run.run(0.4)
    return run.close()


def _same(one: Recording, other: Recording) -> bool:
    return (
        one.table.tobytes() == other.table.tobytes()
        and one.events == other.events
        and one.machine_file == other.machine_file
        and one.metadata == other.metadata
        and [each.words.tolist() for each in one.goals.values()]
        == [each.words.tolist() for each in other.goals.values()]
    )


def test_a_recording_of_a_finished_log_is_that_log(log: Path, tmp_path: Path) -> None:
    done = record(log, tmp_path / "a.mcap", lambda _: True)
    assert (done.first_tick, done.goals) == (0, 1)
    assert _same(read_recording(log), read_recording(tmp_path / "a.mcap"))
    with pytest.raises(FileExistsError):
        record(log, tmp_path / "a.mcap", lambda _: True)


def test_segments_are_followed_while_they_are_written(tmp_path: Path) -> None:
    """The recorder looks after every hundred ticks; the oldest segments go meanwhile."""
    layout = layout_for(SCARA)
    source = LogSource(layout, False, SCARA.source_text, {"machine": "scara"})
    segments = Log(tmp_path, "scara", "20260101-120000", source, 4 * 100_000)
    words = np.zeros((2000, layout.words))
    words.view(np.int64)[:, 0] = np.arange(2000)
    words[:, layout.offsets["time_s"]] = np.arange(2000) * 1e-3
    state = {"at": 0}

    def go_on(so_far: Recorded) -> bool:
        at = state["at"]
        if at == 2000:
            segments.close()
            return True
        events: list[Any] = [(0, "order", {"tick": at}), (0, "goal", GoalWords(at, 1, np.arange(3.0)))]
        segments.write(words[at : at + 100], events)
        segments.flush(at)
        state["at"] = at + 100
        assert so_far.ticks <= at
        return True

    target = tmp_path / "all.mcap"
    first = next(tmp_path.glob("scara-*-0000.mcap"))
    done = record(first, target, go_on)
    kept = read_recording(target).table["tick"]
    assert kept[-1] == 1999
    assert (np.diff(kept) == 1).all()
    assert done.ticks == len(kept)
    assert done.events == done.goals == 20
    assert len(list(tmp_path.glob("scara-*.mcap"))) > 1


def test_only_what_comes_from_now_on(log: Path, tmp_path: Path) -> None:
    done = record(log, tmp_path / "late.mcap", lambda _: True, ticks_from=100)
    assert done.first_tick == 100
    assert read_recording(tmp_path / "late.mcap").table["tick"][0] == 100


def test_a_recording_that_was_cut_off_is_read_as_far_as_it_goes(log: Path, tmp_path: Path) -> None:
    record(log, tmp_path / "whole.mcap", lambda _: True)
    whole = (tmp_path / "whole.mcap").read_bytes()
    (tmp_path / "cut.mcap").write_bytes(whole[: len(whole) // 2])
    cut = read_recording(tmp_path / "cut.mcap").table
    assert 0 < len(cut) < len(read_recording(tmp_path / "whole.mcap").table)


def test_the_oldest_segment_of_a_run(tmp_path: Path) -> None:
    for name in ("scara-20260101-120000-0003", "scara-20260101-120000-0012", "scara-20250101-120000-0000"):
        (tmp_path / f"{name}.mcap").touch()
    found = first_segment(tmp_path / "scara-20260101-120000-0012.mcap")
    assert found.name == "scara-20260101-120000-0003.mcap"
    assert first_segment(tmp_path / "mine.mcap").name == "mine.mcap"


def test_every_number_has_a_name_and_an_exported_column(
    log: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    there = signals(read_recording(log).ticks)
    assert {"tick", "effort.shoulder", "q_measured.lift"} <= set(there)
    commands.export(
        ExportOptions(file=log, out=tmp_path / "a.csv", signal=["effort", "q.lift"], begin=0.1, end=0.2)
    )
    rows = list(csv.reader((tmp_path / "a.csv").read_text().splitlines()))
    assert rows[0][:3] == ["tick", "time_s", "effort.shoulder"]
    assert len(rows) == 1 + 101
    commands.export(ExportOptions(file=log, out=tmp_path / "a.npz", as_json=True))
    with np.load(tmp_path / "a.npz") as arrays:
        np.testing.assert_array_equal(arrays["q.lift"], there["q.lift"])
    assert json.loads(capsys.readouterr().out.splitlines()[-1])["ticks"] == len(there["tick"])
    with pytest.raises(Misuse, match="choose a format"):
        commands.export(ExportOptions(file=log))
    with pytest.raises(Misuse, match="no ticks are left"):
        commands.export(ExportOptions(file=log, csv=True, begin=99.0))


def test_plots(log: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    commands.plot(PlotOptions(file=log, signal=["effort", "q.lift"], out=tmp_path / "a.png"))
    assert (tmp_path / "a.png").read_bytes().startswith(b"\x89PNG")
    assert not (tmp_path / "a.csv").exists()
    commands.plot(
        PlotOptions(file=log, signal=["effort", "q.lift"], out=tmp_path / "b.png", as_csv=True, as_json=True)
    )
    out = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert out == {"out": str(tmp_path / "b.png"), "csv": str(tmp_path / "b.csv")}
    with (tmp_path / "b.csv").open(newline="") as file:
        header, *rows = csv.reader(file)
    assert header[0] == "time_s"
    assert {"effort.shoulder_N_m", "effort.lift_N", "q.lift_mm"} <= set(header)
    there = signals(read_recording(log).ticks)
    lift = [float(row[header.index("q.lift_mm")]) for row in rows]
    np.testing.assert_allclose(lift, 1e3 * there["q.lift"], atol=1e-12)
    with pytest.raises(Misuse, match=r"write effort$"):
        commands.plot(PlotOptions(file=log, signal=["efort"], out=tmp_path / "b.png"))
    with pytest.raises(Misuse, match="cannot be read"):
        commands.plot(PlotOptions(file=tmp_path / "none.mcap"))


def test_the_machine_moves_in_a_gif(log: Path, tmp_path: Path) -> None:
    from PIL import Image

    commands.animate(AnimateOptions(file=log, out=tmp_path / "a.gif", fps=10.0, begin=0.1, end=0.4))
    with Image.open(tmp_path / "a.gif") as image:
        assert image.n_frames == 4  # type: ignore[attr-defined]
    time_s = np.arange(0.0, 1.0, 1e-3)
    np.testing.assert_array_equal(frames_of(time_s, 4.0, 0.5), np.arange(0, 1000, 125))
    with pytest.raises(ValueError, match="more than 3000"):
        frames_of(np.array([0.0, 1e4]), 25.0, 1.0)
    with pytest.raises(ValueError, match=r"\.gif or \.mp4"):
        animate(SCARA, time_s, np.zeros((1000, 4)), tmp_path / "a.png")


def test_loose_parts_are_shown_where_the_plant_had_them(tmp_path: Path) -> None:
    from matplotlib.figure import Figure

    scene = load("scara_gripper").scene
    assert scene is not None
    places = {"block_1": [0.1, 0.2, 0.1], "block_2": [np.nan] * 3, "block_3": [5.0, 0.0, 0.0]}
    axes: Any = Figure().add_subplot(projection="3d")
    draw_scene(axes, scene, {name: np.array(at) for name, at in places.items()})
    (box,) = axes.collections
    corners = np.reshape(box._faces, (-1, 3)) if hasattr(box, "_faces") else box._vec[:3].T  # matplotlib 3.10
    middle = np.mean(corners, axis=0)
    np.testing.assert_allclose(middle, places["block_1"], atol=1e-12)
    (tmp_path / "no.plant").write_text("{}")
    with pytest.raises(Misuse, match="not the plant's record"):
        commands._centres(tmp_path / "no.plant", np.zeros(1))


def test_replay_by_command(log: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert replay(ReplayOptions(file=log)) == 0
    assert "to the last bit" in capsys.readouterr().out
    other = tmp_path / "other.yaml"
    changed = SCARA.source_text.replace("bandwidth_rad_s: 20", "bandwidth_rad_s: 22")
    assert changed != SCARA.source_text
    other.write_text(changed)
    assert replay(ReplayOptions(file=log, against=str(other), as_json=True)) == 1
    found = json.loads(capsys.readouterr().out)
    assert found["difference"]["field"].startswith("law_effort.")
    assert found["ticks"] == found["difference"]["tick"]
    with pytest.raises(NoRecording, match="of another machine"):
        replay(ReplayOptions(file=log, against="five_bar"))


def test_all_segments_of_a_run_are_one_recording(log: Path, tmp_path: Path) -> None:
    table = read_recording(log).table
    layout = layout_for(SCARA)
    source = LogSource(layout, False, SCARA.source_text, {"machine": "scara"})
    words = np.zeros((len(table), layout.words))
    words[:, : layout.deterministic_bytes // 8] = np.frombuffer(table.tobytes()).reshape(len(table), -1)
    segments = Log(tmp_path, "scara", "20260101-120000", source, 2_000_000)
    segments._segment_bytes = 100_000
    segments.write(words)
    segments.close()
    assert len(list(tmp_path.glob("*.mcap"))) > 2
    assert read_recording(segments.first).table.tobytes() == table.tobytes()
