"""Goals: planned by the worker, handed to the loop whole, answered when the loop has taken them.

A goal that takes over from another one is planned from a point of that one's path a little ahead. When the
planner was too slow for it, or the speed changed meanwhile, the loop says so and the goal is planned again.
"""

from dataclasses import replace
from typing import Any

import numpy as np

from linkwork.controller.exchange.orders import NOW, After, OrderOutcome, Retime, Splice, StartGoal
from linkwork.controller.gateway.gateway import Gateway
from linkwork.controller.gateway.goals.goal_queue import Handed, junction
from linkwork.controller.gateway.goals.payload_change import rewalk, start_of
from linkwork.controller.gateway.order_queue import Asked, OrderEffect
from linkwork.controller.gateway.records.messages import UNDER_WAY, in_motion
from linkwork.controller.gateway.requests.call import Answering, Call, PendingResult, caught, run_steps
from linkwork.controller.gateway.requests.order_outcomes import (
    busy,
    effect_map,
    not_homed,
    refusal,
    wrong_state,
)
from linkwork.controller.motion.references.reference import GoalStatus
from linkwork.controller.planning.messages.planner_messages import (
    MachineState,
    PlannedGoal,
    PlanResult,
    Verdict,
)
from linkwork.controller.planning.walk.path_poses import poses_map
from linkwork.controller.supervision.brakes import Phase
from linkwork.controller.supervision.state_machine import State
from linkwork.protocol.codes import DeviceStatus, Feature, RequestCode, ResultCode
from linkwork.protocol.errors import RequestError
from linkwork.protocol.request_messages import pack_notification
from linkwork.protocol.results import GoalAccepted

ANSWER_WITHIN_S = 10.0
MOST_TRIES = 8
AHEAD_S = 0.1
"""How far ahead a goal takes over from another one at the first try; each further try doubles it, up to
MOST_AHEAD_S.
"""
MOST_AHEAD_S = 3.0
AGAIN_S = 0.05


class GoalRequest:
    """A request for motion, from its arrival to its answer."""

    def __init__(self, gateway: Gateway, call: Call) -> None:
        self.gateway, self.call = gateway, call
        self.slot = -1
        self._before: Handed | None = None
        self._tries = self._loads = self._authority = 0
        at_tick = call.at_tick
        self._scheduled = at_tick is not None and at_tick > gateway.tick
        self._takes_over = call.method in ("append", "speed") or call.request.replace

    def steps(self) -> Answering:
        """Plan the goal, hand it to the loop, and answer.

        All is repeated where the loop could not take the goal over in time.
        """
        gateway, call = self.gateway, self.call
        self._prepare()
        try:
            while True:
                params = bytes(call.request.params)
                plan: PlanResult = yield gateway.planning.plan(call.method, params, self._start, self.slot)
                assert isinstance(plan, PlannedGoal), "only `check` has a verdict"
                goal, waits, taken = self._hand_over(plan)
                if waits:
                    call.answer(self._answer(goal, plan, self._expected_tick(plan)))
                effect: OrderEffect | RequestError = yield from caught(taken)
                if isinstance(effect, OrderEffect) and effect.outcome >= 0:
                    gateway.planning.free_slot(self.slot)
                    return self._taken(goal, plan, effect)
                if isinstance(effect, OrderEffect):
                    if not isinstance(plan.begin, Retime):
                        gateway.goal_queue.drop(goal)
                    if self._tries_again(effect):
                        yield gateway.pause(AGAIN_S)
                        if gateway.latest is not None:
                            check_able(gateway, call, takes_over=True)
                        continue
                    effect = refusal(call.method, effect, gateway.wording, gateway.host.link_text)
                if waits and not isinstance(plan.begin, Retime):
                    gateway.goal_refused(goal, effect, call.requester)
                raise effect
        except RequestError:
            gateway.planning.free_slot(self.slot)
            raise

    def _prepare(self) -> None:
        """Check what needs no planning, and take a slot."""
        gateway, call = self.gateway, self.call
        if call.at_tick is None:
            check_able(gateway, call, takes_over=self._takes_over)
        gateway.borrow(call)
        if self._scheduled:
            gateway.order_queue.refuse_if_full(call.owner, goal=True)
        self._authority = gateway.order_queue.authority
        in_use = int(gateway.latest["goal_slots"]) if gateway.latest is not None else 0
        self.slot = gateway.planning.take_slot(in_use)

    def _start(self) -> MachineState:
        """Start state of the goal at the time when the planner takes it up."""
        gateway, at_tick = self.gateway, self.call.at_tick
        self._loads = gateway.tuning.loads
        self._before = self.goal_before() if self._takes_over else None
        start = start_of(gateway)
        if self._before is None:
            return start
        ahead_s = min(AHEAD_S * 2.0**self._tries, MOST_AHEAD_S)
        when = at_tick if self._scheduled else None
        period_s = gateway.machine.period_s
        return replace(start, before=junction(self._before, gateway.latest, ahead_s, when, period_s))

    def goal_before(self) -> Handed | None:
        """The goal that it takes over from, follows, or speeds up."""
        gateway, record = self.gateway, self.gateway.latest
        chain, at_tick = gateway.goal_queue, self.call.at_tick
        if self.call.method == "append":
            return chain.last(record)
        waiting = chain.waiting(at_tick) if self._scheduled and at_tick is not None else None
        return waiting or chain.running(record)

    def _hand_over(self, plan: PlannedGoal) -> tuple[int, bool, PendingResult[OrderEffect]]:
        """Hand it to the loop, unless the client disconnected during the planning.

        Return its number, whether it waits for a tick or another goal, and its effect.
        """
        gateway, call = self.gateway, self.call
        told = pack_notification("goal.planned", {"duration_s": plan.duration_s})
        if not call.server.send(call.peer, told):
            raise RequestError(RequestCode.NOT_OWNER, "the client has disconnected; nothing moves")
        call.check_role()
        if not gateway.still_owner(call):
            raise RequestError(ResultCode.LEASE_LOST, f"not started: the lease of {call.owner} has ended")
        if plan.actions is not None and plan.actions["uses_signals"]:
            need_signals(gateway)
        begin, at_tick = plan.begin, call.at_tick
        goal = begin.before if isinstance(begin, Retime) else gateway.next_goal()
        if not isinstance(begin, Retime):
            q, begins = plan.q or (), self._expected_tick(plan)
            handed = Handed(
                goal,
                self.slot,
                plan.words,
                plan.duration_s,
                q,
                at_tick,
                begins,
                loads=self._loads,
                poses=plan.poses,
                timing=plan.report.get("timing"),
            )
            gateway.goal_queue.hand(handed)
            if plan.actions is not None:
                gateway.records.reports.plan(goal, plan.actions)
        joins = isinstance(begin, Splice) and call.method == "append"
        waits = self._scheduled or isinstance(begin, After) or joins
        when = NOW if at_tick is None else at_tick
        taken: PendingResult[OrderEffect] = PendingResult()
        gateway.order_queue.place(
            StartGoal(self.slot, plan.words, plan.checksum, goal, begin, at_tick=when),
            taken,
            now_ns=gateway.now_ns,
            timeout_s=None if waits else ANSWER_WITHIN_S,
            leased=True,
            authority=self._authority,
            asked=Asked(call.method, call.owner, call.requester),
        )
        return goal, waits, taken

    def _expected_tick(self, plan: PlannedGoal) -> int:
        """When a goal that waits is to begin, as far as is known."""
        record, at_tick = self.gateway.latest, self.call.at_tick
        if self._scheduled and at_tick is not None:
            return at_tick
        period_s, before = self.gateway.machine.period_s, self._before
        if record is None or before is None:
            return self.gateway.tick
        if not before.begun:
            return before.begins + round(before.duration_s / period_s)
        begin = plan.begin
        until = before.duration_s if isinstance(begin, After) else 0.0
        if isinstance(begin, Splice):
            until = begin.s
        left_s = max(0.0, until - float(record["path_s"])) / max(float(record["path_rate"]), 1e-3)
        return int(record["tick"]) + round(left_s / period_s)

    def _tries_again(self, effect: OrderEffect) -> bool:
        """Whether it is planned again, from a point further ahead."""
        again = effect.outcome is OrderOutcome.REFUSED_SPLICE and self.call.method != "append"
        if not again or self._scheduled or self._tries >= MOST_TRIES:
            return False
        self._tries += 1
        return True

    def _taken(self, goal: int, plan: PlannedGoal, effect: OrderEffect) -> dict[str, Any]:
        """Note that the loop has taken it; return the answer."""
        gateway, tick = self.gateway, int(effect.record["tick"])
        if isinstance(plan.begin, Retime):
            gateway.goal_queue.retime(goal, self.slot, plan.words, plan.duration_s, plan.begin.speed)
            self._look_again(goal)
            return self._answer(goal, plan, tick, effect)
        gateway.goal_queue.begin(goal)
        self._look_again(goal)
        gateway.memory.accept(self._accepted(goal, plan, tick), self.call.requester)
        return self._answer(goal, plan, tick)

    def _look_again(self, goal: int) -> None:
        """A goal that was planned before the machine's load changed is walked through again."""
        gateway = self.gateway
        if self._loads != gateway.tuning.loads:
            run_steps(rewalk(gateway, gateway.goal_queue.known(goal), gateway.tuning.payloads))

    def _accepted(self, goal: int, plan: PlannedGoal, tick: int) -> GoalAccepted:
        return {
            "goal": goal,
            "method": self.call.method,
            "owner": self.call.owner,
            "tick": tick,
            "duration_s": plan.duration_s,
            "coordinates": list(plan.coordinates),
            "report": plan.report,
        }

    def _answer(
        self, goal: int, plan: PlannedGoal, tick: int, effect: OrderEffect | None = None
    ) -> dict[str, Any]:
        if not isinstance(plan.begin, Retime):
            return dict(self._accepted(goal, plan, tick)) | {"full_speed_s": list(plan.full_speed_s)}
        known = {"tick": tick, "state": self.gateway.state_name, "text": ""}
        if effect is not None:
            known = effect_map("speed", effect)
        return known | {"goal": goal, "fraction": plan.begin.speed, "limited": plan.limited}


def undertake(gateway: Gateway, call: Call) -> Answering:
    """`move`, `send`, `append`: plan, then hand over."""
    if call.method == "move":
        call.params()  # small: a wrong field is refused here, before anything is borrowed
    return GoalRequest(gateway, call).steps()


def faster(gateway: Gateway, call: Call) -> Answering | None:
    """Check `speed` beyond the admitted speed of the goal under way by a walk along its path. None where
    there is no such goal.
    """
    undertaking = GoalRequest(gateway, call)
    return undertaking.steps() if undertaking.goal_before() is not None else None


def need_signals(gateway: Gateway) -> None:
    """Refuse requests that need signals where the plant carries none."""
    carried = gateway.host.reported("features")
    if carried is not None and Feature.SIGNALS not in carried:
        text = "the plant does not carry signals: its welcome does not list this feature"
        raise RequestError(RequestCode.UNSUPPORTED, text)


def check(gateway: Gateway, call: Call) -> Answering:
    """`check`: walk through it, and say what would come of it."""
    params = bytes(call.request.params)
    verdict: PlanResult = yield gateway.planning.plan(
        call.method, params, lambda: start_of(gateway), requester=call.requester
    )
    assert isinstance(verdict, Verdict), "`check` plans no goal"
    return verdict.content


def path(gateway: Gateway, call: Call) -> None:
    """`path`: poses along the path of the active goal, from the walk that admitted it."""
    call.params()
    known = gateway.goal_queue.running(gateway.latest)
    poses = np.zeros((0, 1))
    if known is not None and known.poses:
        poses = np.frombuffer(known.poses).reshape(-1, 1 + gateway.machine.mechanism.nq).copy()
        poses[:, 0] *= known.duration_s / max(poses[-1, 0], 1e-9)  # `speed` may have changed its time
    goal, duration_s = (None, 0.0) if known is None else (known.goal, known.duration_s)
    timing = {} if known is None or known.timing is None else {"timing": known.timing}
    call.answer({"goal": goal, "duration_s": duration_s, "poses": poses_map(poses), **timing})


def check_able(gateway: Gateway, call: Call, *, takes_over: bool) -> None:
    """Refuse before planning any request that the loop would refuse after it."""
    record = gateway.latest
    if record is None:
        raise RequestError(RequestCode.NO_PLANT, f"`{call.method}` needs a plant: {gateway.host.link_text}")
    state, phase = State(int(record["state"])), Phase(int(record["phase"]))
    if state is not State.ACTIVE or phase is not Phase.RELEASED:
        raise wrong_state(call.method, record, gateway.wording)
    if not int(record["device_status"]) & DeviceStatus.HOMED:
        raise not_homed(call.method)
    status = int(record["goal_status"])
    if in_motion(record) and not (takes_over and status in UNDER_WAY and status != GoalStatus.STOPPING):
        raise busy(int(record["goal_id"]) if status in UNDER_WAY else None)


HANDLERS = {"move": undertake, "send": undertake, "append": undertake, "check": check, "path": path}
