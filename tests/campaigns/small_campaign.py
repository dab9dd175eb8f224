"""A campaign of quick runs, for the tests of campaigns."""

from __future__ import annotations

from pathlib import Path

from linkwork.campaigns.campaign_plan import CampaignPlan, read_campaign
from linkwork.campaigns.run_worker import RunWorker

TEXT = """\
name: quick
machine: five_bar
seed: 5
sampling: {method: latin_hypercube, samples: 2}
variants:
  shipped: {}
  slow: {controller: {bandwidth_rad_s: 10}}
parameters:
  mass: {plant: right_forearm.mass_kg, uniform: [0.7, 0.9], unit: kg}
  delay: {choice: [0, 1], unit: ticks}
faults:
  - {wire: delay, direction: states, by_ticks: $delay}
  - {sensor: noise, of: left, std_rad: 1.0e-6}
trajectories:
  there: {move: {left: 2.12}}
requirements: {error_max.left: 0.01}
"""


def write(folder: Path, text: str = TEXT) -> Path:
    path = folder / "quick.yaml"
    path.write_text(text)
    return path


def planned(folder: Path, text: str = TEXT) -> CampaignPlan:
    return read_campaign(write(folder, text))


def lines(plan: CampaignPlan) -> list[bytes]:
    """The results of all runs, carried out in this process."""
    worker = RunWorker(plan.recipe)
    return [worker.line(plan.task(run)) for run in range(plan.runs)]
