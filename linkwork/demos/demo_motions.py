"""The demos that follow given trajectories: machines, motions and what is measured of them, as data.

`MOTIONS`, by the demo's name. Of the slider-crank: with links of 1 m the slider is at s = 2 cos crank. Where
the crank is an odd multiple of a right angle both ends of the mechanism meet and a second branch of motion
begins: the crank could turn on with the slider at rest. Of the platform: in the printed pose, with the motors
near zero, they have no leverage on its height, so that pose is for tilt and yaw; with the motors at 0.6 rad
height moves with them. Of the slot: while it holds the pin, the machine has one degree of freedom instead of
two; the controller goes over to that model and back (docs/switching.md).
"""

from collections.abc import Mapping
from functools import partial
from math import acos, ceil, cos, pi, radians, sin, sqrt
from typing import Any

from linkwork.demos.demo import GENTLY, Demo, DemoStep, MeasuredPart, follow, home, move, request
from linkwork.demos.demo_figures import tool_figures, tracking_figures
from linkwork.demos.demo_picture import DemoPicture, efforts, errors, tool_caption
from linkwork.demos.force_figures import (
    bearing,
    bearing_figures,
    effort_figures,
    force,
    force_figures,
    polish_caption,
    press_caption,
)
from linkwork.demos.waypoints import QUARTER, along, begin, circle, waves

Trajectory = dict[str, Any]
HELIX_RAMP_S, HELIX_RATE_RAD_S = 1.0, 0.4 * pi
"""One turn in five seconds."""
TABLE, TABLE_N, CLEAR_M = "table", 20.0, 0.01
"""Contact and force of `scara_polish`, and height off the table where the approach begins."""
ONE_SIDE = {"constraints": {"tip": {"load_limits": {"y": "> 4"}}}}
"""Limit of `five_bar_one_side`: least force (N) across the left forearm, in the bearing at the tip."""
PRESS, TOUCH_N, PRESS_N, OPEN_M = "workpiece", 50.0, 400.0, 0.005
"""Contact and forces of `press`, and height above the workpiece where the approach begins."""


def _measured(coordinates: str, seconds: float, ramp_s: float = 0.5) -> MeasuredPart:
    return MeasuredPart(tuple(coordinates.split()), ramp_s, ramp_s + seconds)


def _tour(text: str, path: Trajectory, measured: MeasuredPart, speed: float = GENTLY) -> list[DemoStep]:
    """To the start, along the path, back."""
    return [move("to the start", begin(path), speed=speed), follow(text, path, measured), home(speed=speed)]


def helix(seconds: float, speed: float = 1.0) -> Trajectory:
    """Xu & Liu's curve (2017): x = 0.05 sin 0.4πt, y = 0.35 + 0.05 cos 0.4πt, z = 0.02 t m, angle 0.

    It is entered and left by a ramp of the path parameter along the curve's extension. speed: 1 is theirs.
    """
    more: dict[str, Any] = {"pitch_speed_m_s": 0.02 * speed, "hold": {"angle": 0.0}}
    return circle((0.0, 0.35, 0.0), 0.05, HELIX_RATE_RAD_S * speed, seconds, HELIX_RAMP_S, **more)


def _scara(seconds: float, speed: float) -> list[DemoStep]:
    return _tour("helix", helix(seconds, speed), _measured("x y z angle", seconds, HELIX_RAMP_S), 1.0)


def _scara_free_wrist(seconds: float, speed: float) -> list[DemoStep]:
    """From a pose near the wrist's limit of 6.28 rad: x and y alone, the wrist tends to the middle."""
    path = circle((0.0, 0.35, 0.0), 0.05, HELIX_RATE_RAD_S * speed, seconds, HELIX_RAMP_S, of="xy")
    free = {"rest": "damp", "prefer": {"posture": {"wrist": 0.0}}}
    there = [move("to the start", begin(path)), move("the wrist to its limit", {"wrist": 6.1}, speed=0.5)]
    return [*there, follow("circle", path | free, _measured("x y", seconds, HELIX_RAMP_S)), home()]


def _five_bar(seconds: float, speed: float) -> list[DemoStep]:
    path = circle((0.0, 0.33, 0.0), 0.06, 2.0 * pi * 1.5 * speed, seconds, 0.5, of="xy")
    return _tour("circles", path, _measured("x y", seconds))


def _five_bar_one_side(seconds: float, speed: float) -> list[DemoStep]:
    """Without the limit of its load the force across the forearm changes its side."""
    path = circle((0.0, 0.33, 0.0), 0.06, 2.0 * pi * 0.5 * speed, seconds, 0.5, of="xy")
    return _tour("circles", path, _measured("x y", seconds))


def _four_bar(seconds: float, speed: float) -> list[DemoStep]:
    swing = waves(speed, coupler=(radians(5.0), radians(25.0), 0.5, -QUARTER))
    return _tour("swings", along(swing, seconds), _measured("coupler", seconds))


def _slot_arm(seconds: float, speed: float) -> list[DemoStep]:
    path = along(waves(speed, reach=(0.55, 0.07, 0.5, -QUARTER)), seconds)
    return [
        move("to the slot", {**begin(path), "height": 0.3}),
        request("slot on", "switch", "slot", True, command="switch slot on"),
        follow("in the slot", path, _measured("reach", seconds)),
        request("slot off", "switch", "slot", False, command="switch slot off"),
        home(),
    ]


RAIL_M, BEHIND_M, ABOVE_M = (0.40, 0.62), 0.08, 0.04
"""Where the carriage of `catch` travels from and to; where the pin is at first, seen from the latch."""


def _catch(seconds: float, speed: float) -> list[DemoStep]:
    """The pin has made up for its lag in half the time, comes down onto the carriage and is held there."""
    way_s, points = seconds / speed, []
    for k in range(n := 2 * ceil(way_s / 0.04) + 1):
        travel, gain, descent = (_blend(k / (n - 1), 0.0, end, way_s) for end in (1.0, 0.5, 1.0))
        rail, reach, height = (
            [scale * each for each in rise]
            for scale, rise in ((RAIL_M[1] - RAIL_M[0], travel), (BEHIND_M, gain), (-2.0 * ABOVE_M, descent))
        )
        reach = [along + lag for along, lag in zip(rail, reach, strict=True)]
        rows = [[RAIL_M[0] - BEHIND_M + reach[0], 0.3 + ABOVE_M + height[0], RAIL_M[0] + rail[0]]]
        rows += [[reach[i], height[i], rail[i]] for i in (1, 2)]
        keys = ("positions", "velocities", "accelerations")
        points.append({"time_from_start_s": way_s * k / (n - 1), **dict(zip(keys, rows, strict=True))})
    caught = {"at": {"point": (n - 1) // 2}, "set": {"gripper": True}}
    path = {"coordinates": ["reach", "height", "rail"], "points": points, "events": [caught]}
    return [
        move("to the start", begin(path)),
        follow("catch", path, MeasuredPart(("reach", "height", "rail"), 0.0, way_s)),
        request("release", "set", gripper=False, command="set gripper=off"),
        home(),
    ]


def _slider_crank(seconds: float, speed: float) -> list[DemoStep]:
    """The slider moves as 1.6 cos ωu, by crank = acos(s/2), then as 2 cos (ωu + φ): each half of the time."""
    rate = 2.0 * pi * 0.4 * speed

    def swing(u: float) -> dict[str, tuple[float, float, float]]:
        c, c1, c2 = 0.8 * cos(rate * u), -0.8 * rate * sin(rate * u), -0.8 * rate**2 * cos(rate * u)
        root = sqrt(1.0 - c * c)
        return {"crank": (acos(c), -c1 / root, -(c2 + c * c1**2 / root**2) / root)}

    half = seconds / 2.0
    swings, turns = along(swing, half), along(lambda u: {"crank": (0.6 + rate * u, rate, 0.0)}, half)
    return [
        move("to the start", begin(swings), 0.05),
        follow("swings", swings, _measured("crank", half), 0.4),
        move("to the start", begin(turns), 0.05),
        follow("turns", turns, _measured("crank", half), 0.4),
        home(0.1, speed=1.0),
    ]


def _platform_3rrs(seconds: float, speed: float) -> list[DemoStep]:
    """Its normal goes round a cone: while it yaws, twice in three turns, then while it heaves."""
    half, away = seconds / 2.0, {f"motor_{k}": 0.6 for k in (1, 2, 3)}
    cone = {"roll": (0.0, 0.12, 0.75, QUARTER), "pitch": (0.0, 0.12, 0.75, 0.0)}
    yawing = along(waves(speed, **cone, yaw=(0.0, 0.15, 0.5, 0.0)), half)
    heaving = along(waves(speed, height=(0.58, 0.03, 0.75, 0.0), **cone), half)
    return [
        move("to the start", begin(yawing), 0.1),
        follow("tilt and yaw", yawing, _measured("roll pitch yaw", half), 0.35),
        move("motors to 0.6", away, 0.05),
        move("to the start", begin(heaving), 0.05),
        follow("heave and tilt", heaving, _measured("height roll pitch", half), 0.35),
        move("motors to 0.6", away, 0.05),
        home(0.1),
    ]


def _scara_polish(seconds: float, speed: float) -> list[DemoStep]:
    """Above the table, down until it is felt, round and round, off again, back."""
    more = {"hold": {"angle": 0.0}, "force": {TABLE: TABLE_N}}
    tolerances = {TABLE: {"path": 5.0, "goal": 2.0}}
    path = circle(
        (0.0, 0.0, 0.0), 0.06, 0.2 / 0.06 * speed, seconds, 1.0, of="st", **more, tolerances=tolerances
    )
    above = {**dict.fromkeys(("s", "t", "n"), CLEAR_M), **begin(path)}
    return [
        move("to the start", above, 0.1, 1.0),
        move("approach", {"n": -CLEAR_M}, 0.1, 1.0, TABLE, TABLE_N),
        follow("polish", path, _measured("s t angle", seconds, 1.0), 0.6),
        move("retract", {"n": 3.0 * CLEAR_M}, 0.1, 1.0),
        home(0.1, 1.0),
    ]


def _press(seconds: float, speed: float) -> list[DemoStep]:
    """Close above the workpiece, down until it is felt, press and release, open."""
    rise = 1.0 / speed
    times = (0.0, rise, rise + seconds, 2.0 * rise + seconds, 2.0 * rise + seconds + 0.5)
    forces = (TOUCH_N, PRESS_N, PRESS_N, TOUCH_N, TOUCH_N)
    points = [{"time_from_start_s": t, "force": f} for t, f in zip(times, forces, strict=True)]
    profile = {"force": {PRESS: points}, "tolerances": {PRESS: {"path": 20.0, "goal": 5.0}}}
    return [
        move("to the workpiece", {"ram": OPEN_M}, 0.1, 1.0),
        move("touch", {"ram": -OPEN_M}, 0.2, 1.0, PRESS, TOUCH_N),
        follow("press", profile, MeasuredPart((), 0.0, 2.0 * rise + seconds), 0.6),
        home(0.1, 1.0),
    ]


PICK_M, PLACE_M = {"x": -0.13, "y": -0.05, "z": -0.47}, {"x": 0.13, "y": 0.05, "z": -0.47}
LIFT_M, WAY_S = 0.07, 0.8
UP, OVER, DOWN = (0.0, 0.4), (0.2, 0.8), (0.6, 1.0)
"""Parts of the way, as fractions of its time: they overlap, which rounds the corners."""
STAY = 0.125
"""At either place, as a fraction of the time of a way."""


def _delta(seconds: float, speed: float) -> list[DemoStep]:
    """Motion there and back for at least the time. A part is one smooth step of six way-points."""
    way_s = WAY_S / speed
    points = [_point(0.0, PICK_M, PLACE_M, 0.0, way_s)]
    for way in range(2 * max(1, ceil(seconds / (2.0 * way_s * (1.0 + STAY)) - 1e-9))):
        here, there = (PICK_M, PLACE_M) if way % 2 == 0 else (PLACE_M, PICK_M)
        began = way * way_s * (1.0 + STAY)
        points += [_point(began + way_s * x, here, there, x, way_s) for x in (0.2, 0.4, 0.6, 0.8, 1.0)]
        points.append(_point(began + way_s * (1.0 + STAY), there, here, 0.0, way_s))
    path = {"coordinates": list(PICK_M), "points": points}
    measured = MeasuredPart(("x", "y", "z"), 0.0, seconds)
    return [move("to the pick", PICK_M), follow("pick and place", path, measured), home()]


def _point(
    time_s: float, here: Mapping[str, float], there: Mapping[str, float], x: float, way_s: float
) -> dict[str, Any]:
    """The way-point at a fraction x of the way from here to there."""
    over, up, down = (_blend(x, *part, way_s) for part in (OVER, UP, DOWN))
    rows = []
    for order in range(3):
        rows.append([(there[name] - here[name]) * over[order] for name in here])
        rows[order][2] += LIFT_M * (up[order] - down[order])
    place = [begun + moved for begun, moved in zip(here.values(), rows[0], strict=True)]
    point = {"time_from_start_s": time_s, "positions": place}
    return {**point, "velocities": rows[1], "accelerations": rows[2]}


def _blend(x: float, begin: float, end: float, way_s: float) -> tuple[float, float, float]:
    """From 0 to 1 between two fractions of the way, at rest at both: 10 y³ - 15 y⁴ + 6 y⁵, and its rates."""
    y, width_s = min(max((x - begin) / (end - begin), 0.0), 1.0), (end - begin) * way_s
    return (
        y**3 * (10.0 - 15.0 * y + 6.0 * y**2),
        30.0 * y**2 * (1.0 - y) ** 2 / width_s,
        60.0 * y * (1.0 - y) * (1.0 - 2.0 * y) / width_s**2,
    )


MOTIONS = {
    "scara": Demo(
        "scara", "A SCARA follows a helix", 5.0, _scara, (tool_figures, tracking_figures),
        DemoPicture(tool_caption),
    ),
    "scara_free_wrist": Demo(
        "scara", "A SCARA follows x and y, its wrist free and kept far from a limit", 5.0, _scara_free_wrist
    ),
    "five_bar": Demo(
        "five_bar", "A five-bar draws circles, driven and measured at two joints", 4.0, _five_bar, truth=True
    ),
    "five_bar_one_side": Demo(
        "five_bar_redundant", "A five-bar keeps the bearing at its tip on one side", 4.0, _five_bar_one_side,
        (tracking_figures, partial(bearing_figures, row="tip.y")),
        DemoPicture(right=(errors, partial(bearing, row="tip.y"), efforts)), patch=ONE_SIDE,
    ),
    "delta": Demo("delta", "A delta robot picks and places", 7.2, _delta, truth=True),
    "platform_3rrs": Demo(
        "platform_3rrs", "A platform on three legs tilts, yaws and heaves", 8.0, _platform_3rrs, truth=True
    ),
    "slider_crank": Demo(
        "slider_crank", "A slider moves as a sine, its crank through the branch poses", 10.0, _slider_crank,
        truth=True,
    ),
    "four_bar": Demo(
        "four_bar", "The coupler of a four-bar swings, driven at the first link", 8.0, _four_bar, truth=True
    ),
    "slot_arm": Demo(
        "slot_arm", "The pin of an arm enters a slot, runs in it, and leaves it", 6.0, _slot_arm
    ),
    "catch": Demo("catch", "An arm latches to a moving carriage and travels on with it", 2.0, _catch),
    "scara_polish": Demo(
        "scara_polish", "A SCARA polishes a tilted table", 6.0, _scara_polish,
        (tracking_figures, partial(force_figures, contact=TABLE)),
        DemoPicture(
            partial(polish_caption, contact=TABLE), right=(errors, partial(force, contact=TABLE)),
            same_time=False,
        ),
    ),
    "press": Demo(
        "press", "A press touches a workpiece and presses it", 2.0, _press,
        (effort_figures, partial(force_figures, contact=PRESS)),
        DemoPicture(partial(press_caption, contact=PRESS), None, (partial(force, contact=PRESS),)),
    ),
}  # fmt: skip
