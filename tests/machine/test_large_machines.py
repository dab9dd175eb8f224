"""What `check` does with a machine of many loops grows with the machine, not with the poses that it tries."""

import cProfile
import pstats

import pytest

from linkwork.machine import check


def four_bars(count: int) -> str:
    """Four-bars side by side, each with a motor and a sensor on its crank."""
    inertia = "inertia_kg_m2: {xx: 0.001, yy: 0.01, zz: 0.01}"
    bodies, joints, constraints, initial, guess = "", "", "", [], []
    motors, sensors = [], []
    for k in range(count):
        for part, length in (("crank", 0.1), ("coupler", 0.3), ("rocker", 0.25)):
            bodies += f"  {part}{k}: {{mass_kg: 1, com_m: [{length / 2}, 0, 0], {inertia}}}\n"
        for part, parent, at in (
            ("crank", "world", (0, 0.1 * k)),
            ("coupler", f"crank{k}", (0.1, 0)),
            ("rocker", "world", (0.3, 0.1 * k)),
        ):
            joints += f"  {part}{k}: {{type: revolute, parent: {parent}, child: {part}{k}, "
            joints += f"at_m: [{at[0]}, 0, {at[1]}], axis: [0, 0, 1]}}\n"
        ends = ((f"coupler{k}", 0.3), (f"rocker{k}", 0.25))
        a, b = (f"{{body: {body}, at_m: [{at}, 0, 0]}}" for body, at in ends)
        constraints += f"  pin{k}: {{type: pin, a: {a}, b: {b}, normal: [0, 0, 1]}}\n"
        initial.append(f"crank{k}_deg: 60")
        guess.append(f"coupler{k}_deg: -30, rocker{k}_deg: 80")
        motors.append(f"crank{k}: {{max_torque_N_m: 10, max_speed_rad_s: 15, brake_torque_N_m: 6}}")
        sensors.append(f"crank{k}: {{velocity: true}}")
    lists = {"initial": initial, "initial_guess": guess, "motors": motors, "sensors": sensors}
    sections = "".join(f"{name}: {{{', '.join(parts)}}}\n" for name, parts in lists.items())
    return f"name: bars\nbodies:\n{bodies}joints:\n{joints}constraints:\n{constraints}{sections}"


@pytest.mark.parametrize("count", [4, 12])
def test_mechanisms_and_masses_are_not_made_again_for_each_pose(write, count) -> None:
    """Both take time with the second or third power of the machine's size."""
    path = write(four_bars(count))
    profile = cProfile.Profile()
    problems = profile.runcall(check, path)
    assert [each.severity for each in problems] == ["warning"]
    assert "other assembly modes" in problems[0].message
    calls = {name: row[0] for (_, _, name), row in pstats.Stats(profile).stats.items()}
    assert calls["links_of"] <= 4
    assert calls["cholesky"] == 2 * count, "once for each of the two trees of a four-bar"
