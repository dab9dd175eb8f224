"""The plant behind a link with faults in it, to which clients may send more while it runs."""

from typing import Any

from linkwork.machine import Machine
from linkwork.plant.device.events import Events
from linkwork.plant.device.plant_device import PlantDevice, codecs_of
from linkwork.plant.device.session import Greeting, Hearing, Owner
from linkwork.plant.faults.fault import Site
from linkwork.plant.faults.faulty_machinery import FaultyMachinery
from linkwork.plant.faults.injected_faults import Faults
from linkwork.plant.faults.injection_requests import InjectionRequests
from linkwork.plant.faults.timeline import TimeLine
from linkwork.plant.faults.wire import COMMANDS, STATES, Passing, Wire
from linkwork.protocol.codes import Pace
from linkwork.protocol.direct_link import PlantEnd
from linkwork.protocol.errors import ProtocolError
from linkwork.protocol.handshake import Bye, Hello, read_handshake
from linkwork.protocol.injection import LostMessage, read_lost
from linkwork.protocol.link import kind_of, read_map
from linkwork.timing.clock import Clock


class FaultyDevice(PlantDevice):
    """A Device whose machinery, link and time have faults.

    `open_to_all`: whether any client may inject more. In lockstep a `lost` message reports a tick whose state
    is dropped, and the controller's own `lost` lets time continue without a command.
    """

    machinery: FaultyMachinery

    def __init__(
        self,
        machine: Machine,
        machinery: FaultyMachinery,
        server: PlantEnd,
        events: Events,
        paces: tuple[Pace, ...],
        line: TimeLine | None = None,
        *,
        open_to_all: bool = True,
        clock: Clock | None = None,
    ) -> None:
        super().__init__(machine, machinery, server, events, paces, clock)
        states, commands = codecs_of(machine)
        state, command = states.message(), commands.message()
        self._probe, self._read = command, commands.unpack
        self.wire = Wire(
            (
                lambda data: _refused(lambda: states.unpack(data, state)),
                lambda data: _refused(lambda: commands.unpack(data, command)),
            )
        )
        self.faults = Faults(Site(machine, machinery, self.wire), events.say)
        self.desk = InjectionRequests(machine, self.faults, server.send, is_open=open_to_all)
        self._heard_seq = self._passed_seq = self._told_seq = -1
        if line is not None:
            self.faults.give(line, from_file=True)

    # -- a tick ------------------------------------------------------------------------------------------

    def apply_commands(self) -> None:
        """Deliver late messages; then the newest fresh command takes effect."""
        if not self.wire.idle:
            for each in self.wire.due(COMMANDS, self.machinery.tick):
                self._guarded(super()._hear, each.peer, each.data)
        super().apply_commands()

    def sense(self) -> None:
        """End expired faults and begin due ones; then sample the machine."""
        faults = self.faults
        self.desk.check_verdict()
        faults.begin(self.machinery.tick)
        super().sense()
        faults.check_conditions()

    def _send_state(self, owner: Owner, state: bytes) -> bytes:
        """Send what comes through of the states under way; return what answers a repeated command."""
        wire, tick = self.wire, self.machinery.tick
        if wire.idle:
            self._told_seq = owner.sent_seq
            return super()._send_state(owner, state)
        wire.put(tick, Passing(STATES, owner.sent_seq, tick, state))
        reply = b""
        for each in wire.due(STATES, tick):
            self.server.send(owner.peer, each.data)
            if each.readable and each.seq > self._told_seq:
                self._told_seq, reply = each.seq, each.data
        if not reply and owner.pace is Pace.LOCKSTEP:
            reply = LostMessage(session=owner.session, seq=owner.sent_seq).pack()
            self.server.send(owner.peer, reply)
        return reply

    def unsettled(self, went: int) -> bool:
        """As of a `PlantDevice`, and until the link is whole again where that is only a matter of time."""
        return super().unsettled(went) or (self.faults.mends and not self.machinery.runs_by_itself)

    # -- hearing -----------------------------------------------------------------------------------------

    def _hear(self, peer: bytes, message: bytes) -> Hearing | Greeting | None:
        """As in `PlantDevice`, for the delivered part of a command; a handshake that is cut off is
        ignored."""
        owner, wire = self.seat.owner, self.wire
        if wire.cuts == 0 and (owner is None or (wire.idle and self._heard_seq <= owner.taken_seq)):
            return super()._hear(peer, message)
        try:
            self._read(message, self._probe)
        except ProtocolError as error:
            if wire.cuts and not _passes(message):
                return (
                    Hearing.CUT_OFF if wire.lockstep and owner and _is_bye(message, owner.session) else None
                )
            return self._hear_rare(peer, message, str(error), error.content)
        return self._hear_command(peer, message, self._probe.session, self._probe.seq)

    def _hear_command(self, peer: bytes, message: bytes, session: int, seq: int) -> Hearing | Greeting | None:
        owner, wire = self.seat.owner, self.wire
        if owner is None or session != owner.session or not owner.alive or seq > owner.sent_seq:
            return None if wire.cuts else super()._hear(peer, message)
        newest = max(self._heard_seq, owner.taken_seq)
        if seq <= newest:
            hearing = Hearing.REPEATED if seq == newest and seq >= 0 else Hearing.OLD
            self.seat.counts.count(hearing)
            return hearing
        self._heard_seq = seq
        arrives = owner.first_tick + seq + 1
        wire.put(arrives - 1, Passing(COMMANDS, seq, arrives, message, peer))
        said: Hearing | Greeting | None = None
        for each in wire.due(COMMANDS, self.machinery.tick):
            said = super()._hear(each.peer, each.data) or said
            if said is Hearing.FRESH:
                return said
        return Hearing.PASSED

    def _hear_other(self, peer: bytes, content: dict[str, Any]) -> Hearing | bool:
        """An inject, or the message that time continues without a command."""
        if content["type"] == "inject":
            clocked = self.seat.taken and not self.wire.lockstep
            self.desk.receive(peer, content, role=self.server.role, clocked=clocked)
            return True
        lost, owner = read_lost(content), self.seat.owner
        if lost is None or owner is None or lost.session != owner.session:
            return super()._hear_other(peer, content)
        if not owner.alive:
            owner.peer, owner.latched_seq = peer, max(lost.seq, owner.latched_seq)
            return Hearing.LATCHED
        if owner.pace is not Pace.LOCKSTEP or lost.seq != owner.sent_seq or lost.seq <= self._passed_seq:
            return Hearing.REPEATED if lost.seq == self._passed_seq else Hearing.OLD
        owner.peer, self._passed_seq = peer, lost.seq
        return Hearing.PASSED

    def _enter(self, hello: Hello, peer: bytes) -> None:
        self._heard_seq = self._passed_seq = self._told_seq = -1
        self.wire.reset()
        self.wire.lockstep = hello.pace is Pace.LOCKSTEP
        self.faults.enter(self.machinery.tick)
        super()._enter(hello, peer)


def _refused(read: Any) -> bool:
    """Whether a reader refuses a message whole, and not for one reading that is not finite."""
    try:
        read()
    except ProtocolError as error:
        return not error.field.startswith(("q", "v"))
    return False


def _passes(message: bytes) -> bool:
    """Whether a message comes though the link is cut: it is not part of what passes there."""
    try:
        return kind_of(read_map(message)) in ("inject", "lost")
    except ProtocolError:
        return False


def _is_bye(message: bytes, session: int) -> bool:
    try:
        said = read_handshake(message)
    except ProtocolError:
        return False
    return isinstance(said, Bye) and said.session == session
