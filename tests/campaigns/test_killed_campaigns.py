"""Campaigns whose workers, or whole command, are killed: nothing recorded is lost, nothing counts twice."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from linkwork.campaigns.campaign_plan import CampaignPlan
from linkwork.campaigns.campaign_run import LocalWorkers, carry_out_on, cluster
from linkwork.campaigns.result_store import FILE, ResultStore
from linkwork.campaigns.results_table import write_table
from tests.campaigns import small_campaign
from tests.waiting import wait_for

pytestmark = pytest.mark.slow


@pytest.fixture
def plan(tmp_path: Path) -> CampaignPlan:
    return small_campaign.planned(tmp_path, small_campaign.TEXT.replace("samples: 2", "samples: 6"))


def _kill_a_worker() -> None:
    """Kill one process that this one has started to carry out runs."""
    started = Path(f"/proc/self/task/{os.getpid()}/children").read_text().split()
    workers = [pid for pid in started if b"spawn_main" in Path(f"/proc/{pid}/cmdline").read_bytes()]
    os.kill(int(workers[0]), signal.SIGKILL)


def test_a_killed_worker_is_replaced_and_its_runs_are_carried_out_again(plan: CampaignPlan) -> None:
    found: list[bytes] = []

    def record(line: bytes) -> None:
        found.append(line)
        if len(found) in (1, 5):
            _kill_a_worker()

    with LocalWorkers(2) as workers:
        workers.carry_out(plan.recipe, [plan.task(run) for run in range(plan.runs)], record)
    assert sorted(found) == sorted(small_campaign.lines(plan))


def test_a_killed_command_continues_to_the_table_of_an_undisturbed_one(
    tmp_path: Path, plan: CampaignPlan
) -> None:
    pytest.importorskip("pyarrow", reason="the table of a campaign is written by pyarrow")
    folder, undisturbed = tmp_path / "killed", tmp_path / "undisturbed"
    argv = [sys.executable, "-m", "linkwork", "campaign", str(plan.path), "--out", str(folder)]
    argv += ["--workers", "2"]
    for recorded in (1, 6):
        command = subprocess.Popen(argv, stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
        wait_for(lambda wanted=recorded: len(_recorded(folder)) >= wanted, "results")
        command.kill()
        command.wait()
    before = _recorded(folder)
    subprocess.run(argv, check=True, capture_output=True)
    after = _recorded(folder)
    assert after[: len(before)] == before
    assert sorted(json.loads(line)["run"] for line in after) == list(range(plan.runs))
    with ResultStore(undisturbed, plan.content, plan.runs) as store:
        for line in small_campaign.lines(plan):
            store.append(line)
        path = write_table(plan, store, undisturbed)
    assert (folder / path.name).read_bytes() == path.read_bytes()


def test_a_cluster_gives_the_same_results(plan: CampaignPlan) -> None:
    pytest.importorskip("distributed", reason="--on needs Dask")
    found: list[bytes] = []
    with cluster("local", 2) as started:
        assert started.threads() == 2
        carry_out_on(started, plan.recipe, map(plan.task, range(plan.runs)), found.append)
    assert sorted(found) == sorted(small_campaign.lines(plan))


def _recorded(folder: Path) -> list[bytes]:
    """The whole lines of the file of results, without its head."""
    path = folder / FILE
    return path.read_bytes().split(b"\n")[1:-1] if path.exists() else []
