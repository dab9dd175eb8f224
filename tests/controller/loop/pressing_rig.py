"""The polishing machine in one process, close above its table, and how hard its tool really presses."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from linkwork.controller.motion.references.reference import GoalStatus
from linkwork.controller.planning.messages.planner_start import Start
from linkwork.controller.planning.process.planner import plan
from linkwork.machine import Machine, load
from linkwork.machine.catalogue import shipped_path
from linkwork.multibody.contact.compliance import Plane
from linkwork.protocol.laws import LawKind
from tests.controller.loop.in_process import InProcess, Sample

HEAVIER = [f"{link}_link.mass_kg=+20%" for link in ("shoulder", "elbow", "wrist", "lift")]
ENDED = (GoalStatus.SUCCEEDED, GoalStatus.ENDED)


def polisher(folder: Path, *plant_set: str, source: str = "sensor", initial: str = "0.018") -> Machine:
    """The machine, a few millimetres above the table; `plant_set` changes the plant alone."""
    text = shipped_path("scara_polish").read_text(encoding="utf-8")
    path = folder / "scara_polish.yaml"
    path.write_text(text.replace("lift_m: 0.05}", f"lift_m: {initial}}}"), encoding="utf-8")
    machine = load(path, plant_set)
    force = machine.controller.force.with_values(source=source)
    return replace(machine, controller=machine.controller.with_values(force=force))


class PressingRig(InProcess):
    """Planned goals, as the gateway would hand them over, and the plant's own forces."""

    def start(self) -> Start:
        """Where the machine is, and what it holds."""
        work, now = self.controller._now, self.supervisor.executor.now
        names = self.machine.mechanism.coordinate_names
        held = {names[i]: float(x) for i, x in zip(now.index, now.theta, strict=True)}
        return Start.at_pose(self.machine, work.q, None, held)

    def ask(self, method: str, **params: Any) -> Sample:
        """Plans a goal and lets it begin; raises what the planner raises."""
        made = plan(method, params, self.machine, self.start())
        return self.start_goal(made.words, self._orders + 1)

    def at(self, *names: str) -> list[float]:
        """Coordinates as they are estimated."""
        theta = self.controller._now.theta
        return [float(theta[self.machine.mechanism.coordinate_index(name)]) for name in names]

    def pressed_N(self) -> float:
        """How hard the plant's tool really presses on what it touches now."""
        contact = self.machine.plant_mechanism.contacts[0]
        work = self.simulator.work
        gap, rate = work.contact_gap[0], 0.0
        if gap >= 0.0:
            return 0.0
        if isinstance(contact.surface, Plane):
            normal = np.asarray(contact.surface.normal)
        else:
            way = work.point_position[0] - np.asarray(contact.surface.centre_m)
            normal = way / np.linalg.norm(way)
        rate = float(normal @ work.point_velocity[0])
        return max(0.0, -contact.stiffness_N_m * gap - contact.damping_N_s_m * rate)

    def carry_away(self, by_m: np.ndarray) -> None:
        """The surface of the first contact is elsewhere of a sudden (3, in the world), and felt no more."""
        simulator, work = self.simulator, self.simulator.work
        model = work.model.with_parameters(writable=True)
        model.surfaces[0, :3] += by_m
        simulator._arguments = (model, *simulator._arguments[1:])
        simulator._force_sensing.measured[:] = 0.0
        work.model = model

    def to_the_end(self, most_s: float = 20.0) -> tuple[list[Sample], np.ndarray]:
        """Ticks until the goal ends: samples, and the true force at each."""
        samples, forces = [self.tick()], [self.pressed_N()]
        while samples[-1]["goal_status"] not in ENDED:
            samples.append(self.tick())
            forces.append(self.pressed_N())
            assert len(samples) * self.period_s < most_s, "the goal never ended"
        return samples, np.array(forces)

    def touch(self, force: float = 5.0) -> tuple[list[Sample], np.ndarray]:
        """A guarded move down to the table."""
        self.ask("move", target={"n": -0.005}, until_force={"table": force})
        return self.to_the_end()

    def circle(self, force: object = 20.0, seconds: float = 1.2, speed: float = 0.2, **more: Any) -> Sample:
        """A circle of 60 mm that begins where the tool is, while it presses."""
        rate, radius = speed / 0.06, 0.06
        s, t, angle = self.at("s", "t", "angle")
        phase = -0.25 * rate
        centre = [s - radius * np.sin(phase), t - radius * np.cos(phase), 0.0]
        shape = {"center_m": centre, "radius_m": radius, "rate_rad_s": rate, "duration_s": seconds}
        curve = {"circle": shape, "of": ["s", "t"]}
        trajectory = {
            "curve": curve,
            "hold": {"angle": angle},
            "entry": {"ramp_s": 0.5},
            "force": {"table": force},
        }
        return self.ask("send", trajectory={**trajectory, **more})

    @property
    def law(self) -> LawKind:
        """The law at work."""
        return self.supervisor.executor.law
