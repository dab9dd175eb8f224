"""The daemons of a rig and the client of its controller: the requests of a test that do not move the
machine."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import cached_property
from typing import Any

from linkwork.client.robot import Robot
from linkwork.machine import Machine, load
from linkwork.protocol.errors import NobodyThere, RequestError
from linkwork.protocol.results import StateResult
from linkwork.rig.collected import TestFindings
from linkwork.rig.rig_daemons import Daemons
from linkwork.rig.rig_faults import Entries, FaultDesk, listed
from linkwork.rig.rig_options import NONE, RigOptions

ELSEWHERE = 0.05
"""rad or m: so far from its place at home a joint is in another assembly."""


class AttachedRig:
    """Plant and controller of one machine, started here or elsewhere, and what both say.

    machine: the file, loaded. options: how the session was asked for. findings: of the test under way.
    `introduce` is called whenever daemons are there for the first time.
    """

    def __init__(self, options: RigOptions, introduce: Callable[[AttachedRig], None]) -> None:
        self.options = options
        self.machine: Machine = load(options.config)
        self.daemons = Daemons(self.machine, options)
        self.findings: TestFindings | None = None
        self.renewals: list[str] = []
        """Why daemons were restarted, each time."""
        self._introduce = introduce
        self._robot: Robot | None = None
        self._faults: FaultDesk | None = None
        self._home: dict[str, float] = {}
        self._pose: dict[str, float] = {}
        self._outputs: dict[str, bool | float] = {}

    @property
    def name(self) -> str:
        """The machine's name."""
        return self.machine.name

    @property
    def period_s(self) -> float:
        """The controller's period."""
        return self.machine.controller.period_s

    @property
    def pace(self) -> str:
        """Pace: lockstep, device or host."""
        if self.daemons.owns_controller or self.options.controller == NONE:
            return self.options.pace
        return self._described_pace

    @cached_property
    def _described_pace(self) -> str:
        return self.robot.describe()["pace"]

    @property
    def robot(self) -> Robot:
        """The client of the controller, with the lease and every request of the protocol."""
        if self._robot is None:
            self.start()
        assert self._robot is not None, "this rig has no linkwork controller"
        return self._robot

    @property
    def state(self) -> StateResult:
        """State of the machine."""
        return self.robot.state

    @property
    def positions(self) -> dict[str, float]:
        """Return the positions of all coordinates, rad or m, as the controller knows them."""
        state = self.state
        return {**state["q"], **state["coordinates"]}

    @property
    def home(self) -> dict[str, float]:
        """Home positions of the goal coordinates, rad or m: those at which the rig was found."""
        if not self._home:
            state, positions = self.state, self.positions
            self._pose = dict(state["q"])
            self._outputs = {each.name: state["signals"][each.name] for each in self.machine.outputs}
            self._home = {name: positions[name] for name in self.machine.controller.goal_coordinates}
        return dict(self._home)

    @property
    def changed_outputs(self) -> dict[str, bool | float]:
        """Outputs that are not as they were when the rig was found, with the values that they had then."""
        now = self.state["signals"] if self._outputs else {}
        return {name: value for name, value in self._outputs.items() if now[name] != value}

    def unit(self, coordinate: str) -> str:
        """rad or m."""
        at = self.machine.mechanism.coordinate_names.index(coordinate)
        return "rad" if self.machine.coordinates[at].is_angle else "m"

    def cannot_inject(self, kind: str = "") -> str:
        """Why faults of this kind cannot be injected; "" where they can."""
        if self.daemons.plant is None and not self.daemons.owns_plant:
            return "faults are injected at the plant, whose endpoint is unknown: add --plant ENDPOINT"
        return "" if self.daemons.owns_plant else self._desk.cannot(kind)

    def inject(self, entries: Entries = (), /, **entry: Any) -> list[str]:
        """Put faults into the plant, from the next tick on or as they say; return their names.

        Entries of a time line, or one in keywords: `rig.inject(sensor="bias", of="left", by_rad=0.01)`.
        `run(inject=…)` counts their `after_s` from the goal's beginning. Raises InjectionRefused.
        """
        return self._desk.give([*listed(entries), *([entry] if entry else [])], None)

    def inject_from(self, entries: Entries, device_tick: int) -> None:
        """Inject faults whose `after_s` counts from this tick of the device."""
        self._desk.give(listed(entries), device_tick)

    @property
    def injected(self) -> list[dict[str, Any]]:
        """Faults injected since `clear`, as reported by the plant, oldest first."""
        return self._desk.reports() if self._faults is not None else []

    def clear(self) -> None:
        """End all injected faults and forget them."""
        if self._faults is not None or (not self.daemons.owns_plant and self.daemons.plant is not None):
            self._desk.clear()

    @property
    def _desk(self) -> FaultDesk:
        if self._faults is None:
            self.start()
            assert self.daemons.plant is not None, self.cannot_inject()
            self._faults = FaultDesk(self.daemons.plant, self.machine.plant.period_s, self.options.seed)
        return self._faults

    def start(self) -> None:
        """Start and connect what is missing. Raises RigFailed, NobodyThere."""
        if not self.daemons.started:
            self.daemons.start()
        if self._robot is None and self.daemons.requests is not None:
            robot = Robot(endpoint=self.daemons.requests)
            robot.__enter__()
            self._robot = robot
            self._introduce(self)

    def disconnect(self) -> None:
        """End the client; the daemons stay."""
        if self._robot is not None:
            with suppress(NobodyThere, RequestError):
                self._robot.__exit__(None, None, None)
            self._robot = None

    def renew(self, why: str) -> None:
        """End the daemons that the rig started; they are started again when needed. why: for the report."""
        self.renewals.append(why)
        self.close()
        self.daemons = Daemons(self.machine, self.options)

    @property
    def elsewhere(self) -> str:
        """A joint that is not where it was at home, though the goal coordinates are: another assembly."""
        return self._away_from_home(self.state["q"])

    def _away_from_home(self, here: Mapping[str, float]) -> str:
        """The first joint that is not where it was at home, "" where none is."""
        for limits in self.machine.joints:
            if limits.name not in here:
                continue
            away = here[limits.name] - self._pose.get(limits.name, here[limits.name])
            if limits.is_angle:
                away -= 2.0 * math.pi * round(away / (2.0 * math.pi))
            if abs(away) > ELSEWHERE:
                return limits.name
        return ""

    def close(self) -> None:
        """End the daemons that were started."""
        self.disconnect()
        if self._faults is not None:
            self._faults.close()
            self._faults = None
        self.daemons.close()
