"""A link that is gone for longer than anybody waits, in lockstep: the machine stops, the link comes back by
the ticks alone, and the same run has the same log.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from linkwork.client.request_client import RequestClient
from linkwork.launch.daemons import Rig
from linkwork.machine import shipped_path
from linkwork.protocol.errors import RequestError
from tests.waiting import wait_for

MOST_S = 60.0
LINE = """
faults:
  - {at_s: 0.2, for_s: 0.3, wire: disconnect}
  - {at_s: 0.75, for_s: 0.05, wire: drop, direction: states}
  - {at_s: 1.1, for_s: 0.1, wire: drop, direction: commands}
"""


LATE = """
faults:
  - {at_s: 0.2, wire: delay, by_ticks: 40}
"""
Ask = Callable[..., Any]


@contextmanager
def in_lockstep(folder: Path, line: str) -> Iterator[tuple[RequestClient, Ask]]:
    """The SCARA with these faults, and who asks its controller; the log is in folder/log."""
    folder.mkdir()
    faults, config = folder / "line.yaml", folder / "scara.yaml"
    faults.write_text(line)
    config.write_text(shipped_path("scara").read_text().replace("plant:\n", "plant:\n  peer_timeout_s: 60\n"))
    controller = [str(config), "--pace", "lockstep", "--log", str(folder / "log")]
    with Rig("scara", [str(config), "--faults", str(faults)], controller) as rig:
        rig.wait_ready(lambda _: None)
        with RequestClient(rig.requests) as client:

            def ask(method: str, **params: Any) -> Any:
                return client.request(method, {"as": "me@test", **params}, timeout_s=MOST_S)

            yield client, ask


def moved(client: RequestClient, ask: Ask, shoulder: float) -> tuple[str, str]:
    """How a move ends that begins when time stands, from whatever state: name and text."""
    wait_for(lambda: ask("state")["time_stands"], "rest")
    ask("recover")
    ask("enable")
    goal = ask("move", target={"shoulder": shoulder})["goal"]
    while (event := client.next_notification(MOST_S)) is not None:
        if event.method == "goal.result" and event.params["goal"] == goal:
            return event.params["name"], event.params["text"]
    raise AssertionError("the move has no end")


def struck(folder: Path) -> tuple[bytes, list[tuple[str, str]]]:
    """The log of four moves, each but the last struck by a fault, and followed by a recovery; their ends."""
    with in_lockstep(folder, LINE) as (client, ask):
        results = [moved(client, ask, shoulder) for shoulder in (1.2, 1.4, 1.2, 0.8)]
        ask("disable")
    (path,) = (path for path in (folder / "log").iterdir() if "flight" not in path.name)
    return path.read_bytes(), results


@pytest.mark.slow
def test_what_is_cut_off_comes_back_at_the_same_tick_each_time(tmp_path: Path) -> None:
    first, results = struck(tmp_path / "one")
    assert [name for name, _ in results] == ["FAULT", "FAULT", "FAULT", "SUCCESSFUL"]
    assert "no fresh state" in results[0][1]
    assert "no fresh state" in results[1][1]
    assert "watchdog" in results[2][1]
    again, _ = struck(tmp_path / "two")
    assert first == again


@pytest.mark.slow
def test_while_all_states_come_too_late_time_stands_and_orders_are_answered(tmp_path: Path) -> None:
    with in_lockstep(tmp_path / "late", LATE) as (client, ask):
        name, text = moved(client, ask, 1.2)
        assert (name, "no fresh state" in text) == ("FAULT", True)
        ended = ask("state")["tick"]
        wait_for(lambda: ask("state")["time_stands"], "rest")
        assert ask("state")["tick"] < ended + 10_000
        with pytest.raises(RequestError, match="no fresh state"):
            ask("recover")
