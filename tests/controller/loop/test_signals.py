"""Signals in the tick: orders, reactions in the tick of their cause, connections, and the log's channels."""

from __future__ import annotations

import numpy as np
import pytest

from linkwork.controller.exchange.faults import FaultCode
from linkwork.controller.exchange.named_signals import read_condition
from linkwork.controller.exchange.orders import Disable, EmergencyStop, OrderOutcome, SetOutputs
from linkwork.controller.exchange.records import layout_for
from linkwork.controller.gateway.records.messages import Messages
from linkwork.controller.supervision.state_machine import State
from linkwork.machine import Machine
from linkwork.protocol.codes import DeviceFault, DeviceStatus
from linkwork.protocol.errors import RequestError
from linkwork.protocol.link import MOTOR_FAULT
from tests.controller.loop.in_process import InProcess
from tests.signal_machine import signal_machine

GRIPPER, LAMP, FLOW = range(3)


@pytest.fixture(scope="module")
def machine(tmp_path_factory: pytest.TempPathFactory) -> Machine:
    return signal_machine(tmp_path_factory.mktemp("machine"))


@pytest.fixture
def run(machine: Machine) -> InProcess:
    made = InProcess(machine)
    made.tick()
    return made


def test_an_order_acts_at_its_tick_and_is_in_force_at_the_next(run: InProcess) -> None:
    sample = run.order(SetOutputs(((GRIPPER, 1.0), (FLOW, 2.0))))
    assert sample["order_outcome"] == OrderOutcome.DONE
    assert sample["output_command"].tolist() == [1.0, 0.0, 2.0]
    assert sample["output"].tolist() == [0.0, 0.0, 0.5]
    assert run.supervisor.busy, "lockstep time runs on until the effect is in a record"
    assert run.tick()["output"].tolist() == [1.0, 0.0, 2.0]
    run.tick()
    assert not run.supervisor.busy
    assert run.order(SetOutputs(((GRIPPER, 1.0),)))["order_outcome"] == OrderOutcome.NOTHING_TO_DO


REFUSED = (
    ((GRIPPER, 0.5),),
    ((FLOW, 2.6),),
    ((FLOW, np.nan),),
    ((3, 1.0),),
    ((GRIPPER, 1.0), (FLOW, -1.0)),
)


@pytest.mark.parametrize("pairs", REFUSED)
def test_a_value_that_a_signal_cannot_have_changes_none(
    run: InProcess, pairs: tuple[tuple[int, float], ...]
) -> None:
    sample = run.order(SetOutputs(pairs))
    assert sample["order_outcome"] == OrderOutcome.REFUSED_VALUE
    assert sample["output_command"].tolist() == [0.0, 0.0, 0.5]


def test_outputs_react_in_the_tick_of_a_fault_and_of_an_emergency_stop(run: InProcess) -> None:
    run.enable()
    run.order(SetOutputs(((GRIPPER, 1.0),)))
    run.inputs.device_status = int(DeviceStatus.FAULT)
    run.inputs.device_fault = int(DeviceFault.DRIVE)
    sample = run.tick()
    assert sample["fault"] == FaultCode.DEVICE_FAULT
    assert sample["output_command"].tolist() == [1.0, 1.0, 0.0], "the gripper keeps its part"


def test_outputs_react_to_an_emergency_stop(run: InProcess) -> None:
    run.enable()
    assert run.order(EmergencyStop())["output_command"].tolist() == [0.0, 1.0, 0.0]
    sample = run.order(SetOutputs(((LAMP, 0.0), (GRIPPER, 1.0))))
    assert (sample["state"], sample["output_command"].tolist()) == (State.ESTOP, [1.0, 0.0, 0.0])


def test_disabling_opens_the_gripper_once_the_machine_is_braked(run: InProcess) -> None:
    run.enable()
    run.order(SetOutputs(((GRIPPER, 1.0), (FLOW, 2.0))))
    run.order(Disable())
    samples = run.until(lambda sample: sample["state"] == State.INACTIVE)
    assert [each["output_command"][GRIPPER] for each in samples] == [1.0] * (len(samples) - 1) + [0.0]
    assert samples[-1]["output_command"][FLOW] == 2.0


def test_a_controller_takes_over_what_is_in_force(machine: Machine) -> None:
    run = InProcess(machine)
    run._signals[:] = 1.0, 1.0, 2.5  # as an earlier controller has left them
    assert run.tick()["output_command"].tolist() == [1.0, 1.0, 2.5]
    run.order(SetOutputs(((FLOW, 1.0),)))
    run.inputs.connected = run.inputs.fresh = False
    run.tick()
    run.inputs.connected = run.inputs.fresh = True
    run._signals[:] = 0.0, 1.0, 0.0  # by the plant's watchdog
    assert run.tick()["output_command"].tolist() == [0.0, 1.0, 0.0]


def test_a_lost_link_reacts_as_well(run: InProcess) -> None:
    run.enable()
    run.order(SetOutputs(((GRIPPER, 1.0),)))
    run.inputs.fresh = run.inputs.connected = False
    sample = run.tick()
    assert sample["fault"] == FaultCode.LINK_LOST
    assert sample["output_command"].tolist() == [1.0, 1.0, 0.0]


def test_without_a_plant_nothing_can_be_set(run: InProcess) -> None:
    run.inputs.fresh = run.inputs.connected = False
    assert run.order(SetOutputs(((GRIPPER, 1.0),)))["order_outcome"] == OrderOutcome.REFUSED_STATE


def test_a_fault_of_one_drive_names_its_motor(run: InProcess, machine: Machine) -> None:
    run.enable()
    run.inputs.motors[MOTOR_FAULT, 2] = int(DeviceFault.OVER_TEMPERATURE)
    run.inputs.motors_told = True
    run.inputs.device_status = int(DeviceStatus.FAULT)
    run.inputs.device_fault = int(DeviceFault.DRIVE)
    record = run.tick().record
    told = Messages(machine).fault(record)
    assert (told["where"], told["text"]) == ("wrist", "the device reports a fault: wrist: over temperature")
    assert record["motor_fault"].tolist() == [0.0, 0.0, float(DeviceFault.OVER_TEMPERATURE), 0.0]
    assert Messages(machine).device(record, "")["motors"]["wrist"]["fault"] == DeviceFault.OVER_TEMPERATURE


def test_inputs_are_in_the_record_and_named_for_people(run: InProcess, machine: Machine) -> None:
    run.simulator.measured.inputs[:] = 1.0, 6.5
    record = run.tick().record
    assert record["input"].tolist() == [1.0, 6.5]
    assert Messages(machine).signals(record) == {
        "gripper": False, "lamp": False, "flow": 0.5, "part_present": True, "pressure": 6.5,
    }  # fmt: skip


def test_conditions_name_a_task_coordinate_by_its_point_too(machine: Machine) -> None:
    layout = layout_for(machine)
    condition = read_condition(machine, layout, "tool.z < 0.1 and tool.yaw > 0", ("until",))
    assert set(condition.names) == {"z", "angle"}
    with pytest.raises(RequestError, match=r"no quantity 'tool\.w'"):
        read_condition(machine, layout, "tool.w < 0.1", ("until",))
