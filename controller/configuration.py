"""The machine as the controller runs it: the file, and what its command line changed. Gateway, loop and
planner agree on it.
"""

import hashlib
from dataclasses import replace

from linkwork.machine import Machine, for_controller, load
from linkwork.protocol.laws import law_named


def configured(config: str, law: str | None = None) -> Machine:
    """The machine of this file (or shipped name), with another law where one is given.

    Its `config_hash` covers the change, so that a gateway adopts a loop only when both run the same. Raises
    MachineError, for machines too that the daemons do not run, and ValueError for an unknown law.
    """
    machine = load(config)
    if law is not None and law != machine.controller.law:
        law_named(law)
        changed = hashlib.sha256(f"{machine.config_hash} law={law}".encode()).hexdigest()
        machine = replace(machine, controller=machine.controller.with_values(law=law), config_hash=changed)
    return for_controller(machine)
