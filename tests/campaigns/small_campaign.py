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


FLYWHEEL = """\
name: flywheel
bodies:
  wheel: {mass_kg: 2, com_m: [0, 0, 0], inertia_kg_m2: {xx: 0.01, yy: 0.01, zz: 0.02}}
joints:
  turn:
    {type: revolute, parent: world, child: wheel, at_m: [0, 0, 0], axis: [0, 0, 1],
     limits: {position_deg: [-170, 170], velocity_rad_s: 6, acceleration_rad_s2: 60, jerk_rad_s3: 2000}}
motors: {turn: {max_torque_N_m: 10, max_speed_rad_s: 15, brake_torque_N_m: 6}}
sensors: {turn: {position: {counts_per_turn: 4096}}}
controller: {bandwidth_rad_s: 80, damping_ratio: 0.8}
"""
"""A machine of one joint."""


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
