"""Results of campaigns: what survives a kill at any moment, and the table that is written in the end."""

from __future__ import annotations

import errno
import json
import re
import resource
from concurrent.futures import CancelledError, Executor, Future
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from linkwork.campaigns.analysis import analyse
from linkwork.campaigns.campaign_page import campaign_page
from linkwork.campaigns.campaign_plan import CampaignPlan, read_campaign, tasks_of
from linkwork.campaigns.campaign_run import Cluster, WorkersEnded, carry_out_on
from linkwork.campaigns.result_store import FILE, ResultStore
from linkwork.campaigns.results_table import ResultsTable, write_table
from linkwork.campaigns.run_worker import RunWorker
from linkwork.campaigns.tuning import read_tuning
from linkwork.machine import MachineError
from linkwork.reports.provenance import provenance
from tests import command
from tests.campaigns import small_campaign


def _line(run: int, text: str = "") -> bytes:
    told = {"run": run, "result": "SUCCESSFUL", "fault": "", "text": text, "figures": [1.5, None]}
    return json.dumps(told).encode() + b"\n"


def test_whatever_is_left_of_the_file_every_whole_line_counts_once_and_the_rest_is_done_again(
    tmp_path: Path,
) -> None:
    whole = [_line(run, "é" * run) for run in (3, 0, 2, 1)]
    with ResultStore(tmp_path, {"seed": 1}, 5) as store:
        for line in whole:
            assert store.append(line)
        assert not store.append(_line(2))
    data = (tmp_path / FILE).read_bytes()
    head = data.index(b"\n") + 1
    ends = np.cumsum([head, *map(len, whole)])
    for kept in range(len(data) + 1):
        (tmp_path / FILE).write_bytes(data[:kept])
        with ResultStore(tmp_path, {"seed": 1}, 5) as store:
            known = int((ends[1:] <= kept).sum())
            assert np.flatnonzero(store.done).tolist() == sorted([3, 0, 2, 1][:known])
            for line in whole:
                store.append(line)
            assert store.append(_line(4))
            assert [store.read(run)["text"] for run in range(4)] == ["é" * run for run in range(4)]
        assert (tmp_path / FILE).read_bytes() == data + _line(4)


def test_results_of_another_campaign_and_a_folder_in_use_are_refused(tmp_path: Path) -> None:
    with ResultStore(tmp_path, {"seed": 1}, 5), pytest.raises(MachineError, match="another process"):
        ResultStore(tmp_path, {"seed": 1}, 5)
    with pytest.raises(MachineError, match=r"another campaign(.|\n)*seed was 1, is 2"):
        ResultStore(tmp_path, {"seed": 2}, 5)


def test_results_on_a_full_disk_stay_whole_and_continue(tmp_path: Path) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    with ResultStore(tmp_path, {}, 9) as store:
        room = len((tmp_path / FILE).read_bytes()) + 2 * len(_line(0)) + 10
        try:
            resource.setrlimit(resource.RLIMIT_FSIZE, (room, hard))
            assert store.append(_line(0))
            assert store.append(_line(1))
            with pytest.raises(OSError, match=FILE):
                store.append(_line(2))
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    with ResultStore(tmp_path, {}, 9) as store:
        assert np.flatnonzero(store.done).tolist() == [0, 1]
        assert store.append(_line(2))
    assert (tmp_path / FILE).read_bytes().endswith(_line(0) + _line(1) + _line(2))


@pytest.mark.parametrize(
    "content", [b'{"my": "data"}', b"\n", b'{"my": "data"}\n', b'{"runs": 9, "content": {}']
)
def test_a_file_of_someone_else_stays_as_it_is(tmp_path: Path, content: bytes) -> None:
    (tmp_path / FILE).write_bytes(content)
    with pytest.raises(MachineError, match="no file of results"):
        ResultStore(tmp_path, {"seed": 1}, 9)
    assert (tmp_path / FILE).read_bytes() == content


class _InThisProcess(Executor):
    def submit(self, function: Any, /, *words: Any, **named: Any) -> Future[Any]:
        future: Future[Any] = Future()
        future.set_result(function(*words, **named))
        return future


def test_results_of_a_changed_file_are_refused_where_the_change_has_an_effect(tmp_path: Path) -> None:
    text, plan = small_campaign.TEXT, small_campaign.planned(tmp_path)
    with ResultStore(tmp_path / "out", plan.content, plan.runs):
        pass
    for was, now in (("0.01", "0.02"), ("unit: kg", "unit: g"), ("name: quick", "name: other")):
        same = small_campaign.planned(tmp_path, text.replace(was, now))
        with ResultStore(tmp_path / "out", same.content, same.runs):
            pass
    rows = text.splitlines(keepends=True)
    swapped = "".join([*rows[:5], rows[6], rows[5], *rows[7:]])
    for changed, says in (
        (
            text.replace("[0.7, 0.9]", "[0.7, 0.95]"),
            r"mass.uniform was \[0.7, 0.9\], is \[0.7, 0.95\]",
        ),
        (text.replace("left: 2.12", "left: 2.13"), "trajectories.there"),
        (text.replace("std_rad: 1.0e-6", "std_rad: 2.0e-6"), "faults was"),
        (swapped, "order.variants was .*shipped.*slow.*, is .*slow.*shipped"),
    ):
        other = small_campaign.planned(tmp_path, changed)
        with pytest.raises(MachineError, match=says):
            ResultStore(tmp_path / "out", other.content, other.runs)


def test_results_of_daemons_or_of_another_linkwork_are_not_those_of_this_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan = small_campaign.planned(tmp_path)
    with ResultStore(tmp_path / "out", plan.content, plan.runs):
        pass
    daemons = read_campaign(plan.path, daemons=True)
    assert daemons.recipe.daemons
    assert daemons.recipe.identity != plan.recipe.identity
    with pytest.raises(MachineError, match="daemons was false, is true"):
        ResultStore(tmp_path / "out", daemons.content, daemons.runs)
    monkeypatch.setattr("linkwork.campaigns.campaign_plan.__version__", "9.9")
    later = read_campaign(plan.path)
    with pytest.raises(MachineError, match=r'change of it or of linkwork(.|\n)*linkwork was .*, is "9.9"'):
        ResultStore(tmp_path / "out", later.content, later.runs)


def test_a_run_whose_machine_cannot_be_built_is_shown_as_recorded(tmp_path: Path) -> None:
    text = small_campaign.TEXT.replace(
        "plant: right_forearm.mass_kg, uniform: [0.7, 0.9], unit: kg",
        "plant: joints.right_elbow.at_m, factor: true, choice: [5]",
    )
    path = small_campaign.write(tmp_path, text)
    recorded = json.loads(small_campaign.lines(read_campaign(path))[0])
    assert recorded["result"] == "NOT_BUILT"
    words = ["campaign", str(path), "--run", "0", "--log", str(tmp_path / "log")]
    ran = command.linkwork(*words, "--json")
    assert ran.returncode == 1, ran.stderr
    told = json.loads(ran.stdout)
    assert (told["result"], told["text"], told["log"]) == ("NOT_BUILT", recorded["text"], None)
    shown = command.linkwork(*words)
    assert shown.returncode == 1
    assert "cannot be assembled" in shown.stdout


def test_options_without_effect_on_one_run_are_refused(tmp_path: Path) -> None:
    path = small_campaign.write(tmp_path)
    words = ["--on", "local", "--workers", "1", "--out", str(tmp_path / "out"), "--dry-run", "--daemons"]
    ran = command.linkwork("campaign", str(path), "--run", "0", *words)
    assert ran.returncode == 2
    assert "leave --daemons, --on, --workers, --out, --dry-run out" in " ".join(ran.stderr.split())


def test_the_estimate_for_a_cluster_says_what_it_assumes(tmp_path: Path) -> None:
    words = ["campaign", str(small_campaign.write(tmp_path)), "--dry-run", "--workers", "7"]
    words += ["--out", str(tmp_path / "out")]
    here, far = (command.linkwork(*words, *more) for more in ([], ["--on", "tcp://far:8786"]))
    assert (here.returncode, far.returncode) == (0, 0)
    assert here.stdout.endswith(" on 7 workers\n")
    assert "on 7 workers as quick as this computer's: --workers gives another number" in far.stdout


class _Silent(Executor):
    """Counts what it is given, and gives no results."""

    submitted = 0

    def submit(self, function: Any, /, *words: Any, **named: Any) -> Future[Any]:
        self.submitted += 1
        return Future()


def test_a_cluster_is_used_as_it_grows_and_without_workers_ends_the_campaign(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each time without a result the number of threads is asked for twice: to wait on, and for more runs."""
    monkeypatch.setattr("linkwork.campaigns.campaign_run.UNMANNED_S", 0.01)
    plan, executor, seen = small_campaign.planned(tmp_path), _Silent(), []
    answers = iter((1, 1, 3, 3, 0, 0))

    def threads() -> int:
        seen.append(executor.submitted)
        return next(answers)

    tasks = [plan.task(run % plan.runs) for run in range(30)]
    with pytest.raises(WorkersEnded, match="no workers left"):
        carry_out_on(Cluster(executor, threads), plan.recipe, tasks, lambda _: None)
    assert next(answers, None) is None
    assert seen == [0, 3, 3, 9, 9, 9]


class _Lost(Executor):
    """Every run ends with the same error."""

    def __init__(self, error: Exception) -> None:
        self._error = error

    def submit(self, function: Any, /, *words: Any, **named: Any) -> Future[Any]:
        future: Future[Any] = Future()
        future.set_exception(self._error)
        return future


def test_a_failure_of_the_cluster_is_told_from_one_to_record(tmp_path: Path) -> None:
    plan = small_campaign.planned(tmp_path)

    def full(line: bytes) -> None:
        raise OSError(errno.ENOSPC, "No space left on device", "results.jsonl")

    tasks = [plan.task(0)]
    with pytest.raises(OSError, match=r"No space left on device: 'results.jsonl'"):
        carry_out_on(Cluster(_InThisProcess(), lambda: 1), plan.recipe, tasks, full)
    for error, says in ((OSError("closed"), "does not carry out"), (CancelledError(), "scheduler has ended")):
        with pytest.raises(WorkersEnded, match=says):
            carry_out_on(Cluster(_Lost(error), lambda: 1), plan.recipe, tasks, full)


def test_the_table_of_an_interrupted_campaign_is_that_of_an_undisturbed_one(tmp_path: Path) -> None:
    pytest.importorskip("pyarrow", reason="the table of a campaign is written by pyarrow")
    plan = small_campaign.planned(tmp_path)
    here = Cluster(_InThisProcess(), lambda: 2)
    files = []
    for name, before in (("undisturbed", ()), ("resumed", (3, 1))):
        folder = tmp_path / name
        with ResultStore(folder, plan.content, plan.runs) as store:
            carry_out_on(here, plan.recipe, [plan.task(run) for run in before], store.append)
        with ResultStore(folder, plan.content, plan.runs) as store:
            tasks = tasks_of(plan, store.done)
            carry_out_on(here, plan.recipe, tasks, store.append)
            files.append(write_table(plan, store, folder))
    assert files[0].read_bytes() == files[1].read_bytes()
    table = ResultsTable(files[0])
    assert table.numbers("run").tolist() == [0, 1, 2, 3]
    assert table.texts("variant").tolist() == ["shipped", "slow"] * 2
    assert (table.texts("result") == "SUCCESSFUL").all()
    limit = plan.file.requirements["error_max.left"]
    assert (table.numbers("passed") == (table.numbers("error_max.left") <= limit)).all()
    _check_page(plan, table)


def _check_page(plan: CampaignPlan, table: ResultsTable) -> None:
    """The report names each worst case with its command, and needs no other file."""
    found = analyse(plan, table)
    errors = table.numbers("error_max.left")
    worst = next(each for each in found.worst if each.figure == "error_max.left")
    assert (worst.run, worst.value) == (int(errors.argmax()), errors.max())
    page = campaign_page(plan, table, found, provenance(["campaign", "quick.yaml"], 1.0))
    assert f"linkwork campaign quick.yaml --run {worst.run}" in page
    assert page.count("<figure>") >= 1
    assert not re.search(r"(src|href)=\"(?!#)|url\(|@import", page)


@pytest.mark.parametrize(
    ("was", "written", "place", "says"),
    [
        ("samples: 2", "samples: 0", "quick.yaml:4:46", "1 or more"),
        ("latin_hypercube, samples: 2", "sobol, samples: 3", "quick.yaml:4:36", "write 2 or 4"),
        ("latin_hypercube, samples: 2", "sobol, samples: 1, indices: true", "quick.yaml:4:36", "2 samples"),
        ("samples: 2", "samples: 2, levels: 3", "quick.yaml:4:57", "remove levels"),
        (
            "latin_hypercube, samples: 2",
            "sobol, samples: 4, indices: true, repeats: 2",
            "quick.yaml:4:63",
            "remove repeats",
        ),
        (
            "plant: right_forearm.mass_kg",
            "factor: true, machine: controller.bandwidth_rad_s",
            "quick.yaml:9:18",
            "remove factor",
        ),
        ("{left: 2.12}", "{left: 2.12}, approach_speed: 0.2", "quick.yaml:15:47", "remove approach_speed"),
        ("move: {left: 2.12}", "send: circle.yaml, speed: 0.2", "quick.yaml:15:37", "remove speed"),
        ("bandwidth_rad_s", "bandwith_rad_s", "quick.yaml:7:23", "bandwidth_rad_s"),
        ("right_forearm.mass_kg", "right_forarm.mass_kg", "quick.yaml:9:17", "right_forearm.mass_kg"),
        ("$delay", "$dealy", "quick.yaml:12:48", "delay"),
        ("of: left", "of: lefd", "quick.yaml:13:25", "left"),
        ("error_max.left", "error_max.lift", "quick.yaml:16:32", "error_max.left"),
        ("machine: five_bar", "machine: fivebar", "quick.yaml:2:10", "five_bar"),
        ("{left: 2.12}", "{lift: 2.12}", "quick.yaml:15:17", "left"),
        ("{left: 2.12}", "{left: 9}", "quick.yaml:15:24", "0.174533 to 4.18879 rad"),
        ("wire: delay", "wire: delai", "quick.yaml:12:12", "write delay"),
        ("choice: [0, 1]", "choice: [0, 0.5]", "quick.yaml:12:48", "an integer"),
        ("mass_kg, uniform: [0.7,", "mass_kg, uniform: [-9,", "quick.yaml:9:17", "0 or more"),
        ("plant: right_forearm.mass_kg", "machine: controller.mass", "quick.yaml:9:19", "bandwidth_rad_s"),
        ("{move: {left: 2.12}}", "{send: none.yaml}", "quick.yaml:15:17", "no such file"),
        (
            "controller: {bandwidth_rad_s: 10}",
            "motors: {left_elbow: {max_torque_N_m: 1, max_speed_rad_s: 9}}",
            "quick.yaml:7:3",
            "effort_peak.left_elbow, effort_rms.left_elbow",
        ),
    ],
)
def test_a_mistake_in_the_file_is_shown_at_its_place(
    tmp_path: Path, was: str, written: str, place: str, says: str
) -> None:
    assert was in small_campaign.TEXT
    path = small_campaign.write(tmp_path, small_campaign.TEXT.replace(was, written))
    with pytest.raises(MachineError) as refused:
        read_campaign(path)
    text = str(refused.value)
    assert place in text
    assert says in text


def test_one_run_is_carried_out_and_shown_as_the_campaign_has_recorded_it(tmp_path: Path) -> None:
    path = small_campaign.write(tmp_path)
    ran = command.linkwork("campaign", str(path), "--run", "1", "--json")
    assert ran.returncode == 0, ran.stderr
    told = json.loads(ran.stdout)
    plan = read_campaign(path)
    recorded = json.loads(small_campaign.lines(plan)[1])
    assert list(told["figures"].values()) == recorded["figures"]
    assert command.linkwork("campaign", str(path), "--run", "4").returncode == 2


def test_the_example_shows_what_the_observer_is_worth() -> None:
    example = Path(__file__).parents[2] / "docs" / "examples" / "five_bar_campaign.yaml"
    assert read_tuning(example).plan.runs == 64
    plan = read_campaign(example)
    assert plan.variants == ("as_shipped", "observer")
    worker = RunWorker(plan.recipe)
    shipped, observer = (json.loads(worker.line(plan.task(run))) for run in (50, 51))
    assert (shipped["result"], observer["result"]) == ("SUCCESSFUL", "SUCCESSFUL")
    error = list(plan.figures).index("error_max.x")
    assert observer["figures"][error] < 0.5 * shipped["figures"][error]
