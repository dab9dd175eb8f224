"""The command that shows the model of a machine file."""

from collections import Counter
from collections.abc import Sequence
from itertools import groupby
from typing import Any

import numpy as np

from linkwork.cli.assignments import read_values
from linkwork.cli.options.files import ModelOptions
from linkwork.convert.assembly_search import FRUITLESS, assembly_modes, initial_values
from linkwork.convert.model_report import report
from linkwork.drawing.model_drawing import draw as write
from linkwork.identification.base_parameters import BaseParameter, BaseParameters, structural_base_parameters
from linkwork.machine import Machine, load
from linkwork.machine.problems import REFUSES, counted
from linkwork.terminal.failures import Misuse
from linkwork.terminal.output import MOST_SHOWN, emit, left_out, number, passive_joints, say, show, table

_ENDLESS = 10**9
"""Starts, where the time ends the search."""


def model(options: ModelOptions) -> None:
    """Run `linkwork model`."""
    machine = load(options.config)
    if options.identifiable and (options.assemblies or options.draw is not None):
        raise Misuse("--identifiable is a list by itself: leave out --assemblies and --draw")
    if options.assemblies:
        _list_assemblies(machine, options.values, options.as_json, options.starts, options.seconds)
        return
    if options.starts is not None or options.seconds is not None:
        raise Misuse("--starts and --seconds belong to --assemblies")
    if options.identifiable:
        list_base_parameters(machine, as_json=options.as_json, show_all=options.show_all)
        return
    if options.values:
        raise Misuse(f"{options.values[0]}: values of joints belong to --assemblies")
    found = report(machine)
    if options.draw is not None:
        try:
            write(machine, options.draw, names=options.names, axes=options.axes)
        except OSError as error:
            raise Misuse(f"{options.draw} cannot be written: {error.strerror}") from None
        except ValueError as error:
            raise Misuse(f"{options.draw}: {error}") from None
        found["drawing"] = str(options.draw)
    if options.as_json:
        emit(found)
    else:
        _say(found, show_all=options.show_all)


def _list_assemblies(
    machine: Machine, texts: Sequence[str], as_json: bool, starts: int | None, seconds: float | None
) -> None:
    if not machine.is_constrained:
        raise Misuse(f"{machine.name} has no constraints, and so no assembly modes")
    angles = dict(zip(machine.mechanism.joint_names, machine.mechanism.joint_is_angle, strict=True))
    known = {
        name: is_angle for name, is_angle in angles.items() if name in machine.mechanism.coordinate_names
    }
    given = read_values(texts, machine.name, known, machine.aliases)
    if starts is None:
        fruitless = FRUITLESS if seconds is None else _ENDLESS
        found = assembly_modes(machine, given, fruitless, seconds=seconds, estimate=True)
    else:
        found = assembly_modes(machine, given, starts, starts, seconds=seconds, estimate=True)
    listed: list[dict[str, Any]] = [
        {
            "conditioning": mode.conditioning,
            "within_limits": mode.within,
            "initial_pose": mode.initial,
            "q": mode.q.tolist(),
            **initial_values(machine, mode, found.held),
        }
        for mode in found.modes
    ]
    if as_json:
        emit(
            {
                "name": machine.name,
                "held": found.held,
                "starts": found.starts,
                "missing": found.missing,
                "missing_range": found.missing_range,
                "modes": listed,
            }
        )
        return
    held = ", ".join(f"{name} {value:.6g}" for name, value in found.held.items())
    say(f"{machine.name}: {counted(len(listed), 'assembly mode')} with {held} (rad, m)")
    end = "" if starts or seconds else f"; the last {FRUITLESS} of them found no other"
    say(f"found in {found.starts} random starts{end}")
    least, most = found.missing_range
    if most:
        say(f"about {found.missing} more may exist ({least} to {most}, 95 %); more --starts narrow this")
    for number_, mode in enumerate(listed, 1):
        marks = [f"conditioning {mode['conditioning']:.3g}"]
        marks += ["the initial pose"] if mode["initial_pose"] else []
        marks += [] if mode["within_limits"] else ["outside joint limits"]
        say(f"\n# mode {number_}: {', '.join(marks)}")
        for section in ("initial", "initial_guess"):
            say(f"{section}: {{{', '.join(f'{key}: {value:.9g}' for key, value in mode[section].items())}}}")


def _say(found: dict[str, Any], *, show_all: bool) -> None:
    driven = found["actuated"] or found["assembly"]["kept"]
    hidden = passive_joints([*found["actuated"], *found["passive"]], driven, show_all=show_all)
    more = left_out(hidden)
    say(f"{found['name']}: {found['about']}" if found["about"] else found["name"])
    say(f"{counted(len(found['bodies']), 'body')}, {sum(body['mass_kg'] for body in found['bodies']):g} kg")
    for joint in found["joints"]:
        if hidden and hidden.issuperset(joint["degrees_of_freedom"]):
            continue
        dof = ", ".join(joint["degrees_of_freedom"]) or "none"
        say(
            f"    {joint['name']}: {joint['type']}, {joint['parent']} → {joint['child']}; "
            f"degrees of freedom: {dof}"
        )
    if more:
        say(f"    {more}")
    _say_closures(found["closures"], show_all=show_all)
    if found["closed_form"] is not None:
        say(f"    solved in closed form by `minimal`: {found['closed_form']}")
    _say_elements(found)
    coordinates = [name for name in found["coordinates"] if name not in hidden]
    say(f"coordinates: {', '.join(coordinates)}")
    _say_degrees_of_freedom(found)
    if found["mobility"] != found["degrees_of_freedom"]:
        say(f"singular pose: {counted(found['mobility'], 'instantaneous degree')} of freedom")
    say(
        f"actuated: {', '.join(found['actuated']) or 'none'}; "
        f"passive: {len(hidden) or ', '.join(found['passive']) or 'none'}"
    )
    _say_control(found)
    put = found["assembly"]
    say(
        f"assembled in {put['iterations']} iterations to {put['residual']:.3g}; "
        f"kept: {', '.join(put['kept'])}"
    )
    rows = [
        (name, number(value), number(put["v"].get(name)))
        for name, value in put["q"].items()
        if name not in hidden
    ]
    show(table("initial state", ("", "rad, m", "per second"), rows))


def _say_elements(found: dict[str, Any]) -> None:
    """Show stops, contacts, springs and forces."""
    for stop in found["stops"]:
        say(
            f"    {stop['dof']}: stops at {stop['low']:.6g} and {stop['high']:.6g} (rad or m), "
            f"stiffness {stop['stiffness']:.4g}, damping {stop['damping']:.4g} (N m or N per rad or m)"
        )
    for contact in found["contacts"]:
        surface = "plane" if "plane" in contact else "sphere"
        say(
            f"    {contact['name']}: {contact['point']} touches a {surface}, "
            f"stiffness {contact['stiffness_N_m']:.4g} N/m, damping {contact['damping_N_s_m']:.4g} N s/m, "
            f"friction {contact['friction']:g}"
        )
    for spring in found["springs"]:
        say(
            f"    {spring['name']}: spring {spring['acts']}, stiffness {spring['stiffness']:.4g}, "
            f"damping {spring['damping']:.4g}, rest {spring['rest']:.6g}, preload {spring['preload']:.4g} "
            "(N m and rad, or N and m)"
        )
    for force in found["forces"]:
        say(f"    {force['name']}: force or torque {force['acts']}: {force['value']}")


def _say_degrees_of_freedom(found: dict[str, Any]) -> None:
    """Show how the degrees of freedom are counted, and how the rank was decided."""
    idle = f", of them {len(found['idle'])} idle" if found["idle"] else ""
    dof, velocities = found["degrees_of_freedom"], counted(found["velocities"], "velocity")
    say(
        f"{counted(dof, 'degree')} of freedom{idle}: {velocities} less rank {found['rank']} of "
        f"{counted(found['rows'], 'row')}, {found['redundancy']} of them redundant"
    )
    for motion in found["idle"]:
        share = ", ".join(f"{part + 0.0:.3g}" for part in np.round(motion["direction"], 6))
        say(
            f"    {motion['joint']}: idle degree of freedom ({share}), damped by "
            f"{motion['damping']:.2g} (N m s or N s/m) in the plant, held in the controller's model"
        )
    decision = found["rank_decision"]
    if decision["smallest"] is not None:
        say(
            f"singular values of the scaled rows: from {decision['smallest']:.2g} on they count, up to "
            f"{decision['largest_dropped']:.2g} they are dropped; the limit is {decision['limit']:.2g}"
            + (" (a narrow gap: see `linkwork check`)" if decision["narrow"] else "")
        )
    factored = found["factorisation"]
    if found["rows"]:
        how = (
            f"in {factored['fronts']} fronts of up to {factored['columns_of_the_largest']} columns"
            if factored["fronts"] > 1
            else "in one piece"
        )
        say(f"the rows are factored {how}: {factored['why']}")


def _say_control(found: dict[str, Any]) -> None:
    """Show what motors and sensors determine, and what the controller refuses."""
    reach = f"yes ({found['controllability']:.3g})" if found["controllable"] else "no"
    say(
        f"controllable with these motors and sensors: {reach}; "
        f"motion and constraint force decoupled: {'yes' if found['decoupled'] else 'no'}"
    )
    for reason in found["refusals"]:
        say(f"{REFUSES}: {reason}")
    say(f"sensors: {found['sensing']}")
    if found["continuum"]:
        say(f"the same measurements fit a continuum of poses: {', '.join(found['continuum'])} may move")
    if found["other_assemblies"]:
        say(
            f"the same measurements fit at least {counted(found['other_assemblies'], 'other assembly mode')};"
            " the initial pose says which is meant (assemblies: several asks for a confirmation)"
        )


def _say_closures(closures: list[dict[str, Any]], *, show_all: bool) -> None:
    """Show each closure, or where there are many, the number of each type."""
    kinds = Counter(closure["type"] for closure in closures)
    if show_all or len(closures) <= MOST_SHOWN:
        kinds.clear()
    for closure in closures:
        if closure["on"] and closure["type"] in kinds:
            continue
        waits = "" if closure["on"] else ", off at the start"
        rows = counted(closure["rows"], "row")
        say(f"    {closure['name']}: {closure['type']} constraint, {rows}{waits}")
    for kind, count in kinds.items():
        rows = counted(sum(closure["rows"] for closure in closures if closure["type"] == kind), "row")
        say(f"    {counted(count, f'{kind} constraint')}, {rows} (--all shows them)")


def list_base_parameters(machine: Machine, *, as_json: bool, show_all: bool) -> None:
    """Print which combinations of the bodies' parameters the motion of a machine can show."""
    found = structural_base_parameters(machine)
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
