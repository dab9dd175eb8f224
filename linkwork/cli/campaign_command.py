"""`linkwork campaign`: many simulated runs of a machine and its controller, and their figures of merit."""

import math
import shlex
import sys
import time
from pathlib import Path
from typing import Any

from linkwork.campaigns.analysis import Analysis, analyse, named_values, shown_figures, told_without_indices
from linkwork.campaigns.campaign_page import write_page
from linkwork.campaigns.campaign_plan import CampaignPlan, read_campaign
from linkwork.campaigns.campaign_run import (
    CampaignOptions,
    estimate,
    plain_failures,
    processors,
    run_campaign,
)
from linkwork.campaigns.merit import SUCCESSFUL
from linkwork.campaigns.results_table import ResultsTable
from linkwork.campaigns.run_worker import RunWorker, logged_run
from linkwork.cli.options.study import CampaignCommandOptions
from linkwork.reports.provenance import provenance
from linkwork.terminal.failures import DONE, GOAL_FAILED, Misuse
from linkwork.terminal.output import console, emit, number, run_bar, say, table


def campaign(options: CampaignCommandOptions) -> int:
    """Run `linkwork campaign`."""
    if options.log is not None and options.run is None:
        raise Misuse("--log is for one run: add --run N")
    if options.run is not None:
        others = ("daemons", "on", "workers", "out", "dry_run")
        if without := [f"--{name.replace('_', '-')}" for name in others if getattr(options, name)]:
            raise Misuse(f"--run carries out one run in this process: leave {', '.join(without)} out")
        return _one(read_campaign(options.file), options.run, options.log, as_json=options.as_json)
    plan = read_campaign(options.file, daemons=options.daemons)
    folder = options.out or Path("linkwork-out") / f"campaign-{plan.file.name}{'-daemons' * options.daemons}"
    run = CampaignOptions(folder, options.workers or processors(), options.on)
    if options.dry_run:
        _estimate(plan, run, as_json=options.as_json)
        return DONE
    _carry_out(plan, run, options.file, as_json=options.as_json)
    return DONE


def _carry_out(plan: CampaignPlan, options: CampaignOptions, file: str, *, as_json: bool) -> None:
    begun = time.monotonic()
    with plain_failures():
        with run_bar(console, "runs") as progress:
            path = run_campaign(plan, options, progress)
        results = ResultsTable(path)
        found = analyse(plan, results)
        told = provenance(sys.argv[1:], time.monotonic() - begun)
        page = write_page(plan, results, found, told, options.folder)
    if as_json:
        emit(_summary(plan, found, path, page))
    else:
        _show(plan, found, file)
        say(f"results: {shlex.quote(str(path))}")
        say(f"report: {shlex.quote(str(page))}")


def _estimate(plan: CampaignPlan, options: CampaignOptions, *, as_json: bool) -> None:
    found = estimate(plan, options)
    if as_json:
        emit({"runs": plan.runs, **vars(found), "workers": options.workers})
        return
    samples = f"{len(plan.design)} samples, {len(plan.variants)} variants, {len(plan.trajectories)} motions"
    say(f"{plan.runs} runs ({samples}), {found.left} left")
    told = f"{found.run_s:.3g} s each; about {_duration(found.total_s)} on {options.workers} workers"
    if options.on not in (None, "local"):
        told += " as quick as this computer's: --workers gives another number"
    say(told)


def _duration(seconds: float) -> str:
    """Return a time in seconds, minutes or hours."""
    if seconds < 120.0:
        return f"{seconds:.0f} s"
    return f"{seconds / 60.0:.0f} min" if seconds < 7200.0 else f"{seconds / 3600.0:.1f} h"


def _one(plan: CampaignPlan, number_of_run: int, log: Path | None, *, as_json: bool) -> int:
    """Carry out one run and show it."""
    if number_of_run >= plan.runs:
        raise Misuse(f"--run {number_of_run}: this campaign has runs 0 to {plan.runs - 1}")
    task, worker, path = plan.task(number_of_run), RunWorker(plan.recipe), None
    if log is None:
        merit, end = worker.outcome(task)
    else:
        merit, end, path = logged_run(worker, task, log)
    figures = dict(zip(plan.figures, merit.values, strict=True)) if merit.values else {}
    if as_json:
        parameters = dict(zip(plan.recipe.parameter_names, task.values, strict=True))
        emit(
            {"run": task.run, "variant": task.variant, "trajectory": task.trajectory, "result": merit.result,
             "fault": merit.fault, "text": end.text, "parameters": parameters, "figures": figures,
             "log": None if path is None else str(path)}
        )  # fmt: skip
    else:
        say(f"run {task.run}: {task.variant}, {task.trajectory}; {named_values(plan, task.values)}")
        say(
            merit.result
            + (f", fault {merit.fault}" if merit.fault else "")
            + (f": {end.text}" * bool(end.text))
        )
        rows = [[name, number(value), plan.figures[name]] for name, value in figures.items()]
        if rows:
            console.print(table("figures", ("figure", "value", "unit"), rows))
        if path is not None:
            say(f"log: {shlex.quote(str(path))}")
    return DONE if merit.result == SUCCESSFUL else GOAL_FAILED


def _summary(plan: CampaignPlan, found: Analysis, path: Path, page: Path) -> dict[str, Any]:
    return {
        "runs": plan.runs,
        "groups": [vars(each) | {"results": dict(each.results)} for each in found.groups],
        "figures": [vars(each) for each in found.spreads],
        "worst": [vars(each) for each in found.worst],
        "failed": [vars(each) for each in found.failed],
        "sensitivities_of": {"variant": plan.variants[0], "trajectory": plan.trajectories[0]},
        "sensitivities": [vars(each) for each in found.sensitivities],
        "without_indices": dict(found.without_indices),
        "results": str(path),
        "report": str(page),
    }


def _show(plan: CampaignPlan, found: Analysis, file: str) -> None:
    """Print pass rates, figures, sensitivities, and the commands for the worst cases."""
    rows = [
        [f"{each.variant}, {each.trajectory}", str(each.runs), _share(each.succeeded, each.runs),
         _share(each.passed, each.runs)]
        for each in found.groups
    ]  # fmt: skip
    console.print(table("runs", ("variant, motion", "runs", "succeeded", "passed"), rows))
    shown = shown_figures(plan)
    rows = [
        [f"{each.figure}  {each.variant}, {each.trajectory}", number(each.median), number(each.high),
         number(each.worst), number(plan.file.requirements.get(each.figure)),
         "–" if math.isnan(each.passed) else f"{100 * each.passed:.1f} %"]
        for each in found.spreads
        if each.figure in shown
    ]  # fmt: skip
    titles = ("figure", "median", "95 %", "worst", "required", "passed")
    console.print(table("figures", titles, rows))
    rows = [
        [
            f"{each.figure}  {each.parameter}",
            each.kind,
            f"{each.value:.2f}",
            f"{each.low:.2f} … {each.high:.2f}",
        ]
        for each in found.sensitivities
        if not math.isnan(each.value)
    ]
    if rows:
        title = f"sensitivities of {plan.variants[0]}, {plan.trajectories[0]}"
        console.print(table(title, ("figure, parameter", "kind", "value", "95 % interval"), rows))
    for figure in found.without_indices:
        say(told_without_indices(found, figure))
    for case in (*found.failed, *found.worst):
        unit = plan.figures.get(case.figure, "").removeprefix("1")
        value = "" if math.isnan(case.value) else f" {number(case.value)} {unit}".rstrip()
        say(f"{case.figure}{value}: {case.variant}, {case.trajectory}; {named_values(plan, case.values)}")
        say(f"    linkwork campaign {shlex.quote(file)} --run {case.run}")


def _share(part: int, whole: int) -> str:
    return f"{100.0 * part / whole:.1f} %" if whole else "–"
