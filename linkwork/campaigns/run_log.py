"""The log of one run, in the daemons' own format: for `linkwork plot`, `replay`, `animate` and `export`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linkwork.arrays import Floats
from linkwork.campaigns.campaign_plan import RunTask, patched_text
from linkwork.campaigns.in_process import RunEnd
from linkwork.campaigns.merit import Merit
from linkwork.campaigns.run_worker import RunWorker
from linkwork.controller.exchange.orders import Order
from linkwork.controller.exchange.records import layout_for
from linkwork.controller.gateway.records.event_detection import EventDetector
from linkwork.controller.gateway.records.log_segment import LogSource, Segment
from linkwork.controller.gateway.records.logged_orders import arrival_events
from linkwork.controller.gateway.records.messages import Messages
from linkwork.machine import Machine
from linkwork.protocol.codes import Pace
from linkwork.terminal.failures import Misuse


def logged_run(worker: RunWorker, task: RunTask, folder: Path) -> tuple[Merit, RunEnd, Path | None]:
    """Carry out a run and write its log; return its figures, its end, and the path of the log.

    A run whose machine cannot be built has no log.

    Raises Misuse where the log cannot be written, or exists.
    """
    tables: list[NDArray[Any]] = []
    merit, end = worker.outcome(task, lambda table, _: tables.append(table.copy()))
    if not tables:
        return merit, end, None
    path = folder / f"run-{task.run}.mcap"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        _write(worker.machine(task), tables, end.orders, path)
    except FileExistsError:
        raise Misuse(f"{path} exists: remove it, or give another folder with --log") from None
    except OSError as error:
        raise Misuse(f"--log {folder}: {error.strerror}") from None
    return merit, end, path


def _write(
    machine: Machine,
    tables: Sequence[NDArray[Any]],
    orders: Sequence[tuple[Order, Floats | None]],
    path: Path,
) -> None:
    layout = layout_for(machine)
    source = LogSource.for_machine(machine, layout, Pace.LOCKSTEP)
    segment = Segment(path, replace(source, machine_file=patched_text(machine.document, {})))
    given = {order.id: (order, words) for order, words in orders}
    story = EventDetector(layout, Messages(machine))
    for table in tables:
        words = np.ascontiguousarray(table).view(np.float64).reshape(len(table), -1)
        done = 0
        for row in story.rows(words):
            segment.ticks(words[done : row + 1])
            done = max(done, row + 1)
            order, block = given.get(int(table[row]["order_arrived"]), (None, None))
            for name, content in arrival_events(order, table[row], block) if order is not None else ():
                segment.event(name, content)
            for _, name, content in story.detect(row, table[row]):
                segment.event(name, content)
        segment.ticks(words[done:])
    segment.close()
