"""All assembly modes of parallel machines with locked legs: counted by a polynomial, found by random starts.

The planar 3-RPR is that of Innocenti and Parenti-Castelli 1992, with six real assembly modes. With the turn
φ of the platform given, two differences of the three leg equations are linear in its place; the third
equation is then a polynomial of degree 6 in t = tan φ/2. The spatial machine has six legs that meet in pairs
at the platform: each vertex moves on a circle about the line through its two feet (Nanua, Waldron & Murthy
1990), and the three sides of the platform give a polynomial of degree 16 in the tangent of half an angle.
The platform of Dietmaier 1998 has forty real assembly modes, as many as such a platform can have.
"""

import math
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace

import numpy as np
import pytest

from linkwork import machine
from linkwork.arrays import Floats
from linkwork.convert.assembly_search import ValuesDepend, assembly_modes, initial_values
from linkwork.machine.building.initial_assembly import admitted
from linkwork.machine.building.kept_values import keeping, values_of
from linkwork.machine.sections.orientation import rotation_of
from linkwork.multibody.assembly.assembly import AssemblyError, assemble
from linkwork.multibody.functions import point_position
from linkwork.multibody.tree.quaternions import normalised, to_matrix
from linkwork.plant.simulator.plant_state import BRAKE
from linkwork.plant.simulator.simulator import Simulator

FEET = np.array([[0.0, 0.0], [1.591, 0.0], [0.0, 1.0]])
SIDES, PLANAR_LEGS = (1.704, 1.654, 2.084), np.array([1.498, 1.538, 1.2])
ALONG = (SIDES[0] ** 2 + SIDES[2] ** 2 - SIDES[1] ** 2) / (2.0 * SIDES[0])
PLATE = np.array([[0.0, 0.0], [SIDES[0], 0.0], [ALONG, np.sqrt(SIDES[2] ** 2 - ALONG**2)]])

AT = np.radians([-15, 15, 105, 135, 225, 255])
BASE = 0.6 * np.column_stack([np.cos(AT), np.sin(AT), 0.0 * AT])
FORTY_FEET = np.array(
    [
        [0.0, 0.0, 0.0],
        [1.107915, 0.0, 0.0],
        [0.549094, 0.756063, 0.0],
        [0.735077, -0.223935, 0.525991],
        [0.514188, -0.526063, -0.368418],
        [0.590473, 0.094733, -0.205018],
    ]
)
FORTY_TOPS = np.array(
    [
        [0.0, 0.0, 0.0],
        [0.542805, 0.0, 0.0],
        [0.956919, -0.528915, 0.0],
        [0.665885, -0.353482, 1.402538],
        [0.478359, 1.158742, 0.107672],
        [-0.137087, -0.235121, 0.353913],
    ]
)
FORTY_LEGS = np.array([1.0, 0.645275, 1.086284, 1.503439, 1.281933, 0.771071])
SPATIAL_LEGS, TRIANGLE = np.array([0.86, 0.92, 0.64, 0.61, 0.82, 0.9]), (0.88, 0.48, 0.64)


def coefficients(value: Callable[[complex], complex], degree: int) -> Floats:
    """Coefficients (ascending) of a real polynomial of this degree, from its values on the unit circle."""
    count = 2 * degree + 4
    turns = np.exp(2j * np.pi * (np.arange(count) + 0.5) / count)
    found = np.fft.fft([value(t) for t in turns]) / count * np.exp(-1j * np.pi * np.arange(count) / count)
    assert np.abs(found[degree + 1 :]).max() < 1e-12 * np.abs(found).max()
    return found.real[: degree + 1]


def real_roots(ascending: Floats) -> Floats:
    roots = np.roots(ascending[::-1])
    return np.sort(roots[np.abs(roots.imag) < 1e-7].real)


def planar_turns() -> Floats:
    """Turns φ of the platform of the 3-RPR in its real assembly modes."""

    def value(t: complex) -> complex:
        c, s = (1 - t * t) / (1 + t * t), 2 * t / (1 + t * t)
        d = PLATE @ np.array([[c, -s], [s, c]]).T - FEET  # |p + d_i|² = ρ_i²
        m = 2.0 * (d[1:] - d[0])
        r = PLANAR_LEGS[1:] ** 2 - PLANAR_LEGS[0] ** 2 - (d[1:] ** 2).sum(axis=1) + (d[0] ** 2).sum()
        size = m[0, 0] * m[1, 1] - m[0, 1] * m[1, 0]
        place = np.array([r[0] * m[1, 1] - r[1] * m[0, 1], m[0, 0] * r[1] - m[1, 0] * r[0]]) + size * d[0]
        return (place @ place - size**2 * PLANAR_LEGS[0] ** 2) * (1 + t * t) ** 3

    return np.sort(2.0 * np.arctan(real_roots(coefficients(value, 6))))


def circle(pair: int) -> tuple[Floats, float, Floats, Floats]:
    """Centre, radius and two axes of the circle on which the vertex of two legs moves."""
    (a, b), (long, short) = BASE[2 * pair : 2 * pair + 2], SPATIAL_LEGS[2 * pair : 2 * pair + 2]
    span = float(np.linalg.norm(b - a))
    u = (b - a) / span
    x = (long**2 - short**2 + span**2) / (2.0 * span)
    out = np.cross(u, (0.0, 0.0, 1.0))
    return a + x * u, float(np.sqrt(long**2 - x**2)), out, np.cross(u, out)


def side(i: int, j: int, length: float) -> Floats:
    """K (3 × 3): |P_i - P_j|² - length² = (1, cos θ_i, sin θ_i) K (1, cos θ_j, sin θ_j)'."""
    (o, r, *axes), (o2, r2, *axes2) = circle(i), circle(j)
    d, own, other = o - o2, r * np.array(axes), r2 * np.array(axes2)
    k = np.empty((3, 3))
    k[0, 0] = d @ d + r * r + r2 * r2 - length**2
    k[1:, 0], k[0, 1:], k[1:, 1:] = 2.0 * own @ d, -2.0 * other @ d, -2.0 * own @ other.T
    return k


def spatial_angles() -> Floats:
    """Angles of the first vertex in the real assembly modes of the six-legged platform."""
    to_powers = np.array([[1.0, 0.0, 1.0], [1.0, 0.0, -1.0], [0.0, 2.0, 0.0]])
    first, second, third = side(0, 1, TRIANGLE[0]), side(1, 2, TRIANGLE[1]), side(2, 0, TRIANGLE[2])

    def whole(t: complex) -> Floats:
        return np.array([1 + t * t, 1 - t * t, 2 * t])

    def value(t: complex) -> complex:
        f, g = whole(t) @ first @ to_powers, third @ whole(t) @ to_powers
        result = f[2] ** 4
        for other in np.roots(f[::-1]):
            h = whole(other) @ second @ to_powers
            sylvester = np.zeros((4, 4), dtype=complex)
            sylvester[0, :3] = sylvester[1, 1:] = g[::-1]
            sylvester[2, :3] = sylvester[3, 1:] = h[::-1]
            result = result * np.linalg.det(sylvester)
        return result

    return np.sort(2.0 * np.arctan(real_roots(coefficients(value, 16))))


def planar_machine() -> str:
    thin = "inertia_kg_m2: [0.01, 0.01, 0.01, 0, 0, 0]"
    bodies, joints, pins, motors = "", "", "", ""
    for i in range(3):
        bodies += f"  tube{i}: {{mass_kg: 1, {thin}}}\n  rod{i}: {{mass_kg: 0.5, {thin}}}\n"
        joints += (
            f"  foot{i}: {{type: revolute, parent: world, child: tube{i}, axis: [0, 0, 1], "
            f"at_m: {[*FEET[i].tolist(), 0.0]}}}\n"
            f"  leg{i}: {{type: prismatic, parent: tube{i}, child: rod{i}, axis: [1, 0, 0]}}\n"
        )
        place = [*PLATE[i].tolist(), 0.0]
        pins += (
            f"  pin{i}: {{type: pin, normal: [0, 0, 1], a: {{body: plate, at_m: {place}}}, "
            f"b: {{body: rod{i}}}}}\n"
        )
        motors += f"  leg{i}: {{max_force_N: 500, max_speed_m_s: 1, brake_force_N: 500}}\n"
    return (
        f"name: planar\ngravity_m_s2: [0, -9.81, 0]\n"
        f"bodies:\n  plate: {{mass_kg: 3, {thin}}}\n{bodies}joints:\n"
        f"{joints}  pose: {{type: planar, parent: world, child: plate, axis: [0, 0, 1]}}\n"
        f"constraints:\n{pins}motors:\n{motors}"
        f"initial: {{leg0_m: {PLANAR_LEGS[0]}, leg1_m: {PLANAR_LEGS[1]}, "
        f"leg2_m: {PLANAR_LEGS[2]}}}\n"
        f"initial_guess: {{pose.x_m: 0.5, pose.y_m: 1, pose.turn_rad: {planar_turns()[-1]}}}\n"
    )


def spatial_vertices() -> Floats:
    """The platform's vertices in its own frame."""
    a, b, c = TRIANGLE
    x = (a * a + c * c - b * b) / (2.0 * a)
    return np.array([[0.0, 0.0, 0.0], [a, 0.0, 0.0], [x, np.sqrt(c * c - x * x), 0.0]])


def spatial_machine(feet: Floats, tops: Floats, lengths: Floats) -> str:
    thin = "inertia_kg_m2: [0.01, 0.01, 0.01, 0, 0, 0]"
    bodies, joints, closures, motors = "", "", "", ""
    for i in range(6):
        bodies += f"  tube{i}: {{mass_kg: 0.5, {thin}}}\n  rod{i}: {{mass_kg: 0.5, {thin}}}\n"
        joints += (
            f"  foot{i}: {{type: universal, parent: world, child: tube{i}, at_m: {feet[i].tolist()}, "
            f"axis: [1, 0, 0], second_axis: [0, 1, 0]}}\n"
            f"  leg{i}: {{type: prismatic, parent: tube{i}, child: rod{i}, axis: [0, 0, 1]}}\n"
        )
        place = tops[i].tolist()
        closures += f"  top{i}: {{type: point, a: {{body: rod{i}}}, b: {{body: plate, at_m: {place}}}}}\n"
        motors += f"  leg{i}: {{max_force_N: 500, max_speed_m_s: 1, brake_force_N: 500}}\n"
    legs = ", ".join(f"leg{i}_m: {length}" for i, length in enumerate(lengths))
    return (
        f"name: spatial\nbodies:\n  plate: {{mass_kg: 3, {thin}}}\n{bodies}joints:\n"
        f"  pose: {{type: free, parent: world, child: plate}}\n{joints}constraints:\n{closures}"
        f"motors:\n{motors}initial: {{{legs}}}\ninitial_guess: {{pose.z_m: 0.6}}\n"
    )


def modes(loaded, legs: Floats, shape: Callable[[Floats], Floats], starts: int, seed: int) -> list[Floats]:
    """Different postures q with legs locked, from random starts; `shape` tells them apart."""
    names = [f"leg{i}" for i in range(len(legs))]
    values = values_of(loaded.mechanism, loaded.initial_q) | dict(zip(names, legs.tolist(), strict=True))
    locked = keeping(loaded.mechanism, names, values)
    rng, found = np.random.default_rng(seed), list[Floats]()
    places = [loaded.mechanism.joint_index(name) for name in names]
    for _ in range(starts):
        q = loaded.initial_q + rng.uniform(-np.pi, np.pi, loaded.mechanism.nq)
        q[places] = legs
        for name in ("pose.x", "pose.y", "pose.z"):
            if name in loaded.mechanism.joint_names:
                q[loaded.mechanism.joint_index(name)] = rng.uniform(-1.0, 1.5)
        if loaded.mechanism.nq > loaded.mechanism.nv:
            first = loaded.mechanism.joint_index("pose.rx")
            q[[-1, first, first + 1, first + 2]] = normalised(rng.normal(size=4))
        with suppress(AssemblyError):
            posture = assemble(locked, q).q
            if all(np.abs(shape(posture) - shape(other)).max() > 1e-5 for other in found):
                assert admitted(locked, posture).shape[1] == 0  # rigid
                found.append(posture)
    return found


def rests(loaded, posture: Floats, seconds: float) -> None:
    """The machine stands there for some time under its brakes."""
    there = replace(loaded, initial_q=posture, initial_v=np.zeros(loaded.mechanism.nv))
    plant = Simulator(there)
    begin = plant.q.copy()
    np.testing.assert_allclose(np.abs(begin), np.abs(posture), atol=1e-9)
    plant.latch(BRAKE, np.zeros(len(loaded.motors)))
    plant.integrate(round(seconds / loaded.plant.period_s))
    np.testing.assert_allclose(plant.q, begin, atol=1e-6)
    assert np.abs(plant.v).max() < 1e-6


@pytest.fixture
def planar(tmp_path):
    path = tmp_path / "planar.yaml"
    path.write_text(planar_machine())
    return machine.load(path)


@pytest.fixture
def spatial(tmp_path):
    path = tmp_path / "spatial.yaml"
    path.write_text(spatial_machine(BASE, spatial_vertices()[[0, 0, 1, 1, 2, 2]], SPATIAL_LEGS))
    return machine.load(path)


@pytest.fixture
def forty(tmp_path):
    path = tmp_path / "forty.yaml"
    path.write_text(spatial_machine(FORTY_FEET, FORTY_TOPS, FORTY_LEGS))
    return machine.load(path)


def corners(loaded) -> Callable[[Floats], Floats]:
    first = loaded.mechanism.joint_index("pose.x")

    def shape(q: Floats) -> Floats:
        if loaded.mechanism.nq == loaded.mechanism.nv:
            return q[first : first + 2] + PLATE @ rotation_of(0.0, 0.0, q[first + 2])[:2, :2].T
        turn = to_matrix([q[-1], *q[first + 3 : first + 6]])
        return q[first : first + 3] + spatial_vertices() @ turn.T

    return shape


def test_random_starts_find_all_six_modes_of_a_planar_machine(planar):
    turns = planar_turns()
    assert len(turns) == 6
    found = modes(planar, PLANAR_LEGS, corners(planar), 120, 3)
    place = planar.mechanism.joint_index("pose.turn")
    ends = np.sort([np.arctan2(np.sin(q[place]), np.cos(q[place])) for q in found])
    np.testing.assert_allclose(ends, turns, atol=1e-8)
    for posture in found:
        rests(planar, posture, 1.0)


def angle_of_first(loaded, posture: Floats) -> float:
    centre, _, out, up = circle(0)
    arm = corners(loaded)(posture)[0] - centre
    return float(np.arctan2(arm @ up, arm @ out))


def check_spatial(spatial, starts: int, seed: int, seconds: float) -> int:
    """Find modes that are all among the real ones of the polynomial, and rest; return their number."""
    angles = spatial_angles()
    assert len(angles) == 8
    found = modes(spatial, SPATIAL_LEGS, corners(spatial), starts, seed)
    for posture in found:
        assert np.abs(angles - angle_of_first(spatial, posture)).min() < 1e-7
        rests(spatial, posture, seconds)
    return len(found)


def test_the_search_lists_all_six_modes_of_a_planar_machine_to_paste(planar, tmp_path):
    listed = assembly_modes(planar, {}, fruitless=40)
    place = planar.mechanism.joint_index("pose.turn")
    ends = np.sort([math.remainder(mode.q[place], math.tau) for mode in listed.modes])
    np.testing.assert_allclose(ends, planar_turns(), atol=1e-8)
    assert [mode.initial for mode in listed.modes] == [True] + 5 * [False]
    text = planar_machine().partition("initial:")[0]
    for mode in listed.modes:
        (tmp_path / "pasted.yaml").write_text(
            text
            + str(initial_values(planar, mode, listed.held))[1:-1].replace(
                ", 'initial_guess'", "\n'initial_guess'"
            )
        )
        pasted = machine.load(tmp_path / "pasted.yaml")
        np.testing.assert_allclose(corners(pasted)(pasted.initial_q), corners(planar)(mode.q), atol=1e-6)


def test_the_search_lists_all_eight_modes_of_a_six_legged_machine(spatial):
    """All have another angle of the first vertex, each a root of the polynomial; cardan flips count once."""
    listed = assembly_modes(spatial, {})
    found = np.sort([angle_of_first(spatial, mode.q) for mode in listed.modes])
    np.testing.assert_allclose(found, spatial_angles(), atol=1e-7)
    assert min(mode.conditioning for mode in listed.modes) > 0.005


@pytest.mark.slow
def test_no_mode_where_rows_are_short_is_listed_twice(forty):
    """A residual of 1e-9 left one of them in two places, 4e-5 apart."""
    assert len(assembly_modes(forty, {}, fruitless=60, seed=15, estimate=True).modes) <= 40


@pytest.mark.slow
def test_short_directions_of_the_rows_hide_no_modes(forty):
    """Six of the modes have singular values below 1e-4 of the largest, and are not found without these."""
    listed = assembly_modes(forty, {}, fruitless=60, estimate=True)
    first = forty.mechanism.joint_index("pose.x")
    for mode in listed.modes:
        turn = to_matrix([mode.q[-1], *mode.q[first + 3 : first + 6]])
        legs = np.linalg.norm(mode.q[first : first + 3] + FORTY_TOPS @ turn.T - FORTY_FEET, axis=1)
        np.testing.assert_allclose(legs, FORTY_LEGS, atol=1e-8)
    assert 36 <= len(listed.modes) <= 40
    assert sum(mode.conditioning < 1e-4 for mode in listed.modes) >= 3
    assert listed.missing <= listed.missing_range[1] >= 40 - len(listed.modes) >= listed.missing_range[0]


def test_modes_are_listed_for_other_values_of_the_motors(planar):
    legs = {f"leg{i}": float(length) for i, length in enumerate(PLANAR_LEGS)}
    far = assembly_modes(planar, {**legs, "leg0": 9.0}, fruitless=10)
    assert far.modes == ()
    with pytest.raises(ValuesDepend, match="foot0"):
        assembly_modes(planar, {**legs, "foot0": 0.1})


def test_random_starts_find_modes_of_a_six_legged_machine(spatial):
    assert check_spatial(spatial, 12, 1, 0.02) >= 2


def common_points(centres: Floats, radius: float) -> list[Floats]:
    """The points (3) at one distance from three centres (3 × 3): two, or none."""
    x = centres[1] - centres[0]
    across = centres[2] - centres[0]
    normal = np.cross(x, across)
    foot = np.linalg.solve(np.array([x, across, normal]), [0.5 * x @ x, 0.5 * across @ across, 0.0])
    height2 = radius**2 - foot @ foot
    if height2 < 0.0:
        return []
    up = np.sqrt(height2) * normal / np.linalg.norm(normal)
    return [centres[0] + foot + up, centres[0] + foot - up]


@pytest.mark.slow
@pytest.mark.parametrize("degrees", [[20, 20, 20], [62, 55, 50]], ids=str)
def test_modes_of_a_delta_are_the_intersections_of_three_spheres(degrees):
    """Parallelograms keep the platform's orientation; the wrists are one rod's length from the elbows.

    The three directions t of the bars have the sum 0, in the platform and at the elbows. So R t = -t holds
    for all three or none: parallelograms whose rods cross would need wrists straight below their elbows, and
    do not reach with these angles. Hinges that are turned over are no modes.
    """
    delta = machine.load("delta")
    angles = np.radians(degrees)
    found = assembly_modes(delta, {f"motor_{k + 1}": angle for k, angle in enumerate(angles)})
    out = np.array([[np.cos(a), np.sin(a), 0.0] for a in np.radians([0.0, 120.0, 240.0])])
    elbows = (0.2 + 0.25 * np.cos(angles))[:, None] * out - 0.25 * np.sin(angles)[:, None] * [0.0, 0.0, 1.0]
    places = common_points(elbows - 0.06 * out, 0.5)
    tools = np.array([point_position(delta.mechanism, "tool", mode.q) for mode in found.modes])
    assert len(tools) == len(places) == 2
    for place in places:
        assert np.abs(tools - place).max(axis=1).min() < 1e-8
