"""Problems of the settings of controller, driver, workspace and twin: names, ranges, channels."""

from collections.abc import Collection, Iterator

from linkwork.machine.building.dof_names import coordinates, degrees_of_freedom
from linkwork.machine.checks.signal_names import condition_problems
from linkwork.machine.checks.unknown_names import unknown, unknown_keys
from linkwork.machine.gains import asymmetry, gain_matrices, not_definite, out_of_bounds
from linkwork.machine.problems import Problem
from linkwork.machine.sections.drivers import DriverSensor, channels
from linkwork.machine.sections.file import MachineFile
from linkwork.machine.sections.limits import Tolerances
from linkwork.machine.yaml_document import Document


def check_settings(file: MachineFile, document: Document) -> Iterator[Problem]:
    """Yield the problems of the period, of goal coordinates and of tolerances."""
    period, plant_period = file.controller.period_s, file.plant.period_s
    if period is not None and period != plant_period:
        allowed, remedy = f"the plant's, {plant_period:g}", "leave it out of one of the two sections"
        message = "plant and controller must have the same period"
        yield document.problem(
            ("controller", "period_s"), message, found=f"{period:g}", allowed=allowed, remedy=remedy
        )
    moving, known = degrees_of_freedom(file), list(coordinates(file))
    goals = file.controller.goal_coordinates
    at = ("controller", "goal_coordinates")
    for index, name in enumerate(goals or ()):
        if name not in known:
            yield unknown(document, (*at, index), name, "coordinate", known)
        elif goals is not None and name in goals[:index]:
            yield document.problem(
                (*at, index), "this coordinate is given twice", found=name, remedy="keep one"
            )
    if goals is not None and not file.constraints and len(goals) != len(moving):
        found, allowed = (
            f"{len(goals)} coordinates",
            f"{len(moving)}, one for each degree of freedom of the machine",
        )
        yield document.problem(
            at, "these coordinates do not determine the motion", found=found, allowed=allowed
        )
    own = file.controller.tolerances.coordinates
    place = ("controller", "tolerances", "coordinates")
    yield from unknown_keys(document, place, own, "coordinate", known)
    yield from _tolerances(file.controller.tolerances, known, document)


def _tolerances(spec: Tolerances, known: Collection[str], document: Document) -> Iterator[Problem]:
    """Yield the settings that would brake a machine that is within its path tolerance."""
    place = ("controller", "tolerances")
    for name in (None, *(name for name in spec.coordinates if name in known)):
        own = spec if name is None else spec.coordinates[name]
        here = place if name is None else (*place, "coordinates", name)
        tolerance = spec.of(name or "")
        if (own.path or own.following) and tolerance.following_limit < tolerance.path:
            key, other = ("following", "above") if own.following else ("path", "below")
            bound = tolerance.path if own.following else tolerance.following_limit
            yield document.problem(
                (*here, key), "the machine would be braked while it is within its path tolerance",
                found=f"{getattr(own, key):g}", allowed=f"{bound:g} or {other}",
            )  # fmt: skip


def check_bounds(file: MachineFile, document: Document) -> Iterator[Problem]:
    """Yield what does not fit: points that do not exist or do not move, gains outside their own bounds."""
    payloads = file.controller.payloads
    yield from unknown_keys(document, ("workspace",), file.workspace, "point", file.points)
    yield from unknown_keys(document, ("controller", "payloads"), payloads, "point", file.points)
    for name, payload in payloads.items():
        if name in file.points and file.points[name].body == "world":
            yield document.problem(
                ("controller", "payloads", name), "the ground cannot carry a payload", of_key=True,
                found=name, allowed="a point of a body",
            )  # fmt: skip
        if payload.carried is not None:
            place = ("controller", "payloads", name, "carried", "when")
            yield from condition_problems(file, document, place, payload.carried.when)
    if file.controller.gain_bounds is not None or file.controller.gains:
        yield from _check_gains(file, document)


def _check_gains(file: MachineFile, document: Document) -> Iterator[Problem]:
    """Yield the problems of the gains of single coordinates."""
    settings, known, place = file.controller, list(coordinates(file)), ("controller", "gains")
    problems = list(unknown_keys(document, place, settings.gains, "coordinate", known))
    for name, own in settings.gains.items():
        for key in ("position_per_s2", "rate_per_s"):
            at = (*place, name, key)
            problems += unknown_keys(document, at, getattr(own, key), "coordinate", known)
    if problems:
        yield from problems
        return
    for key in ("position_per_s2", "rate_per_s"):
        found = asymmetry(key, {name: getattr(own, key) for name, own in settings.gains.items()})
        if found is not None:
            entry = (*place, found.rows[0], key, found.rows[1])
            yield document.problem(entry, found.text, found=found.found, allowed=found.allowed)
            return
    matrices = gain_matrices(settings, known)
    if found := not_definite(*matrices):
        yield document.problem(place, f"{found.name}: {found.text}", found=found.found, allowed=found.allowed)
        return
    for found in out_of_bounds(settings, *matrices):
        bound, text = ("controller", "gain_bounds", found.name), "the gain of this file is outside its bounds"
        if settings.gain_bounds is not None and getattr(settings.gain_bounds, found.name) is not None:
            yield document.problem(bound, text, found=found.found, allowed=found.allowed)


def check_driver(file: MachineFile, document: Document) -> Iterator[Problem]:
    """Yield the problems of names, kinds and channels."""
    driver, is_angle = file.driver, degrees_of_freedom(file)
    for section, known, numbers in (
        ("motors", list(file.motors), channels(driver.motors_of(file.motors))),
        ("sensors", list(file.sensors), channels(driver.sensors_of(file.sensors))),
    ):
        rows = list(getattr(driver, section))
        yield from unknown_keys(document, ("driver", section), rows, section[:-1], known)
        used: dict[int, str] = {}
        for name, channel in zip(known, numbers, strict=True):
            if channel in used:
                at = ("driver", section, name) if name in rows else ("driver", section, used[channel])
                yield document.problem(
                    at,
                    "two entries have the same channel of the device",
                    of_key=True,
                    found=f"channel {channel} for {used[channel]} and for {name}",
                    remedy="give each a different `channel`",
                )
            used[channel] = name
    if driver.follows_positions:
        yield from _check_positions(file, document)
    for name, sensor in driver.sensors.items():
        turns = is_angle.get(name, True)
        counts = "counts_per_m" if turns else "counts_per_turn"
        right = "counts_per_turn, at_zero_deg or at_zero_rad" if turns else "counts_per_m or at_zero_m"
        for key in (counts, *DriverSensor.at_zero.keys(not turns)):
            if getattr(sensor, key) is not None and name in file.sensors:
                yield document.problem(
                    ("driver", "sensors", name, key),
                    f"this joint {'turns' if turns else 'slides'}",
                    of_key=True,
                    found=key,
                    allowed=right,
                )


def _check_positions(file: MachineFile, document: Document) -> Iterator[Problem]:
    """Yield what keeps drives from closing the position loop: another mode, no encoder, the time-out."""
    driver = file.driver
    channel_of = dict(zip(file.sensors, channels(driver.sensors_of(file.sensors)), strict=True))
    motors = zip(file.motors, driver.motors_of(file.motors), strict=True)
    for place, (name, row) in enumerate(motors):
        at = ("driver", "motors", name) if name in driver.motors else ("driver", "motors")
        channel = place if row.channel is None else row.channel
        if row.mode != "csp":
            text, found = "the law's feedback is either in all drives or in none", f"{name} in mode cst"
            yield document.problem(at, text, of_key=True, found=found, allowed="mode: csp for each motor")
        elif channel_of.get(name) != channel:
            text = "a drive in mode csp closes its loop with its own encoder"
            found = f"{name}: motor on channel {channel}, sensor on channel {channel_of.get(name, 'none')}"
            yield document.problem(at, text, of_key=True, found=found, allowed="a sensor on its channel")
        elif row.reversed != driver.sensors_of([name])[0].reversed:
            text = "a drive in mode csp counts upwards under a positive torque: `reversed` is one for both"
            found = f"{name}: only one of the two is reversed"
            yield document.problem(at, text, of_key=True, found=found, allowed="both, or none")
    if file.plant.on_timeout != "brake":
        text, found = "drives in mode csp hold a position, so they can only brake", file.plant.on_timeout
        yield document.problem(("plant", "on_timeout"), text, found=found, allowed="brake")


def check_motor_settings(
    file: MachineFile, document: Document, dof: int, goals: Collection[str]
) -> Iterator[Problem]:
    """Yield the problems of scales and pre-loads, which redundant motors have, and of the twin's thresholds.

    dof: degrees of freedom under the constraints; goals: the goal coordinates.
    """
    settings = file.controller
    if file.driver.follows_positions and len(file.motors) > dof:
        text = "drives in mode csp work against each other where motors are redundant"
        found, allowed = f"{len(file.motors)} motors", f"{dof}, the degrees of freedom; or mode: cst"
        yield document.problem(("driver", "motors"), text, of_key=True, found=found, allowed=allowed)
    for key, given, effect in (
        ("effort_scale", settings.effort_scale, "there is nothing to allocate"),
        ("preload", settings.preload, "there is no internal force to set"),
    ):
        yield from unknown_keys(document, ("controller", key), given, "motor", file.motors)
        if given and len(file.motors) <= dof:
            yield document.problem(
                ("controller", key),
                f"{effect}: the machine has no more motors than degrees of freedom",
                of_key=True,
                found=f"{len(file.motors)} motors, {dof} degrees of freedom",
                remedy="leave it out",
            )
    for name, spec in settings.preload.items():
        if name not in file.motors:
            continue
        at, most = ("controller", "preload", name), file.motors[name].max_effort
        if spec.most > most:
            allowed = f"its largest effort, {most:g}, or less"
            message = "this exceeds the motor's largest effort"
            yield document.problem((*at, "most"), message, found=f"{spec.most:g}", allowed=allowed)
        if abs(spec.effort) > spec.most:
            allowed, message = f"-{spec.most:g} to {spec.most:g}", "more than the largest pre-load"
            yield document.problem((*at, "effort"), message, found=f"{spec.effort:g}", allowed=allowed)
    yield from unknown_keys(document, ("twin", "efforts"), file.twin.efforts, "goal coordinate", goals)
