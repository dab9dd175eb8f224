"""The answers of `state` and `status`; the state of the machine in one record, as plain data."""

from typing import Any

import numpy as np

from linkwork.controller.exchange.records import RecordLayout, finite
from linkwork.controller.gateway.gateway import Gateway
from linkwork.controller.gateway.records.messages import Messages, limits_named, state_name
from linkwork.machine.checks.rank_gap import rank_decision
from linkwork.protocol.codes import PROTOCOL_VERSION, Feature
from linkwork.protocol.results import DeviceState
from linkwork.version import __version__


def state(gateway: Gateway) -> dict[str, Any]:
    """The answer of `state` (protocol.results.StateResult)."""
    record, wording = gateway.latest, gateway.wording
    common: dict[str, Any] = {
        "pace": gateway.options.pace.value,
        "time_stands": gateway.time_stands,
        "device": _device(gateway),
        "results": gateway.memory.results(),
        "lease": gateway.lease.as_map(gateway.now_ns),
        "pending": [
            {
                "order": one.order,
                "method": one.asked.method,
                "owner": one.asked.owner,
                "at_tick": one.at_tick,
                "goal": one.goal,
            }
            for one in gateway.order_queue.pending
        ],
    }
    if record is None:  # no tick has been counted yet
        return common | {
            "state": "unconfigured", "tick": -1, "device_tick": -1, "time_s": 0.0,
            "q": {}, "v": {}, "coordinates": {}, "forces": {}, "effort": {}, "reactions": {}, "closed": {},
            "signals": {}, "mode": "brake", "law": "none", "goal": None, "stream": None, "fault": None,
            "limited": [], "heat": {},
        }  # fmt: skip
    return common | recorded_state(record, gateway.layout, wording) | {"fault": gateway.fault_of(record)}


def _device(gateway: Gateway) -> DeviceState:
    """The device, as state and status show it."""
    host = gateway.host
    return gateway.wording.device(gateway.connection_record, host.link_text, host.reported("homing"))


def _lacking(gateway: Gateway) -> list[str]:
    """Optional parts of the device link that the plant does not carry."""
    carried = gateway.host.reported("features")
    return [] if carried is None else [each.value for each in Feature if each not in carried]


def status(gateway: Gateway) -> dict[str, Any]:
    """The answer of `status` (protocol.results.StatusResult)."""
    record, statistics, log = gateway.latest, gateway.records.statistics, gateway.log
    return {
        "version": __version__,
        "protocol": PROTOCOL_VERSION,
        "machine": gateway.machine.name,
        "state": gateway.state_name,
        "pace": gateway.options.pace.value,
        "gateway_pid": gateway.host.processes.pid,
        "loop_pid": gateway.host.pid,
        "planner_pid": gateway.planning.pid,
        "planner_ready": gateway.planning.ready,
        "device": dict(_device(gateway))
        | {
            "features": gateway.host.reported("features") or [],
            "lacks": _lacking(gateway),
            "simulation": gateway.host.reported("simulation"),
            "lost_in_a_row": statistics.lost_in_a_row,
            "success_rate": round(statistics.success_rate(), 4),
        },
        "timing": statistics.timing(),
        "real_time": gateway.host.shared.text if gateway.host.shared is not None else "",
        "lease": gateway.lease.as_map(gateway.now_ns),
        "log": str(log.path) if log is not None and log.path is not None else None,
        "log_problem": log.problem if log is not None else "",
        "log_lost": gateway.records.lost + (log.lost if log is not None else 0),
        "telemetry": gateway.broadcast.endpoints[-1],
        "faults": gateway.memory.faults_total,
        "fault": None if record is None else gateway.fault_of(record),
        "law": gateway.machine.controller.law,
        "config": gateway.machine.config_hash,
        "rank_decision": rank_decision(gateway.held),
        "loops_started": gateway.loops_started,
        "planner_restarts": gateway.planning.restarts,
        "twin": None if gateway.twin_watch is None else gateway.twin_watch.twin.as_map(),
    }


def recorded_state(record: np.void, layout: RecordLayout, wording: Messages) -> dict[str, Any]:
    """Return the part of protocol.results.StateResult that a record holds.

    The path of the flight record of a fault is left open.
    """
    table = layout.as_map(record)
    joints = set(layout.names["joint"])
    return {
        "state": state_name(record),
        "tick": table["tick"],
        "device_tick": table["device_tick"],
        "time_s": table["time_s"],
        "q": table["q"],
        "v": table["v"],
        "coordinates": {name: at for name, at in table["coordinate"].items() if name not in joints},
        "forces": _forces(table),
        "closed": {name: bool(on) for name, on in table["closed"].items()},
        "signals": wording.signals(record),
        "effort": table["effort"],
        "reactions": wording.reactions(table),
        "mode": wording.mode(record),
        "law": wording.law(record),
        "goal": wording.progress(record),
        "stream": wording.stream(record),
        "fault": wording.fault(record) if int(record["fault"]) else None,
        "limited": limits_named(int(record["limited"])),
        "heat": wording.heat(record),
    }


def _forces(table: dict[str, Any]) -> dict[str, Any]:
    """Measured and wanted value of each force that goals may name; NaN becomes nil."""
    return {
        name: {"felt": finite(felt), "wanted": finite(table["force_reference"][name])}
        for name, felt in table["force"].items()
    }
