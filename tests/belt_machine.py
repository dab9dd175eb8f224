"""A five-bar beside a conveyor belt that moves along x, for tests."""

from __future__ import annotations

from pathlib import Path

from linkwork.machine import Machine, load, shipped_path

BELT = """
signals:
  belt_position: {{type: analog, direction: input, unit: m, range: [-10, 10], simulated: "{motion}",
                  noise: {noise}}}
  passed: {{type: digital, direction: input, simulated: belt_position > 0.2}}
  lamp: {{type: digital, direction: output}}
  flow: {{type: analog, direction: output, range: [0, 2]}}
frames:
  belt: {{signal: belt_position, along: [1, 0, 0], speed_m_s: [0.05, 0.15], acceleration_m_s2: 1,
         window_m: [-0.1, 0.12]}}
"""


def write_belt_machine(folder: Path, motion: str = "0.1*time_s", noise: float = 0.0) -> Path:
    """The file of the machine; motion: the belt's displacement (m)."""
    path = folder / "five_bar.yaml"
    path.write_text(shipped_path("five_bar").read_text() + BELT.format(motion=motion, noise=noise))
    return path


def belt_machine(folder: Path, motion: str = "0.1*time_s", noise: float = 0.0) -> Machine:
    """The machine."""
    return load(write_belt_machine(folder, motion, noise))
