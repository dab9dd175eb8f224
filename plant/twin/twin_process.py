"""Process of the digital twin: the gateway starts it, sends it ticks, and reads its answers."""

import select
import socket
from contextlib import suppress

import numpy as np

from linkwork.machine import Machine, load
from linkwork.plant.plant_options import TwinOptions
from linkwork.plant.twin.twin_comparison import TwinComparison
from linkwork.protocol.twin_messages import LOAD, SUSPICION, Kind, Words, kind_of, pack, rows_of
from linkwork.timing.children import Lifeline, ignore_interrupts


def words_of(machine: Machine) -> Words:
    """The rows of a machine."""
    mechanism, goals = machine.mechanism, machine.goal_coordinates
    signals = (len(machine.inputs), len(machine.outputs))
    return Words(len(mechanism.position_names), mechanism.nv, len(machine.motors), len(goals), signals)


def twin(options: TwinOptions) -> int:
    """The life of the process, until the gateway's end of the socket or of the lifeline closes.

    Raises MachineError. Returns the exit status.
    """
    ignore_interrupts()
    lifeline = Lifeline.from_stdin()
    with socket.socket(fileno=options.channel) as gateway:
        machine = load(options.config)
        comparison, words = TwinComparison(machine), words_of(machine)
        try:
            gateway.sendall(pack(Kind.READY))
            while _heard(gateway, lifeline):
                message = gateway.recv(words.most_bytes)
                if not message:
                    break
                with suppress(ValueError, IndexError):  # no message of the gateway's: dropped
                    _obey(message, gateway, comparison, words)
        except (BrokenPipeError, ConnectionResetError):
            return 0
    return 0


def _heard(gateway: socket.socket, lifeline: Lifeline) -> bool:
    """Wait for a message; False where the gateway is gone."""
    poll = select.poll()
    poll.register(gateway, select.POLLIN)
    poll.register(lifeline.fd, 0)
    return all(descriptor != lifeline.fd for descriptor, _ in poll.poll())


def _obey(message: bytes, gateway: socket.socket, comparison: TwinComparison, words: Words) -> None:
    if kind_of(message) is Kind.LOAD:
        for load in rows_of(message, LOAD)[:1]:
            comparison.carry(load)
        return
    asked = rows_of(message, words.asked)
    answered = np.zeros(len(asked), words.answered)
    comparison.compare(asked, answered)
    if comparison.suspicions:
        gateway.sendall(pack(Kind.SUSPICION, np.array(comparison.suspicions, SUSPICION)))
        comparison.suspicions.clear()
    gateway.sendall(pack(Kind.ANSWER, answered))
