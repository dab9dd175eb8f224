"""The list of base parameters that `linkwork model --identifiable` prints."""

from __future__ import annotations

from itertools import groupby

from linkwork.identification.admissible_states import NoStates
from linkwork.identification.base_parameters import BaseParameter, BaseParameters, structural_base_parameters
from linkwork.machine import Machine
from linkwork.machine.problems import counted
from linkwork.terminal.failures import Misuse
from linkwork.terminal.output import MOST_SHOWN, emit, number, say


def list_base_parameters(machine: Machine, *, as_json: bool, show_all: bool) -> None:
    """Print which combinations of the bodies' parameters the motion of a machine can show."""
    try:
        found = structural_base_parameters(machine)
    except NoStates as error:
        raise Misuse(str(error)) from None
    if as_json:
        emit({"name": machine.name, **found.plain()})
        return
    bodies = counted(len(machine.mechanism.bodies), "body")
    base, known = counted(len(found.combinations), "base parameter"), len(found.alone)
    say(f"{machine.name}: {base} of the {len(found.parameters)} parameters of {bodies}")
    say("first_moment: mass × centre of mass; inertia: about the origin of the body's frame. SI units")
    if found.undriven:
        say(
            f"{counted(found.undriven, 'degree')} of freedom without a motor: where no motor acts, a motion "
            "determines only the ratios of these numbers"
        )
    say(f"\n# known alone: {known}")
    for each in found.combinations[:known]:
        say(f"{each.first.name} = {_value(each)}")
    say(f"\n# only known in these sums: {len(found.sums)}")
    for each in found.sums:
        say(f"{_shortened(each, show_all=show_all)} = {_value(each)}")
    _say_unseen(found)


def _value(each: BaseParameter) -> str:
    return f"{number(each.value)} {each.first.unit}"


def _shortened(each: BaseParameter, *, show_all: bool) -> str:
    """Return a sum as text, with its first terms alone where it has many."""
    left_out = len(each.others) - MOST_SHOWN
    if show_all or left_out <= 1:
        return each.text
    short = BaseParameter(each.first, each.others[:MOST_SHOWN], each.value)
    return f"{short.text} + {left_out} more terms (--all shows them)"


def _say_unseen(found: BaseParameters) -> None:
    """Name the parameters of no effect, body by body."""
    say(f"\n# of no effect on the motion: {len(found.unseen)}")
    for owner, members in groupby(found.unseen, key=lambda each: each.owner):
        say(f"{owner}: {', '.join(each.quantity for each in members)}")
