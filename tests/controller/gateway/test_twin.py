"""The digital twin: differences beyond thresholds, its process, its rows in the log."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from mcap.reader import make_reader
from mcap_ros2.decoder import DecoderFactory
from numpy.typing import NDArray

from linkwork.controller.controller_options import GatewayOptions
from linkwork.controller.exchange.records import layout_for
from linkwork.controller.gateway.records.log import Log
from linkwork.controller.gateway.records.log_segment import LogSource
from linkwork.controller.gateway.twin.twin import DigitalTwin
from linkwork.controller.gateway.twin.twin_channels import TwinChannels
from linkwork.controller.gateway.twin.twin_watch import EXCEEDED, OVER, OVER_AFTER_S, Alarm, Alarmed
from linkwork.machine import Machine, load
from tests.plant.twin_rows import moved
from tests.waiting import PATIENCE_S, wait_for


@pytest.fixture(scope="module")
def machine() -> Machine:
    return load("scara")


@pytest.fixture(scope="module")
def words(machine: Machine) -> NDArray[np.float64]:
    """The records of a short move."""
    samples = moved(machine, {"shoulder": float(machine.initial_q[0]) + 0.02}, more_s=0.0)
    return np.frombuffer(b"".join(each.record.tobytes() for each in samples)).reshape(len(samples), -1)


def rows_with(machine: Machine, shares: list[float], *, judged: bool = True) -> NDArray[Any]:
    rows = np.zeros(len(shares), TwinChannels(machine).words.answered)
    rows["time_s"] = 1e-3 * np.arange(len(shares))
    rows["tick"], rows["share"], rows["compared"] = np.arange(len(shares)), shares, 1
    rows["judged"] = judged
    return rows


def ticks_of(found: list[Alarmed], event: str) -> list[int]:
    return [each.content["tick"] for each in found if each.event == event]


@pytest.mark.parametrize("cut", [1, 2, 7, 100])
def test_an_excess_is_told_when_it_comes_and_when_it_is_over_and_acted_upon_when_it_grows(
    machine: Machine, cut: int
) -> None:
    alarm = Alarm(machine)
    shares = [0.5, 1.1, 1.3, 0.9, 1.2, 1.7, 1.6, 2.4, 2.7, 0.7, 1.0, *[0.5] * 400, 1.2, *[0.1] * 10]
    rows = rows_with(machine, shares)
    found = [each for at in range(0, len(rows), cut) for each in alarm.check(rows[at : at + cut])]
    calm = 11 + round(1e3 * OVER_AFTER_S)
    assert ticks_of(found, EXCEEDED) == [1, 411]
    assert ticks_of(found, OVER) == [calm]
    assert [each.content["tick"] for each in found if each.acts] == [1, 5, 8, 10, 411]
    (over,) = (each.content for each in found if each.event == OVER)
    assert (over["since_s"], over["time_s"]) == (pytest.approx(1e-3), pytest.approx(1e-3 * calm))
    assert "agree again" in over["text"]


def test_what_is_not_judged_is_told_by_nobody(machine: Machine) -> None:
    assert Alarm(machine).check(rows_with(machine, [0.1, 5.0], judged=False)) == []


def test_an_event_names_the_motor_its_value_and_its_threshold(machine: Machine) -> None:
    machine = replace(machine, twin=machine.twin.with_values(on_exceeded="stop"))
    rows = rows_with(machine, [1.5])
    rows["worst"], rows["motor_effort"][0] = 1, [0.0, -6.0, 0.0, 0.0]
    (found,) = Alarm(machine).check(rows)
    event = found.content
    assert (event["kind"], event["name"], event["value"], event["limit"]) == ("motor", "elbow", -6.0, 4.0)
    assert event["text"] == (
        "the effort of motor elbow differs from the model's by -6 N m, more than 4 N m; "
        "the machine is stopped on its path"
    )


class Running:
    """A digital twin process."""

    def __init__(self, machine: Machine) -> None:
        self.machine = machine
        arguments = GatewayOptions(config=str(machine.path) if Path(machine.path).exists() else machine.name)
        self.twin = DigitalTwin(
            arguments.twin_arguments(), TwinChannels(machine), layout_for(machine), in_step=True
        )
        self.twin.start()

    def until(self, condition: Callable[[], Any], what: str) -> Any:
        found: list[Any] = []

        def looked() -> bool:
            found[:] = [condition()]
            self.twin.attend()
            return found[0] is not None and found[0] is not False

        wait_for(looked, what)
        return found[0]

    def ready(self) -> None:
        self.until(lambda: self.twin.ready, "a digital twin that is ready")

    def end(self) -> None:
        pid = self.twin.pid
        assert pid is not None
        os.kill(pid, signal.SIGKILL)
        self.until(lambda: self.twin.pid not in (None, pid), "another twin")


@pytest.fixture(scope="module")
def one(machine: Machine) -> Iterator[Running]:
    """One for all tests; each begins with brakes set, and so with nothing known."""
    made = Running(machine)
    yield made
    made.twin.close()


def logged(folder: Path, one: Running, words: NDArray[np.float64], cuts: list[int]) -> bytes:
    """The log of these records, offered in pieces of such sizes, in turns."""
    machine = one.machine
    source = LogSource(layout_for(machine), False, machine.source_text, {}, one.twin.channels)
    log = Log(folder, "scara", "20260101-000000", source, 10**8)
    done = turn = 0
    deadline = time.monotonic() + PATIENCE_S
    while done < len(words):
        taken, compared = one.twin.hold(words[done : done + cuts[turn % len(cuts)]], 1.0)
        if len(taken):
            assert compared is not None
            log.write(taken, (), compared)
            turn += 1
        done += len(taken)
        assert time.monotonic() < deadline
    log.close()
    return log.first.read_bytes()


def test_in_lockstep_every_tick_has_its_comparison_and_the_log_is_the_same_however_it_is_cut(
    tmp_path: Path, one: Running, words: NDArray[np.float64]
) -> None:
    one.ready()
    first = logged(tmp_path / "a", one, words, [10])
    again = logged(tmp_path / "b", one, words, [1, 7, 64, 3])
    assert first == again
    with next((tmp_path / "a").iterdir()).open("rb") as stream:
        reader = make_reader(stream, decoder_factories=[DecoderFactory()])
        said = [(channel.topic, message) for _, channel, _, message in reader.iter_decoded_messages()]
    assert [topic for topic, _ in said] == ["tick", "twin"] * len(words)
    last = said[-1][1]
    assert last.tick == said[-2][1].tick
    assert last.motor_effort.shoulder == pytest.approx(0.0, abs=1e-9)
    assert any(message.compared for topic, message in said if topic == "twin")


def test_in_real_time_nobody_waits_and_a_dead_twin_is_started_again(
    one: Running, words: NDArray[np.float64]
) -> None:
    one.ready()
    one.twin.offer(words[:50])
    found = one.until(one.twin.pop_comparisons, "comparisons")
    assert found["tick"].tolist()[:1] == [0]
    os.kill(one.twin.pid or 0, signal.SIGSTOP)
    for _ in range(40):
        one.twin.offer(words)
    assert one.twin.dropped > 0  # what does not fit is counted, not kept
    one.end()
    assert one.twin.restarts == 1
    assert any("not compared" in note for note in one.twin.notes)
    assert any("being restarted" in note for note in one.twin.notes)
    assert one.twin.hold(words)[0].shape == (0, words.shape[1])  # in lockstep it would be waited for
    dropped = one.twin.dropped
    one.twin.offer(words)
    assert one.twin.dropped == dropped  # before it is ready nothing is expected of it
