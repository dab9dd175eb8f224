"""The Python client: a running machine as an object.

    from linkwork import Robot

    with Robot() as robot:
        robot.enable()
        robot.move(shoulder=0.3, elbow=-0.6)
        robot.send({"coordinates": ["lift"], "points": [...]}).wait()

It imports third-party libraries and, of linkwork, only the protocol.
"""

import inspect
import os
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast

from linkwork.client.controller_client import ANSWER_S, ControllerClient
from linkwork.client.goal import Goal
from linkwork.client.request_client import RequestClient
from linkwork.client.stream import Stream
from linkwork.protocol.codes import Pace, RequestCode
from linkwork.protocol.errors import RequestError, spelled
from linkwork.protocol.request_table import REQUESTS, Request
from linkwork.protocol.requests import params_of
from linkwork.protocol.results import (
    Checked,
    ConditionMet,
    EdgesResult,
    InputEdge,
    PathResult,
    RequestEffect,
    Speed,
)
from linkwork.protocol.trajectory import Trajectory, unknown_keys

PLAN_S = 120.0
"""How long a motion may take to be planned; on a fresh computer the planner compiles first."""


class Robot(ControllerClient):
    """A running controller. Use it as a context manager: it holds the lease from `with` to the block's end.

    In a notebook: `robot = Robot().connect()`, and at the end `close`.

    name: the machine's, where several run. endpoint: of the requests, instead of a name. owner: name under
    which the machine moves, `user@host` by default. keys: CURVE keys for a controller that wants them. lease:
    False to look only. take_over: take the lease from a live owner. on_wait: called with a text while the
    client waits for starting daemons: the connection, `enable`, `move` and `send` wait for them.

    A block that ends while the machine moves releases the lease: the machine stops on its path and holds.
    Methods may be called from several threads: a request that would wait for another one has a connection of
    its own.
    """

    def enable(self, *, at_tick: int | None = None) -> RequestEffect:
        """Open the brakes and hold the present position."""
        return self._effect("enable", at_tick=at_tick)

    def confirm_branch(
        self, positions: Mapping[str, float] | None = None, *, at_tick: int | None = None
    ) -> RequestEffect:
        """Confirm the assembly mode that `state` shows, where the sensors cannot determine it.

        positions: values (rad or m) of another mode that the machine is in, by the names in `q` of `state`;
        the estimate begins there. Raises RequestError (INVALID_PARAMS) if the machine does not close near
        them at the measured positions, (WRONG_STATE) while it is enabled.
        """
        pose = None if positions is None else dict(positions)
        return self._effect("confirm_branch", positions=pose, at_tick=at_tick)

    def disable(self, *, at_tick: int | None = None) -> RequestEffect:
        """Stop where something moves, then brake."""
        return self._effect("disable", at_tick=at_tick)

    def stop(self, *, at_tick: int | None = None) -> RequestEffect:
        """Stop on the path, then hold."""
        return self._effect("stop", at_tick=at_tick)

    def estop(self, *, at_tick: int | None = None) -> RequestEffect:
        """Brake immediately and latch. A software stop is no safety function."""
        return self._effect("estop", at_tick=at_tick)

    def reset(self, *, at_tick: int | None = None) -> RequestEffect:
        """Leave the emergency stop."""
        return self._effect("reset", at_tick=at_tick)

    def recover(self, *, at_tick: int | None = None) -> RequestEffect:
        """Leave a fault. Raises RequestError (NOT_CLEARED) with the cause that persists."""
        return self._effect("recover", at_tick=at_tick)

    def law(self, name: str, *, at_tick: int | None = None) -> RequestEffect:
        """Choose the law of an enabled machine at rest, one of `protocol.laws.REST_LAW_NAMES`."""
        return self._effect("law", name=name, at_tick=at_tick)

    def advance(self, ticks: int) -> RequestEffect:
        """Run lockstep time."""
        return cast(RequestEffect, self.request("advance", timeout_s=None, ticks=ticks))

    def pass_time(self, seconds: float) -> None:
        """Let machine time pass: advance lockstep time, which stands otherwise; in real time, sleep."""
        if self._step_s is None:
            known = self.describe()
            self._step_s = known["period_s"] if known["pace"] == Pace.LOCKSTEP else 0.0
        if self._step_s:
            self.advance(max(1, round(seconds / self._step_s)))
        else:
            time.sleep(seconds)

    def move(
        self,
        target: Mapping[str, float] | None = None,
        /,
        *,
        wait: bool = True,
        speed: float = 1.0,
        at_tick: int | None = None,
        until_force: Mapping[str, float] | None = None,
        conflict: str | Mapping[str, Sequence[Sequence[str]]] = "refuse",
        rest: str = "hold",
        metric: str | Mapping[str, Mapping[str, float]] = "mass",
        rows: Mapping[str, Mapping[str, float | str]] | None = None,
        prefer: str | Mapping[str, Mapping[str, float]] | None = None,
        timing: str = "given",
        margin: float = 1.0,
        keep: Mapping[str, Sequence[float] | str] | None = None,
        replace: bool = False,
        **coordinates: float,
    ) -> Goal:
        """A jerk-limited move to rest, by coordinate (rad or m): `move(shoulder=0.3)` or `move({"z": 0.1})`.

        speed: fraction of the velocity limits. wait: until it has ended. at_tick: device tick at which it
        begins. until_force: contact and force (N), `{"table": 5.0}`: the move ends where the contact is felt,
        which is then pressed so hard; it fails where the way ends without. conflict: what yields where
        coordinates contradict each other: `refuse`, `least_squares` or `{"priority": [["x"], ["left"]]}`.
        rest: what motions do that the
        coordinates leave free: `hold`, `least` (the motors do not drive them) or `damp`; metric of `least`:
        `mass`, `motors`, or a symmetric matrix by joint. rows: further coordinates of this goal, linear
        combinations of the machine's: `{"diagonal": {"x": 1, "y": -2}}`. prefer: what damped
        free motions tend to, `{"posture": {"wrist": 0.0}}` or `far_from_singular`. keep: bounds between which
        coordinates stay, `{"elbow": [-1.2, 1.2], "z": "> 0.02"}`. timing: `fastest` moves as fast as
        every limit of the machine admits, with `margin`, the share of each that is used. replace: take over
        from the goal under way, without stopping. Raises RequestError when refused, GoalFailed when it was
        waited for and failed.
        """
        targets = {**(target or {}), **coordinates}
        asked = {"target": targets, "speed": float(speed), "at_tick": at_tick, "replace": replace or None}
        asked |= _shares(conflict, rest, metric, rows, prefer, keep, timing, margin)
        goal = self._goal("move", PLAN_S, **asked, until_force=dict(until_force) if until_force else None)
        if wait:
            goal.wait()
        return goal

    def send(
        self,
        trajectory: Trajectory | Mapping[str, Any],
        *,
        at_tick: int | None = None,
        replace: bool = False,
        approach: bool = False,
    ) -> Goal:
        """Follow a trajectory; return as soon as it is accepted.

        approach: where the machine is not at its beginning, make a jerk-limited move there first, and wait.
        replace: take over from the goal under way without stopping, with its velocity and acceleration; that
        one then ends with REPLACED. Its times count from where it takes over, a tenth of a second ahead.
        Raises RequestError when refused: the message says which sample, which coordinate, by how much, and
        how much slower it would do.
        """
        asked = {"trajectory": _plain(trajectory), "at_tick": at_tick, "replace": replace or None}
        try:
            return self._goal("send", PLAN_S, **asked)
        except RequestError as error:
            if not (approach and {"begin", "present"} <= error.data.keys()):
                raise
            self.move(error.data["begin"])
            return self._goal("send", PLAN_S, **asked)

    def append(self, trajectory: Trajectory | Mapping[str, Any], *, at_tick: int | None = None) -> Goal:
        """Follow a trajectory after the goal under way; return as soon as it is accepted.

        One whose first sample is in motion continues where the present path has that position and velocity,
        without stopping; any other one begins when that goal has succeeded. Raises RequestError, as `send`.
        """
        return self._goal("append", PLAN_S, trajectory=_plain(trajectory), at_tick=at_tick)

    def check(
        self,
        trajectory: Trajectory | Mapping[str, Any] | None = None,
        *,
        target: Mapping[str, float] | None = None,
        speed: float = 1.0,
        conflict: str | Mapping[str, Sequence[Sequence[str]]] = "refuse",
        rest: str = "hold",
        metric: str | Mapping[str, Mapping[str, float]] = "mass",
        rows: Mapping[str, Mapping[str, float | str]] | None = None,
        prefer: str | Mapping[str, Mapping[str, float]] | None = None,
        timing: str = "given",
        margin: float = 1.0,
        keep: Mapping[str, Sequence[float] | str] | None = None,
        poses: int = 0,
    ) -> Checked:
        """Return whether a trajectory would be accepted: `feasible`, and if not, all violations.

        target, speed, conflict, rest, metric, rows, prefer, keep, timing, margin: of a move, in place of a
        trajectory. poses: most poses along the path in the answer, up to 500, to draw it. Raises
        RequestError for one that cannot be judged, as `send` would.
        """
        asked: dict[str, Any] = {"poses": poses or None}
        if trajectory is not None:
            asked["trajectory"] = _plain(trajectory)
        if target is not None:
            asked |= {"target": {name: float(at) for name, at in target.items()}, "speed": float(speed)}
            asked |= _shares(conflict, rest, metric, rows, prefer, keep, timing, margin)
        return cast(Checked, self.request("check", timeout_s=PLAN_S, **asked))

    def path(self) -> PathResult:
        """Return poses along the path of the active goal, to draw it; `goal` is None without one."""
        return cast(PathResult, self.request("path"))

    def jog(
        self,
        velocity: Mapping[str, float] | None = None,
        /,
        *,
        at_tick: int | None = None,
        **coordinates: float,
    ) -> RequestEffect:
        """Move at these velocities (rad/s or m/s) for 0.2 s; repeat it before that, or it slows to rest."""
        velocities = {name: float(value) for name, value in {**(velocity or {}), **coordinates}.items()}
        return self._effect("jog", velocity=velocities, at_tick=at_tick)

    def stream(
        self,
        *coordinates: str,
        rate_hz: float = 100.0,
        delay_s: float | None = None,
        on_stale: str = "hold",
    ) -> Stream:
        """Follow set-points of these coordinates as they come; use the result in a `with` block.

        rate_hz: rate at which they will come, 20 to 1,000 Hz. delay_s: delay of the playback, which absorbs
        jitter; default: three intervals and three periods of the controller. on_stale: without set-points the
        machine comes to rest; "hold": it waits for more, "end": the stream ends. Raises RequestError.
        """
        asked = {"coordinates": list(coordinates), "rate_hz": float(rate_hz), "on_stale": on_stale}
        return Stream(self, self._goal("stream", ANSWER_S, **asked, delay_s=delay_s))

    def pause(self, *, at_tick: int | None = None) -> RequestEffect:
        """Slow the goal to rest on its path and keep it."""
        return self._effect("pause", at_tick=at_tick)

    def resume(self, *, at_tick: int | None = None) -> RequestEffect:
        """Resume the goal after `pause`."""
        return self._effect("resume", at_tick=at_tick)

    def speed(self, fraction: float, *, limit: bool = False, at_tick: int | None = None) -> Speed:
        """Scale the speed of the goal under way, 0 … 2 of its own.

        Above 1 the goal is checked at that speed first. limit: take the largest feasible speed, if that is
        less, and report the limiting quantity; else RequestError (INFEASIBLE) with `largest_speed` in its
        data.
        """
        asked = {"fraction": float(fraction), "limit": limit or None, "at_tick": at_tick}
        return cast(Speed, self.request("speed", timeout_s=PLAN_S, **asked))

    def finish(self, *, at_tick: int | None = None) -> RequestEffect:
        """End the active stream after its last set-point."""
        return self._effect("finish", at_tick=at_tick)

    def preload(self, *, at_tick: int | None = None, **effort: float) -> RequestEffect:
        """Set the internal force of redundant motors (N m or N): `preload(left_elbow=1.5)`."""
        efforts = {name: float(value) for name, value in effort.items()}
        return self._effect("preload", effort=efforts, at_tick=at_tick)

    def switch(self, constraint: str, on: bool, *, at_tick: int | None = None) -> RequestEffect:
        """Close or open a constraint that the machine file calls `switchable`; the machine must hold.

        Returns the correction and impulse of the switch (protocol.results.SwitchReport). Raises RequestError:
        NOT_SWITCHED where the plant refused, UNSUPPORTED where the controller could not run the machine
        afterwards, BUSY in motion.
        """
        return self._effect("switch", constraint=constraint, on=on, at_tick=at_tick)

    def set(
        self, signals: Mapping[str, bool | float | str] | None = None, /, *, at_tick: int | None = None,
        **outputs: bool | float | str,
    ) -> RequestEffect:  # fmt: skip
        """Set output signals, all at one tick: `set(gripper=True)`, `set(glue_flow=0.4)`.

        It works in every state of a machine that has a plant. Raises RequestError (INVALID_PARAMS) for an
        unknown signal or a value that it cannot have: then none changes.
        """
        return self._effect("set", signals={**(signals or {}), **outputs}, at_tick=at_tick)

    def wait(
        self, condition: str | None = None, /, *, within_s: float = 10.0, **signals: bool
    ) -> ConditionMet:
        """Wait until a condition holds: `wait(part_present=True)`, `wait("lift < 0.1 and part_present")`.

        Digital signals, goal coordinates, forces, `JOINT.position`, `JOINT.velocity` and `MOTOR.effort` have
        names in a condition. Raises RequestError: NOT_MET where it does not hold in time.
        """
        parts = [] if condition is None else [f"({condition})" if signals else condition]
        parts += [f"{name}={'on' if on else 'off'}" for name, on in signals.items()]
        asked = {"as": self.owner, "condition": " and ".join(parts), "within_s": float(within_s)}
        with RequestClient(self._connected().endpoint, self._keys) as client:  # does not block other threads
            return cast(ConditionMet, client.request("wait", asked, within_s + ANSWER_S))

    def edges(self, signal: str, after: int = 0) -> list[InputEdge]:
        """Return the latest changes of a digital input, oldest first: those with a number above `after`.

        Each has `number`, `value`, `tick`, `time_s`, and the analog inputs at that tick (`signals`).
        """
        return cast(EdgesResult, self.request("edges", signal=signal, after=after))["edges"]

    def cancel(
        self, goal: int | None = None, *, order: int | None = None, at_tick: int | None = None
    ) -> RequestEffect:
        """Cancel the goal under way, or only this one, by a stop on its path; or instead a pending order."""
        return self._effect("cancel", goal=goal, order=order, at_tick=at_tick)

    def set_gain(
        self,
        *,
        bandwidth_rad_s: float | None = None,
        damping_ratio: float | None = None,
        coordinates: Sequence[str] | None = None,
        position_per_s2: Mapping[str, Mapping[str, float]] | None = None,
        rate_per_s: Mapping[str, Mapping[str, float]] | None = None,
        at_tick: int | None = None,
    ) -> RequestEffect:
        """Change the gains of the error dynamics, within `controller.gain_bounds` of the machine file.

        bandwidth_rad_s: ω; damping_ratio: ζ; None keeps the present one. coordinates: which get them, None:
        all. position_per_s2, rate_per_s: instead, G_P and G_D by two of at most four coordinates, symmetric:
        {"x": {"x": 900, "y": 120}, "y": {"y": 400}}. at_tick: when it takes effect, None: at once. Raises
        RequestError.
        """
        gains = {"bandwidth_rad_s": bandwidth_rad_s, "damping_ratio": damping_ratio, "at_tick": at_tick}
        matrices = {"position_per_s2": position_per_s2, "rate_per_s": rate_per_s}
        return self._effect("set_gain", **gains, coordinates=coordinates, **matrices)

    def payload(
        self,
        point: str,
        mass_kg: float,
        com_m: Sequence[float] = (0.0, 0.0, 0.0),
        inertia_kg_m2: Sequence[float] = (0.0,) * 6,
        *,
        at_tick: int | None = None,
    ) -> RequestEffect:
        """Set the payload at a point, within `controller.payloads` of the machine file.

        com_m: its centre of mass from the point; inertia_kg_m2: xx, yy, zz, xy, xz, yz about it; both in the
        axes of the point's body. 0 kg removes the payload.
        """
        com, moments = [float(each) for each in com_m], [float(each) for each in inertia_kg_m2]
        load = {"mass_kg": float(mass_kg), "com_m": com, "inertia_kg_m2": moments, "at_tick": at_tick}
        return self._effect("payload", point=point, **load)


def _method(method: str, request: Request) -> Callable[..., Any]:
    """A method of `Robot` for a request that has none written here, with the parameters of its row."""
    keyword, missing = inspect.Parameter.KEYWORD_ONLY, inspect.Parameter.empty
    fields = {name: each for name, each in params_of(method).model_fields.items() if name != "owner"}
    parameters = [
        inspect.Parameter(name, keyword, default=missing if field.is_required() else None)
        for name, field in fields.items()
    ]
    signature = inspect.Signature([inspect.Parameter("self", inspect.Parameter.POSITIONAL_ONLY), *parameters])

    def ask(self: Robot, /, **params: Any) -> Any:
        signature.bind(self, **params)
        return self.request(method, **params)

    ask.__name__, ask.__doc__ = method, f"{request.about[0].upper()}{request.about[1:]}."
    ask.__signature__ = signature  # type: ignore[attr-defined]
    return ask


for _name, _request in REQUESTS.items():
    if not hasattr(Robot, _name) and _name not in ("acquire", "release"):  # entering and leaving do these
        setattr(Robot, _name, _method(_name, _request))


def _shares(
    conflict: Any, rest: str, metric: Any, rows: Any, prefer: Any, keep: Any, timing: str, margin: float
) -> dict[str, Any]:
    """Return those of the parameters that are not the default."""
    params = {
        "conflict": conflict, "rest": rest, "metric": metric, "rows": rows, "prefer": prefer, "keep": keep,
        "timing": timing, "margin": float(margin),
    }  # fmt: skip
    default = {"conflict": "refuse", "rest": "hold", "metric": "mass", "timing": "given", "margin": 1.0}
    return {name: value for name, value in params.items() if value != default.get(name)}


def _plain(trajectory: Trajectory | Mapping[str, Any]) -> dict[str, Any]:
    if isinstance(trajectory, Trajectory):
        return trajectory.model_dump(exclude_none=True, by_alias=True)
    if isinstance(trajectory, str | os.PathLike):
        raise TypeError(
            f"a trajectory is a mapping or a Trajectory, not a file's name ({trajectory}); read the file "
            "with linkwork.trajectories.trajectory_file.read_trajectory_file(path).trajectory"
        )
    for place, known in unknown_keys(trajectory):
        where = ("trajectory", *place)
        text = f"{spelled(where)}: there is no such key; there are {', '.join(known)}"
        raise RequestError(RequestCode.INVALID_PARAMS, text, where, {"allowed": known})
    return dict(trajectory)
