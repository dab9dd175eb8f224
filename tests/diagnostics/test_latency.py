"""The latency report: its arithmetic on made-up rounds, and one short run with real processes."""

import json
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from linkwork.cli.latency_command import bars, report_text
from linkwork.diagnostics.latency import LatencyError, LatencyReport, run_latency
from linkwork.diagnostics.load import kinds
from linkwork.timing.scheduling import SchedulingStep
from linkwork.timing.statistics import Histogram
from tests.waiting import wait_for


def made_up(late_us: float = 12.0, slow: int = 1) -> LatencyReport:
    report = LatencyReport(0.001, realtime="real time (warn): asked nothing; obtained all")
    for _ in range(3):
        report.add_round(
            {
                "sleep": {"late": [5_000, 10_000, 15_000], "trips": [], "skipped": 0},
                "exchange": {
                    "late": [5_000, 20_000 * slow, int(late_us * 1e3)],
                    "trips": [60_000, 80_000, 90_000],
                    "skipped": 2,
                },
                "bare": {"late": [1_000] * 3, "trips": [40_000, 40_000, 50_000], "skipped": 0},
            }
        )
    return report


@pytest.fixture(autouse=True)
def runtime(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("LINKWORK_RUNTIME_DIR", str(tmp_path))
    return tmp_path


@pytest.mark.parametrize(
    ("late_us", "word"),
    [
        (20.0, "excellent"),
        (20.1, "good"),
        (50.0, "good"),
        (51.0, "usable"),
        (500.0, "usable"),
        (501.0, "poor"),
    ],
)
def test_the_verdict_follows_the_latest_wake_up(late_us: float, word: str) -> None:
    report = made_up(late_us)
    assert report.jitter_us == pytest.approx(late_us)
    assert report.verdict[0] == word


def test_ratios_are_medians_of_rounds() -> None:
    report = made_up()
    assert report.ratio("trips", "exchange", "bare")["p50"] == 2.0
    assert report.ratio("late", "exchange", "sleep")["p50"] == 1.2
    spread = report.ratio("trips", "exchange", "bare")
    assert spread["p50_low_quartile"] == spread["p50_high_quartile"] == 2.0


def test_a_single_round_has_ratios_too() -> None:
    report = LatencyReport(0.001)
    block: dict[str, Any] = {"late": [1000], "trips": [2000], "skipped": 0}
    report.add_round({"sleep": block | {"trips": []}, "exchange": block, "bare": block})
    assert report.ratio("trips", "exchange", "bare")["p50"] == 1.0


def test_json_has_every_number_in_microseconds() -> None:
    content = json.loads(json.dumps(made_up().as_dict()))
    assert content["period_us"] == 1000
    assert content["rounds"] == 3
    assert set(content["late"]) == {"sleep", "exchange", "bare"}
    assert content["round_trip"]["bare"]["max_us"] == 50.0
    assert content["late"]["exchange"]["count"] == 9
    assert content["skipped_periods"] == {"sleep": 0, "exchange": 6, "bare": 0}
    assert content["verdict"]["word"] == "excellent"


def test_the_text_holds_verdict_and_advice() -> None:
    report = made_up(600.0)
    report.means += [
        SchedulingStep("policy", "fifo 50", "other", "Run as root."),
        SchedulingStep("gc", "off", "off"),
    ]
    text = report_text(report)
    for words in (
        "poor: the latest wake-up was 600.0 us, 60.0% of a period",
        "under load",
        "real-time means: 1 of 2 obtained",
        "policy: Run as root.",
    ):
        assert words in text
    assert "device link / bare ZeroMQ echo    median 2.00" in text


def test_bars_count_everything_and_show_gaps() -> None:
    histogram = Histogram()
    for duration in (15_000, 16_000, 17_000, 150_000):
        histogram.add(duration)
    lines = bars(histogram, 60)
    assert [line.split()[4] for line in lines] == ["3", "0", "0", "1"]
    assert lines[0].split()[:3] == ["10", "-", "20"]
    assert "#" not in lines[1]
    assert lines[3].endswith("#")
    assert max(map(len, lines)) <= 60
    assert len(lines[0].split()[-1]) == pytest.approx(2 * len(lines[3].split()[-1]), abs=1)  # log(4) / log(2)
    assert bars(Histogram()) == ["  nothing was measured"]


def test_a_real_run(runtime: Path) -> None:
    shares: list[float] = []
    report = run_latency(0.5, period_s=0.0005, fifo=False, realtime="ignore", progress=shares.append)
    assert report.rounds == 1
    assert shares == [1.0]
    for histogram in (*report.late.values(), *report.trips.values()):
        assert histogram.count == 500
    assert all(histogram.min_ns > 0 for histogram in report.trips.values())
    for histogram in report.late.values():
        assert 0 <= histogram.min_ns < histogram.max_ns  # a wake-up may meet its deadline to the nanosecond
    assert report.realtime.startswith("real time (ignore)")
    assert report_text(report)
    assert list(runtime.iterdir()) == []


def running_load(runtime: Path) -> int:
    """Live processes of the load whose folder is this one, or in it."""
    count = 0
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        with suppress(OSError):
            words = path.read_bytes().decode(errors="replace").split("\0")
            if "linkwork.diagnostics.load" in words:
                folder = Path(words[words.index("linkwork.diagnostics.load") + 2])
                count += folder.is_relative_to(runtime)
    return count


def test_a_run_under_load_measures_both_and_leaves_nothing(runtime: Path) -> None:
    report = run_latency(0.5, period_s=0.0005, fifo=False, realtime="ignore", under_load=True)
    assert report.under_load is not None
    assert (report.rounds, report.under_load.rounds) == (1, 1)
    content = report.as_dict()
    assert content["under_load"]["late"]["exchange"]["count"] == 500
    assert "fsync" in content["load"]
    latest = max(each["late"]["exchange"]["max_us"] for each in (content, content["under_load"]))
    assert content["verdict"]["max_jitter_us"] == latest
    assert "late wake-ups of the loop, under load" in report_text(report)
    assert list(runtime.iterdir()) == []
    assert running_load(runtime) == 0


def test_the_load_ends_with_a_parent_that_is_killed(runtime: Path) -> None:
    program = (
        "import sys, time; from linkwork.diagnostics.load import LoadGate, load\n"
        "with load(sys.argv[1]): LoadGate(sys.argv[1]).set(to=True); print('on', flush=True); time.sleep(60)"
    )
    parent = subprocess.Popen([sys.executable, "-c", program, str(runtime)], stdout=subprocess.PIPE)
    assert parent.stdout is not None
    with parent.stdout:
        parent.stdout.readline()
    wait_for(lambda: (runtime / "echo.ipc").exists(), "the echo")
    wait_for(lambda: running_load(runtime) == len(kinds()), "all processes of the load")
    parent.kill()
    parent.wait()
    wait_for(lambda: running_load(runtime) == 0, "the end of the load")
    assert (runtime / "load.errors").read_text() == ""


def test_an_interrupt_reports_what_is_there(runtime: Path) -> None:
    def interrupt(_share: float) -> None:
        raise KeyboardInterrupt

    report = run_latency(60, period_s=0.001, fifo=False, progress=interrupt)
    assert report.rounds == 1
    assert list(runtime.iterdir()) == []


@pytest.mark.parametrize(("seconds", "period_s"), [(0, 0.001), (1, 1e-5), (1, 2.0), (float("nan"), 0.001)])
def test_what_cannot_be_measured(seconds: float, period_s: float) -> None:
    with pytest.raises(LatencyError, match="allowed"):
        run_latency(seconds, period_s=period_s)


def test_a_runtime_folder_that_is_too_deep_is_said_and_not_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    deep = tmp_path / ("x" * 120)
    monkeypatch.setenv("LINKWORK_RUNTIME_DIR", str(deep))
    with pytest.raises(LatencyError, match="LINKWORK_RUNTIME_DIR") as caught:
        run_latency(1, fifo=False)
    assert str(caught.value).startswith("the socket path")


@pytest.mark.parametrize("role", ["measure", "answer"])
def test_a_process_that_ends_is_named_by_its_own_words(
    role: str, runtime: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One process ends at its start, while the other waits for it."""
    (runtime / "sitecustomize.py").write_text(
        f"import sys\nif {role!r} in sys.orig_argv: sys.exit('the {role} process was ended')\n"
    )
    monkeypatch.setenv("PYTHONPATH", str(runtime))
    with pytest.raises(LatencyError, match=f"the {role} process was ended"):
        run_latency(1, fifo=False)
