"""What daemons print, kept: bounded, in order, followed through rotations; a full disk does no harm."""

from pathlib import Path
from typing import Any

from linkwork.launch.output_log import LONGEST_LINE, OLDER_FILES, OutputLog, follow_output, read_output


def test_lines_come_back_by_source_and_number(tmp_path: Path) -> None:
    log = OutputLog(tmp_path / "output" / "scara.log")
    for number in range(5):
        log.write("plant", f"plant says {number} %s")
        log.write("controller", f"controller says {number}")
    log.write("group", "ended")
    log.close()
    assert len(read_output(log.path)) == 11
    assert [line[36:] for line in read_output(log.path, "plant", 2)] == ["plant says 3 %s", "plant says 4 %s"]
    assert read_output(log.path, "controller")[0].split()[1:] == ["controller", "controller", "says", "0"]
    assert read_output(log.path, most=1)[0][23:] == "Z group      ended"
    assert read_output(tmp_path / "other.log") == []


def test_the_files_stay_small_whatever_is_printed(tmp_path: Path) -> None:
    log = OutputLog(tmp_path / "scara.log", size=20_000)
    for number in range(200):
        log.write("plant", f"{number} " + "x" * 10_000)
    log.close()
    files = list(tmp_path.iterdir())
    assert len(files) == OLDER_FILES + 1
    assert all(path.stat().st_size <= 20_000 for path in files)
    lines = read_output(log.path, most=1000)
    assert [int(line.split()[2]) for line in lines] == list(range(200 - len(lines), 200))
    assert max(map(len, lines)) <= LONGEST_LINE + 40


def test_new_lines_are_followed_through_a_rotation(tmp_path: Path) -> None:
    path = tmp_path / "scara.log"
    log = OutputLog(path, size=200)
    log.write("plant", "before")
    following: Any = follow_output(path, "plant")
    log.write("controller", "not asked for")
    seen = []
    for number in range(12):
        log.write("plant", f"line {number}")
        seen.append(next(following)[36:])
    log.close()
    following.close()
    assert seen[-1] == "line 11"
    assert (tmp_path / "scara.log.2").exists()


def test_a_disk_that_refuses_is_said_and_does_no_harm(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    log = OutputLog(tmp_path / "file" / "scara.log")
    assert "output is not kept" in log.problem
    log.write("plant", "lost")
    log.close()
    full = OutputLog(Path("/dev/full"))
    full.write("plant", "lost")
    assert "No space left" in full.problem
    full.close()
