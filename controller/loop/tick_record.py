"""The record of a tick: packs inputs and decisions into the words that the loop appends to its ring."""

import struct

import numpy as np

from linkwork.arrays import Floats, Integers
from linkwork.controller.exchange.records import Record
from linkwork.controller.exchange.tick_io import Inputs, Outputs
from linkwork.controller.motion.references.reference import Follow
from linkwork.controller.supervision.supervisor import Supervisor
from linkwork.multibody import Workspace
from linkwork.multibody.kernels.compiling import kernel, part
from linkwork.protocol.laws import LawKind

_NO_LAW = LawKind.NONE
_INTEGERS = struct.Struct("=33q")
_SCALARS = struct.Struct("=13d")
_NO_STREAM = (0, 0, -1, 0.0, 0.0)


@part
def _append(values: Floats, out: Floats, at: int) -> int:
    """Write values to out from `at` on; return where they end."""
    for i in range(len(values)):
        out[at + i] = values[i]
    return at + len(values)


@kernel
def publish(
    out: Floats,
    estimate: Workspace,
    q_measured: Floats,
    v_measured: Floats,
    effort: Floats,
    device_effort: Floats,
    temperature: Floats,
    index: Integers,
    reference: Floats,
    velocity: Floats,
    moving: bool,
    coordinates: int,
) -> None:
    """Write the record's channels from `q_measured` to `temperature` in their order, but not `law_effort`.

    out: the record's words for these channels. estimate: the workspace with q, v and coordinates. q_measured,
    v_measured (sensors; rad or m, per second); effort, device_effort (motors; N m or N), temperature (motors;
    °C). reference and velocity (k) go to the coordinates `index`; the others are NaN. moving: whether a
    reference exists. coordinates: how many are written; those behind are combinations of the goal.
    """
    q, v, theta = estimate.q, estimate.v, estimate.theta
    at = _append(q_measured, out, 0)
    at = _append(v_measured, out, at)
    at = _append(q, out, at)
    at = _append(v, out, at)
    for i in range(coordinates):
        out[at + i] = theta[i]
    at += coordinates
    for i in range(2 * coordinates):
        out[at + i] = np.nan
    if moving:
        for i in range(len(index)):
            if index[i] < coordinates:
                out[at + index[i]] = reference[i]
                out[at + coordinates + index[i]] = velocity[i]
    at = _append(effort, out, at + 2 * coordinates + len(effort))
    at = _append(device_effort, out, at)
    _append(temperature, out, at)


class TickRecord:
    """Writes one record, tick after tick. `estimate` is the workspace of the estimated state."""

    def __init__(self, record: Record, estimate: Workspace) -> None:
        offsets = record.layout.offsets
        self.record = record
        self.wanted_effort = record.view("law_effort")
        """Effort per motor (N m or N) that the law wants, before limits."""
        at = offsets["task_rank"]
        self.rows = record.floats[at : at + 2 + len(record.view("given_up"))]
        """Rank, smallest singular value and residuals of the rows of goal coordinates (`LawReport`)."""
        self.disturbance = record.view("disturbance")
        self.forces = [record.view(name) for name in ("force", "force_reference", "force_push")]
        self.force_measured = record.view("force_measured")
        motors = len(self.wanted_effort)
        at = offsets["motor_status"]
        self.motors = record.floats[at : at + 3 * motors].reshape(3, motors)
        """Status, fault and mode of each motor."""
        heated = len(record.layout.names["heat"])
        at = offsets["winding_temperature"]
        self.heat = record.floats[at : at + 3 * heated].reshape(3, heated)
        """Temperatures of winding and body, and effort limit, of each motor with a thermal model."""
        self.input, self.output = record.view("input"), record.view("output")
        self.output_command = record.view("output_command")
        self.output_events, self.output_followed = (
            record.view("output_events"),
            record.view("output_followed"),
        )
        self._published = record.floats[offsets["q_measured"] :]
        words = record.floats.data.cast("B")
        self._integers = words[: _INTEGERS.size]
        at = 8 * offsets["time_s"]
        self._scalars = words[at : at + _SCALARS.size]
        self._estimate, self._coordinates = estimate, len(record.view("coordinate"))

    def write(
        self,
        tick: int,
        inputs: Inputs,
        outputs: Outputs,
        s: Supervisor,
        gains: tuple[float, float],
    ) -> None:
        """Write what every machine publishes.

        s: the supervisor. gains: bandwidth (rad/s) and damping ratio of the error dynamics.
        """
        executor = s.executor
        motion, goal = executor.motion, executor.goal_state
        path_s = path_rate = path_length = 0.0
        if isinstance(motion, Follow):
            path_s, path_rate, _ = motion.path.here()
            path_length = motion.block.duration_s
        moving = s.moving
        state, held_back, held_index, offset_s, buffered_s = _NO_STREAM
        if (stream := executor.stream) is not None:
            state, held_back, held_index = stream.state, stream.limiter.held_back, stream.limiter.held_index
            offset_s, buffered_s = stream.clock_offset_s, stream.buffered_s
        point, order = inputs.set_point, inputs.order
        _INTEGERS.pack_into(
            self._integers, 0,
            tick, inputs.device_tick, s.state, s.brakes.phase, outputs.mode,
            executor.law if moving else _NO_LAW,
            goal.id, goal.status, goal.code, goal.coordinate, goal.slots_in_use,
            goal.replaced, goal.replaced_code, goal.until_met,
            s.order_id, s.order_outcome, 0 if order is None else order.id,
            0 if point is None else point.number, state, held_back, held_index,
            s.pending.authority, s.pending.authority_end,
            s.fault.code, s.fault.index, s.fault.tick, executor.limited,
            inputs.device_status, inputs.device_fault,
            inputs.lost_in_a_row, inputs.lost_total, inputs.connected, inputs.fresh,
        )  # fmt: skip
        _SCALARS.pack_into(
            self._scalars, 0,
            inputs.time_s, path_s, path_rate, path_length,
            goal.value, goal.limit, s.fault.value, s.fault.limit, offset_s, buffered_s, inputs.loss_ratio,
            *gains,
        )  # fmt: skip
        reference = executor.now
        publish(
            self._published, self._estimate, inputs.q_measured, inputs.v_measured, outputs.effort,
            inputs.device_effort, inputs.temperature, reference.index, reference.theta, reference.velocity,
            moving, self._coordinates,
        )  # fmt: skip
