"""Motions in linkwork's own recordings: the rows in which the motors were driven."""

import hashlib
from pathlib import Path

import numpy as np

from linkwork.controller.exchange.faults import FaultCode
from linkwork.identification.csv_motion import read_csv_motion
from linkwork.identification.measured_motion import MeasuredMotion, RefusedData
from linkwork.machine import Machine
from linkwork.protocol.codes import Mode
from linkwork.recordings.recorded_run import RecordedRun
from linkwork.recordings.recording import NoRecording, read_recording

_MCAP = b"\x89MCAP"
_HOLD_PERIODS = 1.5
"""From a state to the middle of the period in which the effort of its tick acts."""

_SETTLING_S = 0.2
"""Time after the brakes' release that is left out."""


def read_motion(path: Path, machine: Machine) -> MeasuredMotion:
    """Read a recording of linkwork, or a CSV file.

    Raises MachineError for what cannot be read, RefusedData for one of another machine or with faults.
    """
    try:
        with path.open("rb") as file:
            is_log = file.read(len(_MCAP)) == _MCAP
    except OSError:
        is_log = False
    return _read_log(path, machine) if is_log else read_csv_motion(path, machine)


def _read_log(path: Path, machine: Machine) -> MeasuredMotion:
    recording = read_recording(path)
    recorded = recording.metadata.get("machine", machine.name)
    if recorded != machine.name:
        raise RefusedData("another machine", f"{path} is a recording of {recorded}, not of {machine.name}")
    try:
        run = RecordedRun(recording, machine)
    except NoRecording as error:
        raise RefusedData("another machine", str(error)) from None
    records = run.records
    faults = np.flatnonzero(records["fault"] != 0)
    if len(faults):
        row = int(faults[0])
        name = FaultCode(int(records["fault"][row])).name
        raise RefusedData(
            "faults",
            f"{path} has a fault inside, {name} at {run.time_s[row]:.3f} s; give a recording without faults",
        )
    loads = [order for order in recording.orders.values() if order.name == "payload"]
    if loads:
        raise RefusedData(
            "load",
            f"in {path} the payload of the model was changed; give a recording with one load throughout",
        )
    driven = (records["mode"] == Mode.EFFORT) & (records["fresh"] == 1) & (records["connected"] == 1)
    settled = round(_SETTLING_S / machine.period_s)
    recent = np.convolve(~driven, np.ones(settled + 1), mode="full")[: len(driven)] > 0.5  # brakes were on
    used = np.flatnonzero(driven & ~recent)
    if not len(used):
        raise RefusedData("no efforts", f"in {path} the motors are never driven")
    remarks = []
    if recording.damage:
        remarks.append(recording.damage)
    sensors, motors = machine.sensors, machine.motors
    return MeasuredMotion(
        path.name,
        hashlib.sha256(path.read_bytes()).hexdigest(),
        np.asarray(run.time_s[used], dtype=np.float64),
        {each.joint: np.array(records["q_measured"][used, k]) for k, each in enumerate(sensors)},
        {each.joint: np.array(records["effort"][used, k]) for k, each in enumerate(motors)},
        hold_s=_HOLD_PERIODS * machine.period_s,
        start=np.array(records["q"][used[0]]),
        remarks=tuple(remarks),
    )
