"""Parameters of many plants of one machine are those of each machine loaded alone, bit for bit."""

from collections.abc import Callable
from contextlib import suppress
from functools import reduce
from operator import getitem
from pathlib import Path

import numpy as np
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from linkwork import load
from linkwork.arrays import Floats
from linkwork.machine import Machine, MachineError
from linkwork.machine.building.overrides import settable
from linkwork.machine.loading import checked_file
from linkwork.offline.parameter_sets import ParameterSets
from tests.machine.ball_ended import delta, text_of

MACHINES = ("slider_crank", "four_bar", "five_bar", "scara_polish")


def numbers_of(machine: Machine) -> dict[str, float]:
    """Every setting that is one number, by its full name, with the value of the file."""
    file, found = checked_file(machine), {}
    data = file.model_dump(exclude_none=True)
    for name, place in settable(file).items():
        with suppress(KeyError):
            value = reduce(getitem, place, data)
            if isinstance(value, float) and name.startswith(str(place[0])):
                found[name] = value
    return found


def outcome(make: Callable[[], Floats]) -> bytes | str:
    """The parameters that are made, or the text of their refusal."""
    try:
        return make().tobytes()
    except MachineError as error:
        return str(error)


@settings(max_examples=8, derandomize=True, deadline=None, phases=[Phase.explicit, Phase.generate])
@given(data=st.data(), name=st.sampled_from(MACHINES))
def test_each_set_is_the_machine_loaded_with_it(data: st.DataObject, name: str) -> None:
    machine = load(name)
    known = numbers_of(machine)
    names = data.draw(st.lists(st.sampled_from(sorted(known)), min_size=1, max_size=4, unique=True))
    sets = ParameterSets(machine, names)
    for _ in range(2):
        factors = data.draw(st.lists(st.floats(1.0, 1.05), min_size=len(names), max_size=len(names)))
        values = [known[each] * factor for each, factor in zip(names, factors, strict=True)]
        given_settings = [f"{each}={value!r}" for each, value in zip(names, values, strict=True)]
        alone = outcome(lambda texts=given_settings: load(name, texts).plant_mechanism.model.buffer)
        assert outcome(lambda values=values: sets.model(values).buffer) == alone


@pytest.mark.parametrize(
    ("name", "value", "text"),
    [("bodies.crank.mass_kg", -1.0, "0 or more"), ("bodies.rod.mass_kg", 0.0, "mass")],
)
def test_a_later_set_is_refused_as_the_machine_alone(name: str, value: float, text: str) -> None:
    machine = load("slider_crank")
    sets = ParameterSets(machine, [name])
    sets.model([1.0])
    with pytest.raises(MachineError, match=text) as refused:
        sets.model([value])
    with pytest.raises(MachineError) as alone:
        load("slider_crank", [f"{name}={value}"])
    assert str(refused.value) == str(alone.value)
    again = load("slider_crank", [f"{name}=1.0"]).plant_mechanism
    assert np.array_equal(sets.model([1.0]).buffer, again.model.buffer)


def test_idle_motions_keep_their_damping(tmp_path: Path) -> None:
    """Rods with two ball joints turn about themselves, lightly damped unless their joint has friction."""
    path = tmp_path / "machine.yaml"
    path.write_text(text_of(delta()))
    machine = load(path)
    (joint, *_) = (motion.joint.partition(".")[0] for motion in machine.assembly.idle)
    names = [name for name in numbers_of(machine) if name.startswith(f"joints.{joint}.")]
    sets = ParameterSets(machine, names)
    sets.model([0.0 if "coulomb_speed" not in name else 1e-3 for name in names])
    for size in (0.0, 0.01):
        values = [1e-3 if "coulomb_speed" in name else size for name in names]
        alone = load(path, [f"{name}={value}" for name, value in zip(names, values, strict=True)])
        assert np.array_equal(sets.model(values).buffer, alone.plant_mechanism.model.buffer)


def test_settings_that_contradict_each_other_are_a_stated_problem() -> None:
    with pytest.raises(MachineError, match="rpy_rad"):
        load("slider_crank", ["joints.knee.rpy_rad=0.0", "joints.knee.rpy_rad[0]=0.0"])
