"""The exercises for a controller: handshake, sequence, encodings, silence, faults, refusal, bye."""

import signal
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial

import msgpack
import numpy as np

from linkwork.diagnostics.conformance.probe import READY, Probe
from linkwork.machine import Machine
from linkwork.plant.drivers.findings import Failed, Finding, Skipped, examined, require
from linkwork.protocol.codes import PROTOCOL_VERSION, DeviceFault, DeviceStatus, Mode, Pace
from linkwork.protocol.handshake import Hello
from linkwork.protocol.link import CommandMessage
from linkwork.protocol.sockets import DeviceServer
from linkwork.timing.children import Child

_STATES = 100
_END_S = 30.0


class ControllerExercises:
    """A controller under test: the process that says hello at `endpoint`; `command` starts it, if given.

    In `command`, {endpoint} and {interface} are replaced. A controller that ends in an exercise that allows
    it is being restarted for the next.
    """

    def __init__(self, machine: Machine, endpoint: str, command: Sequence[str] = ()) -> None:
        self.machine, self.endpoint = machine, endpoint
        words = {"{endpoint}": endpoint, "{interface}": machine.interface_hash}
        self._command = [_replaced(word, words) for word in command]
        self._child: Child | None = None
        self.probe: Probe

    def findings(self) -> Iterator[Finding]:
        """Yield each exercise as it is done; none after the failure of one on which the others depend."""
        exercises: list[tuple[str, Callable[[], str], bool]] = [
            ("sends hello every 0.1 s until it is answered", self._hellos, True),
            ("its hello fits this machine", self._hello_fits, True),
            ("a welcome for another session changes nothing", self._foreign_welcome, False),
            ("answers state 0 with a command", self._first_state, True),
            ("answers states in order", self._answers, True),
            ("keeps efforts within the motors' limits", self._limits, False),
            ("leaves output signals as they are until it is asked", self._outputs, False),
            ("reads other encodings of a state, and ignores unknown fields", self._encodings, False),
            ("an old state changes nothing", self._old_states, False),
            ("a state of another session changes nothing", self._foreign_states, False),
            ("an unreadable message changes nothing", self._unreadable, False),
            ("tolerates a gap in the sequence numbers", self._gap, False),
            ("repeats its last message, byte for byte, after a second", self._repeats, False),
            ("brakes at safe torque off", partial(self._brakes, READY | int(DeviceStatus.STO), 0), False),
            ("brakes when the plant's watchdog has tripped", self._tripped, False),
            ("after a refusal it gives no command", self._refused, False),
            ("after the plant's bye it gives no command of that session", self._left, False),
            ("sends bye when it ends", self._ended, False),
        ]
        with DeviceServer(self.endpoint) as server:
            self.probe = Probe(self.machine, server, self._alive)
            try:
                yield from examined(exercises)
            finally:
                self._stop()

    # -- the process -------------------------------------------------------------------------------------

    def _alive(self) -> bool:
        """Whether something can still come."""
        return self._child is None or self._child.alive

    def _start(self) -> None:
        """Start the controller unless it runs."""
        if self._command and (self._child is None or not self._child.alive):
            self._stop()
            self._child = Child.start(self._command)

    def _stop(self) -> None:
        if self._child is not None:
            self._child.send_signal(
                signal.SIGTERM
            )  # the loop of linkwork's own controller ends by this alone
            self._child.wait(_END_S)
            self._child.stop(1.0)
            self._child.close()
            self._child = None

    def _session(self) -> None:
        """A session with state 0 exchanged: the one there is, or a new one."""
        probe = self.probe
        if probe.hello is not None and self._alive() and probe.seq >= 0:
            return
        self._hello()
        probe.answer()

    def _hello(self) -> None:
        """Wait for the hello of a new session; a controller that was on its way out is started again."""
        self._start()
        try:
            self.probe.greet()
        except Failed:
            if self._alive():
                raise
            self._start()
            self.probe.greet()

    def _over(self) -> None:
        """The present session is over."""
        self.probe.hello, self.probe.seq = None, -1

    # -- handshake ---------------------------------------------------------------------------------------

    def _hellos(self) -> str:
        self._start()
        heard = [self.probe.wait_for("hello", 120.0)]
        heard += [self.probe.wait_for("hello", 2.0) for _ in range(4)]
        hellos = [each.content for each in heard]
        sessions = {hello.session for hello in hellos if isinstance(hello, Hello)}
        require(len(sessions) == 1, "each hello has another session; keep the session until it is answered")
        gaps = np.diff([each.at_s for each in heard])
        text = f"every {np.mean(gaps):.2g} s"
        require(bool(np.mean(gaps) > 0.03), f"{text}; that is too often")
        first = hellos[0]
        assert isinstance(first, Hello)
        self.probe.hello = first
        return text

    def _hello_fits(self) -> str:
        hello, machine = self.probe.asked, self.machine
        require(hello.protocol == PROTOCOL_VERSION, f"protocol {hello.protocol}, not {PROTOCOL_VERSION}")
        require(1 <= hello.session < 2**53, f"session {hello.session} is not from 1 to 2^53 - 1")
        require(bool(hello.owner), "owner is empty; give a readable name")
        require(hello.interface == machine.interface_hash, "the interface hash is not this machine's")
        close = abs(hello.period_s - machine.plant.period_s) <= 1e-9
        require(close, f"period_s is {hello.period_s:g}, the machine's {machine.plant.period_s:g}")
        if hello.pace is Pace.HOST:
            raise Failed(
                "this examiner supports the paces device and lockstep; start the controller with one"
            )
        return f"{hello.owner}, {hello.pace}"

    def _foreign_welcome(self) -> str:
        probe = self.probe
        probe.send(probe.welcome(session=probe.asked.session % (2**53 - 2) + 1))
        heard = probe.wait_for("hello", 5.0)
        require(isinstance(heard.content, Hello), "no hello")
        return ""

    def _first_state(self) -> str:
        self._hello()
        command = self.probe.answer()
        return f"mode {Mode(command.mode).name}"

    # -- states ------------------------------------------------------------------------------------------

    def _answers(self) -> str:
        last = self.probe.ack
        for _ in range(_STATES):
            command = self.probe.exchange()
            require(command.seq > last, f"command {command.seq} came after {last}")
            last = command.seq
        return f"{_STATES} of them"

    def _limits(self) -> str:
        self._session()
        command = self.probe.exchange()
        most = np.array([motor.max_effort for motor in self.machine.motors])
        beyond = np.abs(command.effort) > most
        require(not bool(beyond.any()), f"{command.effort.tolist()}, at most {most.tolist()}")
        return ""

    def _encodings(self) -> str:
        self._session()
        probe = self.probe
        plain = msgpack.unpackb(probe.state(probe.seq + 1))
        turned = dict(reversed(list(plain.items())))
        for content, single in (({**turned, "unknown_field": {"a": [1, None, "b"]}}, False), (plain, True)):
            seq = probe.seq + 1
            content = {**content, "seq": seq, "time_s": seq * self.machine.plant.period_s}
            content["v"] = [0] * len(probe.v)  # integers are numbers, too
            before = probe.seq
            command = probe.exchange(msgpack.packb(content, use_single_float=single))
            require(command.seq > before, "it was not answered")
        return ""

    def _old_states(self) -> str:
        self._session()
        probe = self.probe
        for seq in (probe.seq, max(0, probe.seq - 5)):
            probe.send(probe.state(seq))
        self._nothing_new(0.1)
        probe.exchange()
        return ""

    def _foreign_states(self) -> str:
        self._session()
        probe = self.probe
        other = probe.asked.session % (2**53 - 2) + 1
        probe.send(probe.state(probe.seq + 1, session=other))
        self._nothing_new(0.1)
        probe.exchange()
        return ""

    def _unreadable(self) -> str:
        self._session()
        probe = self.probe
        good = probe.state(probe.seq + 1)
        content = msgpack.unpackb(good)
        bad: list[bytes] = [b"", b"\xc1", b"\x80", good[:-3], good + b"\x00", msgpack.packb([1, 2])]
        bad += [
            msgpack.packb({**content, **change})
            for change in (
                {"q": content["q"][:-1]},
                {"seq": str(content["seq"])},
                {"mode": 7},
                {"ack": 1.5},
                {"effort": None},
            )
        ]
        for data in bad:
            probe.send(data)
        self._nothing_new(0.1)
        command = probe.exchange()
        require(bool(np.isfinite(command.effort).all()), "an effort is not finite")
        return f"{len(bad)} of them"

    def _outputs(self) -> str:
        outputs = self.machine.outputs
        if not outputs:
            raise Skipped("this machine has no output signals")
        self._session()
        probe = self.probe
        before = probe.outputs.copy()
        for _ in range(10):
            command = probe.exchange()
            if not command.outputs_told:
                continue
            for output, found, right in zip(outputs, command.outputs, before, strict=True):
                text = f"it sets {output.name} to {output.shown(found)}; it was {output.shown(right)}"
                require(found == right, text)
        return ", ".join(f"{each.name} {each.shown(at)}" for each, at in zip(outputs, before, strict=True))

    def _gap(self) -> str:
        self._session()
        self.probe.exchange(self.probe.state(self.probe.seq + 4), by=4)
        self.probe.exchange()
        return ""

    def _repeats(self) -> str:
        self._session()
        probe = self.probe
        if probe.asked.pace is not Pace.LOCKSTEP:
            raise Skipped("in lockstep only")
        heard = [each for each in probe.silence(2.6) if each.kind == "command"]
        require(bool(heard), "no repetition within 2.6 s")
        for each in heard:
            assert isinstance(each.content, CommandMessage)
            require(each.content.seq == probe.ack, "it is another command")
        require(len({each.data for each in heard}) == 1, "the repetitions differ")
        probe.exchange()
        return f"{len(heard)} times in 2.6 s"

    def _nothing_new(self, seconds: float) -> None:
        """For so long no command answers a state that was never sent."""
        probe = self.probe
        if probe.asked.pace is Pace.DEVICE:  # whose controller would soon count states as lost
            seconds = 8.0 * self.machine.plant.period_s
        for heard in probe.silence(seconds):
            if heard.kind == "bye":
                raise Failed("it said bye")
            if isinstance(heard.content, CommandMessage):
                new = heard.content.seq > probe.seq or heard.content.session != probe.asked.session
                require(not new, f"it answered with command {heard.content.seq}")

    # -- faults, ends --------------------------------------------------------------------------------------

    def _tripped(self) -> str:
        status = int(DeviceStatus.FAULT | DeviceStatus.HOMED | DeviceStatus.BRAKE)
        return self._brakes(status, int(DeviceFault.COMMAND_TIMEOUT))

    def _brakes(self, status: int, fault: int) -> str:
        self._session()
        probe = self.probe
        probe.exchange()
        probe.status, probe.fault = status, fault
        try:
            for count in range(20):
                command = probe.exchange()
                probe.status = status
                if command.mode == Mode.BRAKE:
                    return f"with command {count + 1}"
        except Failed as gone:
            return f"{gone}, which lets the plant brake"
        finally:
            probe.send(probe.bye())
            self._over()
        raise Failed("20 states later its command is still not to brake")

    def _refused(self) -> str:
        self._hello()
        probe = self.probe
        probe.send(probe.refuse())
        said = probe.silence(0.5)
        commands = [each for each in said if each.kind == "command"]
        require(not commands, "it commands a plant that has refused it")
        self._over()
        return "it asks again" if any(each.kind == "hello" for each in said) else "it gives up"

    def _left(self) -> str:
        self._session()
        probe = self.probe
        probe.exchange()
        session = probe.asked.session
        probe.send(probe.bye())
        said = probe.silence(0.5)[1:]  # one command may have been on its way
        for each in said:
            late = isinstance(each.content, CommandMessage) and each.content.session == session
            require(not late, "it continues with commands")
        self._over()
        return "it asks again" if any(each.kind == "hello" for each in said) else "it leaves"

    def _ended(self) -> str:
        if self._child is None:
            raise Skipped("it was not started here")
        self._session()
        self.probe.exchange()
        self._child.send_signal(signal.SIGTERM)
        deadline = time.monotonic() + _END_S
        while time.monotonic() < deadline:
            self.probe.seq += 1
            self.probe.send(self.probe.state(self.probe.seq))
            heard = self.probe.receive(0.05)
            while heard is not None:
                if heard.kind == "bye":
                    return ""
                if isinstance(heard.content, CommandMessage):
                    self.probe.ack = heard.content.seq
                heard = self.probe.receive(0.0)
            if not self._alive():
                break
        raise Failed("no bye: the plant would have to wait for its watchdog")


def _replaced(word: str, words: dict[str, str]) -> str:
    for name, value in words.items():
        word = word.replace(name, value)
    return word
