"""The driver's own procedure to find its zero, before clients may connect."""

from __future__ import annotations

from linkwork.plant.drivers.driver import DriverFailed
from linkwork.plant.events import Events
from linkwork.plant.hardware import Hardware
from linkwork.plant.plant_pacing import EndRequested
from linkwork.timing.clock import Ticker


def find_home(hardware: Hardware, ending: EndRequested, events: Events) -> bool:
    """Run the procedure in real time; False when the daemon is to end meanwhile.

    Raises DriverFailed when the device reports a fault, or does not find its zero in time.
    """
    timeout_s, period_s = hardware.machine.driver.homing_timeout_s, hardware.machine.plant.period_s
    events.say("homing", f"{hardware.description.name} searches for its zero for up to {timeout_s:g} s")
    events.flush()
    ticker = Ticker(round(1e9 * period_s))
    ticker.start()
    for _ in range(round(timeout_s / period_s)):
        if hardware.home():
            events.say("homed", f"{hardware.description.name} is homed")
            return True
        if hardware.fault:
            raise DriverFailed(f"{hardware.description.name} reported fault {hardware.fault} while homing")
        if ending.looked():
            return False
        ticker.wait()
    raise DriverFailed(
        f"{hardware.description.name} did not find its zero within {timeout_s:g} s; move it nearer, "
        "or raise driver.homing_timeout_s"
    )
