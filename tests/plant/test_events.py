"""Events never wait for their reader."""

from __future__ import annotations

import json
import os

from linkwork.plant.device.events import Events


def test_a_reader_who_stalls_stalls_nothing_and_gets_whole_lines() -> None:
    reader, writer = os.pipe()
    os.set_blocking(reader, False)
    events = Events(writer, as_json=True)
    for number in range(5000):
        events.say("tick", "a line that is long enough to fill the pipe soon", number=number)
        events.flush()
    assert events.waiting, "the pipe is full and the rest waits"
    data = b""
    while events.waiting:
        data += os.read(reader, 1 << 20)
        events.flush()
    data += os.read(reader, 1 << 20)
    numbers = [json.loads(line)["number"] for line in data.splitlines()]
    assert numbers == sorted(numbers)
    assert numbers[-1] == 4999, "the newest are kept"
    os.close(reader)
    os.close(writer)


def test_a_reader_who_is_gone_is_no_reason_to_end() -> None:
    reader, writer = os.pipe()
    os.close(reader)
    events = Events(writer)
    events.say("ready", "here")
    events.close()
    assert not events.waiting
    os.close(writer)


def test_text_and_json_carry_the_same_words() -> None:
    for as_json in (False, True):
        reader, writer = os.pipe()
        events = Events(writer, as_json=as_json)
        events.say("ready", "bräked", tick=3)
        events.close()
        line = os.read(reader, 1000).decode()
        assert line.endswith("\n")
        assert (
            (json.loads(line) == {"event": "ready", "text": "bräked", "tick": 3})
            if as_json
            else (line == "bräked\n")
        )
        os.close(reader)
        os.close(writer)
