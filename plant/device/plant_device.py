"""The plant behind the device link: applies received commands to the machine and sends its measurements.

A tick is four calls, in every pace: `apply_commands` (the fresh command takes effect, or the watchdog
counts), `sense` (the command is applied, the sensors are read), `send_state` (the state is sent), `step` (one
period of motion with the latched command). The paces (plant_pacing.py) decide when.
"""

import math
from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np

from linkwork.arrays import Integers
from linkwork.machine import Machine
from linkwork.plant.device.events import Events
from linkwork.plant.device.session import Greeting, Hearing, Owner, PlantOwnership, SessionTerms
from linkwork.plant.device.watchdog import Watchdog
from linkwork.plant.machinery import Machinery, MachineryFailed
from linkwork.plant.simulator.plant_state import DAMP
from linkwork.protocol.codes import (
    PROTOCOL_VERSION,
    UNANSWERED_STATES,
    DeviceFault,
    DeviceStatus,
    Feature,
    Mode,
    Pace,
    Role,
)
from linkwork.protocol.decoding import cut
from linkwork.protocol.direct_link import PlantEnd
from linkwork.protocol.errors import ProtocolError
from linkwork.protocol.handshake import (
    Bye,
    Handshake,
    Hello,
    Homing,
    Refuse,
    Simulation,
    Welcome,
    peer_version,
    read_handshake,
)
from linkwork.protocol.injection import InjectRefusal, InjectRefused, inject_id, inject_too_long
from linkwork.protocol.link import CommandCodec, StateCodec, StateHeader, kind_of, read_map
from linkwork.timing.clock import Clock, MonotonicClock

TEMPERATURE_EVERY_S: Final = 0.1
PARTING_S: Final = 2.0
"""Longest wait of a plant that ends for the bye of its controller."""
_ENABLED: Final = int(DeviceStatus.ENABLED)
_FAULT: Final = int(DeviceStatus.FAULT)


def codecs_of(machine: Machine) -> tuple[StateCodec, CommandCodec]:
    """Return what packs and reads the states and commands of a machine."""
    motors, switches = len(machine.motors), len(machine.switchable)
    inputs, outputs = len(machine.inputs), len(machine.outputs)
    states = StateCodec(
        len(machine.sensors), motors, machine.force_numbers, switches=switches, inputs=inputs, outputs=outputs
    )
    references = machine.driver.follows_positions
    return states, CommandCodec(motors, switches, outputs, references=references)


class PlantDevice:
    """One machine, simulated or real, at one end of a device link.

    `missed` counts the ticks at which no command for them had come, `slipped` the periods that the clock
    skipped; both restart with each session.
    """

    def __init__(
        self,
        machine: Machine,
        machinery: Machinery,
        server: PlantEnd,
        events: Events,
        paces: tuple[Pace, ...],
        clock: Clock | None = None,
    ) -> None:
        settings = machine.plant
        self.machine, self.server, self.events = machine, server, events
        self.clock: Clock = MonotonicClock() if clock is None else clock
        self.period_s = settings.period_s
        self.machinery = machinery
        allowed = settings.command_timeout_periods
        self.watchdog = Watchdog(allowed, settings.on_timeout, self.period_s, machinery.joints)
        self.seat = PlantOwnership(
            SessionTerms(machine.interface_hash, machine.interface(), self.period_s, paces)
        )
        self.missed = self.slipped = 0
        self.fresh = False
        """Whether a command waits for `take`."""
        self._grace = math.ceil(settings.peer_timeout_s / self.period_s)
        states, self._commands = codecs_of(machine)
        self._incoming, self._newest = self._commands.message(), self._commands.message()
        self._pack = states.pack
        self._on_link_loss = np.array([signal.on_link_loss for signal in machine.outputs])
        self._motors_told: bytes | None = None
        """Motor reports that the owner has been sent last."""
        self._switched: list[dict[str, Any]] | None = None
        self._between_temperatures = max(1, round(TEMPERATURE_EVERY_S / self.period_s))
        self._settling = False
        self._told: object = None
        self._left: bytes | None = None
        """Sessions that were sent bye and have not yet answered it."""
        self._show(fault=0)

    # -- a tick ------------------------------------------------------------------------------------------

    def apply_commands(self) -> None:
        """At a tick: the newest fresh command takes effect; without one the watchdog counts, and may trip."""
        machinery, watchdog = self.machinery, self.watchdog
        if self.fresh:
            self.fresh = False
            command, before = self._newest, machinery.mode
            machinery.latch(command.mode, command.effort)
            if len(command.references):
                machinery.refer(*command.references)
            if command.closed >= 0:
                # before the state is sampled, which says what became of it
                self._say_switched(machinery.switch(command.closed))
            if command.outputs_told:
                machinery.set_outputs(command.outputs)
            watchdog.fresh(machinery.tick)
            self._settling = False
            if command.mode != before:
                self._show(fault=0)
        elif watchdog.due(machinery.tick) and self.seat.taken:
            periods = machinery.tick - watchdog.last_fresh_tick
            self.trip(f"no fresh command for {periods} periods")

    def _report(self, reported: Sequence[dict[str, Any]]) -> None:
        """Say what signals have switched, and what grippers did."""
        self._say_switched([report for report in reported if "gripper" not in report])
        for report in reported:
            if "gripper" in report:
                tick, part = self.machinery.tick, report["part"]
                done = "closed" if report["closed"] else "opened"
                done = f"{done} empty" if part is None else f"{done}: {part}"
                self.events.say("gripper", f"{report['gripper']} {done}, at tick {tick}", tick=tick, **report)

    def _say_switched(self, reports: list[dict[str, Any]]) -> None:
        """Keep what became of switches for the state of this tick, and say it."""
        if reports:
            self._switched = [*(self._switched or ()), *reports]
        for report in reports:
            name, tick = report["name"], self.machinery.tick
            if "refused" in report:
                self.events.say("switch_refused", f"tick {tick}: {report['refused']}", tick=tick, **report)
                continue
            took = f", which took {report['energy_loss_J']:.3g} J" if report["on"] else ""
            text = f"{name} switched {'on' if report['on'] else 'off'} at tick {tick}{took}"
            self.events.say("switched", text, tick=tick, **report)

    def send_state(self) -> None:
        """Send the state of this tick to the owner and keep its bytes."""
        owner, machinery = self.seat.owner, self.machinery
        if owner is None or not machinery.sampled:
            return
        tick = machinery.tick
        status, fault = machinery.status, self._fault or machinery.fault
        if fault:
            status = (status & ~_ENABLED if self._fault else status) | _FAULT
        owner.sent_seq = seq = tick - owner.first_tick
        owner.unanswered += 1
        head = StateHeader(
            owner.session, seq, tick * self.period_s, self._mode, status, fault, owner.taken_seq,
            machinery.closed,
        )  # fmt: skip
        rare = seq % self._between_temperatures == 0
        motors = machinery.measured.motors
        state = self._pack(
            head,
            machinery.measured,
            temperatures=rare,
            motors=motors is not None and (rare or fault != 0 or self._motors_changed(motors)),
            switched=self._switched,
        )
        self._switched = None
        owner.reply = self._send_state(owner, state)

    def _motors_changed(self, motors: Integers) -> bool:
        """Whether the reports of the motors differ from those of the last state."""
        told = motors.tobytes()
        before, self._motors_told = self._motors_told, told
        return told != before

    def _send_state(self, owner: Owner, state: bytes) -> bytes:
        """Send a state; return what answers a repeated command."""
        self.server.send(owner.peer, state)
        return state

    def sense(self) -> None:
        """Apply the latched command to the machine and read its sensors. Raises MachineryFailed."""
        reported = self.machinery.sense()
        if reported:
            self._report(reported)

    def step(self) -> None:
        """One period of motion. Raises MachineryFailed."""
        self.machinery.integrate()
        if self._settling:
            self._settle()

    def unsettled(self, went: int) -> bool:
        """Whether the machine continues by itself in lockstep, `went` ticks after its controller moved it
        last.

        A simulated machine does until the watchdog has tripped and it rests, at most for `peer_timeout_s`.
        """
        machinery = self.machinery
        if machinery.runs_by_itself:
            return False
        return self.seat.taken or not (machinery.resting or went >= self._grace)

    def trip(self, cause: str) -> None:
        """The watchdog's action takes over at this tick; the session is over, its owner still answered."""
        owner, tick = self.seat.owner, self.machinery.tick
        name = owner.name if owner else ""
        trip = self.watchdog.trip(tick, cause, name)
        self.machinery.act(trip.action)
        self._lose_controller()
        self.fresh = False
        if owner is not None:
            owner.alive = False
            owner.unanswered = min(owner.unanswered, UNANSWERED_STATES - 1)  # a state says why
        self._show(fault=DeviceFault.COMMAND_TIMEOUT)
        verb = {"brake": "braking", "damp": "damping", "zero": "without effort"}[trip.action]
        last = f"last fresh command at tick {trip.last_fresh_tick}, of {name}"
        text = f"{verb} since tick {tick} ({last}): {cause}; waiting for a new handshake"
        self.events.say("watchdog", text, **trip.as_map())
        self._settling = True
        self._settle()

    def _lose_controller(self) -> None:
        """Put the reactions of output signals to a lost link in force."""
        outputs, reaction = self.machinery.measured.outputs, self._on_link_loss
        if len(reaction) and not np.isnan(reaction).all():
            self.machinery.set_outputs(np.where(np.isnan(reaction), outputs, reaction))

    def leave(self, text: str) -> None:
        """Brakes and says bye: the plant's own end."""
        self._brake()
        owner = self.seat.owner
        if owner is not None:
            self.server.send(owner.peer, Bye(session=owner.session, text=text).pack())
            self._left, self.seat.owner = owner.peer, None

    def part(self) -> None:
        """Wait, after `leave`, until the owner has answered with its own bye, at most PARTING_S.

        A ZeroMQ client that queues nothing for an absent peer (ZMQ_IMMEDIATE) drops what it has not read when
        the connection closes, and with it the reason why the plant ends.
        """
        deadline_ns = self.clock.now_ns() + round(1e9 * PARTING_S)
        while self._left is not None and self.clock.now_ns() < deadline_ns:
            received = self.server.receive_until(deadline_ns)
            if received is not None and received[0] == self._left and _is_bye(received[1]):
                self._left = None

    # -- hearing -----------------------------------------------------------------------------------------

    def receive(self, peer: bytes, message: bytes) -> Hearing | Greeting | None:
        """Take in one message; a handshake is answered immediately. Returns None for messages that are not
        the owner's.

        An invalid message never ends the session: it is counted and dropped.
        """
        return self._guarded(self._hear, peer, message)

    def _guarded(
        self, hear: Callable[[bytes, bytes], Hearing | Greeting | None], peer: bytes, message: bytes
    ) -> Hearing | Greeting | None:
        try:
            return hear(peer, message)
        except MachineryFailed:
            raise
        except Exception as error:  # a defect of ours, found by a stranger's message
            self.seat.counts.unreadable += 1
            self._tell_rarely("unreadable", f"a message, by {type(error).__name__}: {cut(str(error), 200)}")
            return None

    def _hear(self, peer: bytes, message: bytes) -> Hearing | Greeting | None:
        incoming = self._incoming
        try:
            self._commands.unpack(message, incoming)
        except ProtocolError as error:
            return self._hear_rare(peer, message, str(error), error.content)
        seat = self.seat
        hearing = seat.judge_command(incoming.session, incoming.seq)
        if hearing is Hearing.FRESH:
            owner = seat.owner
            assert owner is not None
            owner.peer, owner.taken_seq, owner.unanswered = peer, incoming.seq, 0
            self._incoming, self._newest, self.fresh = self._newest, incoming, True
            return hearing
        seat.counts.count(hearing)
        if hearing is Hearing.FOREIGN:
            self._tell_rarely(
                "foreign", f"a command of session {incoming.session}, which does not own the plant"
            )
            return None
        if seat.owner is not None:
            seat.owner.peer, seat.owner.unanswered = peer, 0
            if hearing is Hearing.LATCHED:
                seat.owner.latched_seq = max(incoming.seq, seat.owner.latched_seq)
        return hearing

    def _hear_rare(
        self, peer: bytes, message: bytes, why: str, content: dict[str, Any] | None
    ) -> Hearing | Greeting | None:
        """Handle a message that is no command; `why` is the reason, `content` the message if it was decoded.

        Only texts of exceptions are kept: an exception in a local variable of a frame in its own traceback is
        a cycle, which nothing frees where garbage collection is off.
        """
        try:
            too_long = inject_too_long(message)
            if too_long:
                refusal = InjectRefused(code=InjectRefusal.MALFORMED, text=too_long)
                self.server.send(peer, refusal.pack())
                return None
            content = read_map(message) if content is None else content
            kind = kind_of(content)
            if kind == "hello":
                return self._hear_hello(peer, message)
            if kind == "bye":
                self._hear_bye(read_handshake(message))
                return None
            if kind == "command" and why.startswith(("`effort` must", "`outputs` must")):
                session = content.get("session")
                refused = self.seat.refuse_unreadable(why, session if type(session) is int else 0)
                self.server.send(peer, refused.pack())
            other = self._hear_other(peer, content)
            if other is not False:
                return None if other is True else other
        except ProtocolError as error:
            why = str(error)
        self.seat.counts.unreadable += 1
        self._tell_rarely("unreadable", f"a message: {why}")
        return None

    def _hear_other(self, peer: bytes, content: dict[str, Any]) -> Hearing | bool:
        """Handle a message outside any session: return its meaning, if it has one."""
        if content["type"] != "inject":
            return False
        text = "this plant accepts no faults: start it with --inject"
        refused = InjectRefused(id=inject_id(content), code=InjectRefusal.NOT_OFFERED, text=text)
        self.server.send(peer, refused.pack())
        return True

    def _hear_hello(self, peer: bytes, message: bytes) -> Greeting | None:
        hello, verdict = self._judge(message)
        if isinstance(verdict, Refuse):
            self.server.send(peer, verdict.pack())
            if self._told != (verdict.session, verdict.code):
                self._told = (verdict.session, verdict.code)
                self.events.say("refused", f"refused a controller: {verdict.text}", code=verdict.code.name)
            return None
        owner = self.seat.owner
        if verdict is Greeting.ENTER and hello is not None:
            self._enter(hello, peer)
        elif owner is not None:
            owner.peer = peer
            self.server.send(peer, owner.welcome)
            if not owner.alive:
                self.send_state()
            elif owner.reply:
                self.server.send(peer, owner.reply)
        return verdict

    def _judge(self, message: bytes) -> tuple[Hello | None, Greeting | Refuse]:
        version, session = peer_version(message)
        if version != PROTOCOL_VERSION:
            return None, self.seat.refuse_version(version, session)
        try:
            hello = read_handshake(message)
        except ProtocolError as error:
            return None, self.seat.refuse_unreadable(str(error), session)
        assert isinstance(hello, Hello)
        role = self.server.role
        if role is None or role < Role.OPERATE:
            return hello, self.seat.refuse_role(hello.session, role)
        return hello, self.seat.judge_hello(hello)

    def _enter(self, hello: Hello, peer: bytes) -> None:
        machinery, machine = self.machinery, self.machine
        owner = self.seat.enter(hello, peer, machinery.tick)
        report = self.watchdog.last_trip
        owner.welcome = Welcome(
            session=hello.session,
            name=machine.name,
            interface=machine.interface_hash,
            model=machine.plant_model_hash,
            pace=hello.pace,
            period_s=self.period_s,
            tick=machinery.tick,
            command_timeout_periods=machine.plant.command_timeout_periods,
            layout=machine.interface(),
            watchdog=report.as_map() if report else None,
            homing=Homing(**machinery.homing) if machinery.homing else None,
            simulation=Simulation(**machinery.simulation) if machinery.simulation else None,
            features=self._features(),
        ).pack()
        self._motors_told = None
        self.watchdog.handshake(machinery.tick, self._grace)
        machinery.travel[:] = 0.0
        self.fresh = False
        self.missed = self.slipped = 0
        self._show(fault=0)
        self.server.send(peer, owner.welcome)
        differs = bool(hello.model) and hello.model != machine.plant_model_hash
        text = (
            f"connected: {owner.name}, {owner.pace} pace, session {owner.session}, from tick {machinery.tick}"
        )
        note = "; its model differs from this plant's inertia or geometry" if differs else ""
        self.events.say(
            "connected", text + note, owner=owner.name, pace=str(owner.pace), model_differs=differs
        )

    def _features(self) -> list[str]:
        """Optional parts of the protocol that this plant carries."""
        reports = [Feature.MOTOR_STATUS] if self.machinery.measured.motors is not None else []
        return [Feature.SIGNALS, *reports]

    def _hear_bye(self, bye: Handshake) -> None:
        owner = self.seat.owner
        if not isinstance(bye, Bye) or owner is None or owner.session != bye.session:
            self.seat.counts.foreign += 1
            return
        was_alive = owner.alive
        self.seat.owner = None
        self.fresh = False
        if was_alive:
            self._brake()
        self.events.say(
            "left", f"{owner.name} left{': ' + bye.text if bye.text else ''}; {self._summary(owner)}"
        )

    # -- the rest ----------------------------------------------------------------------------------------

    def _brake(self) -> None:
        self.machinery.act("brake")
        self._show(fault=0)

    def _settle(self) -> None:
        machinery = self.machinery
        if not machinery.standing:
            return
        self._settling = False
        trip = self.watchdog.standstill(machinery.tick, machinery.travel.tolist())
        ways = ", ".join(f"{name} {way:.6g}" for name, way in trip.travel.items())
        text = (
            f"standstill at tick {machinery.tick}, {machinery.tick - trip.last_fresh_tick} periods after it"
        )
        self.events.say("standstill", f"{text}; travelled since then (rad or m): {ways}", **trip.as_map())

    def _show(self, fault: int) -> None:
        mode = self.machinery.mode
        self._fault = int(fault)
        self._mode = int(Mode.ZERO if mode == DAMP else mode)

    def _summary(self, owner: Owner) -> str:
        ticks = self.machinery.tick - owner.first_tick
        return f"{ticks} ticks, {self.missed} without their command, {self.slipped} periods slipped"

    def _tell_rarely(self, name: str, what: str) -> None:
        count = getattr(self.seat.counts, name)
        if count in (1, 10, 100) or count % 1000 == 0:
            self.events.say("dropped", f"dropped {what} ({count} {name} so far)", kind=name, count=count)


def _is_bye(message: bytes) -> bool:
    try:
        return kind_of(read_map(message)) == "bye"
    except ProtocolError:
        return False
