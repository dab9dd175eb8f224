"""Kernels as checked Python: the same bits, and an error for an index out of range."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from linkwork.machine import shipped
from linkwork.multibody.kernels.compiling import DEBUG_VARIABLE

ROOT = Path(__file__).parents[2]
_TICKS = """
from tests.controller.loop.in_process import enabled
from linkwork.machine import load
process = enabled(load("five_bar"))
for _ in range(5):
    process.tick()
print(process.record.tobytes().hex())
"""
_PERIODS = """
import sys
import numpy as np
from linkwork.machine import load
from linkwork.plant.simulator.simulator import Simulator
for name in sys.argv[1:]:
    simulator = Simulator(load(name), seed=1)
    efforts = np.linspace(-1.0, 1.0, len(simulator.machine.motors))
    for mode in (0, 2, 3):
        simulator.latch(mode, efforts)
        simulator.integrate(2)
    print(name, simulator.work.buffer.tobytes().hex())
"""
_LONG = {"delta", "delta_gripper", "platform_3rrs", "platform_huang", "scara_gripper"}
_MISTAKES = """
import numpy as np
from typing import Annotated
from linkwork.arrays import Floats
from linkwork.multibody.kernels.compiling import block, kernel
from linkwork.multibody.kernels.structs import Struct
from linkwork.multibody.workspace import Model, Workspace
from tests.multibody.machines import pendulum

class GivenArrays(Struct):
    values: Floats
    table: Annotated[Floats, "rows, columns"]

@kernel
def entry(values: Floats, i: int) -> float:
    return values[i]

@kernel
def part_of(values: Floats, start: int) -> float:
    return block(values, start, 2, 2)[0, 0]

@kernel
def corner(given: GivenArrays, i: int) -> float:
    return given.table[i, 0]

@kernel
def beyond_field(m: Model, w: Workspace) -> None:
    w.q[m.nq] = 1.0

numbers, given = np.arange(5.0), GivenArrays(values=np.zeros(2), table=np.zeros((2, 3)))
assert entry(numbers, 4) == 4.0 and part_of(numbers, 1) == 1.0 and corner(given, 1) == 0.0
for mistake in (
    lambda: entry(numbers, 5),
    lambda: entry(numbers, -1),
    lambda: part_of(numbers, 2),
    lambda: corner(given, 2),
    lambda: beyond_field(*pendulum().workspace().arguments),
    lambda: entry(numbers.astype(np.float32), 0),
    lambda: corner(pendulum().model, 0),
):
    try:
        mistake()
    except (IndexError, TypeError) as error:
        print(type(error).__name__, error)
    else:
        print("nothing")
"""


def run(script: str, *words: str, **environment: str) -> subprocess.CompletedProcess[str]:
    given = {**os.environ, "PYTHONPATH": str(ROOT), **environment}
    return subprocess.run(
        [sys.executable, "-c", script, *words],
        cwd=ROOT,
        env=given,
        capture_output=True,
        text=True,
        check=True,
    )


def same(a: str, b: str) -> None:
    one, other = (np.frombuffer(bytes.fromhex(text.strip()), np.uint64) for text in (a, b))
    np.testing.assert_array_equal(one, other)


def test_debug_mode_names_an_index_out_of_range() -> None:
    told = run(_MISTAKES, **{DEBUG_VARIABLE: "1"}).stdout.splitlines()
    assert told[0] == "IndexError index 5 is out of bounds for axis 0 with size 5"
    assert told[1] == "IndexError index -1 is below 0: no kernel counts from an array's end"
    assert told[2] == "IndexError 2 × 2 entries from 2 on, in an array of 5"
    assert told[3] == "IndexError index 2 is out of bounds for axis 0 with size 2"
    assert told[4] == "IndexError index 1 is out of bounds for axis 0 with size 1"
    assert told[5] == "TypeError array of float32 given for a contiguous one of float64"
    assert told[6] == "TypeError Model given for a GivenArrays"


@pytest.mark.slow
def test_ticks_of_a_closed_chain_stay_inside_their_arrays() -> None:
    """A whole machine in debug mode, from its file to the motors: the same record, bit for bit."""
    same(run(_TICKS, **{DEBUG_VARIABLE: "1"}).stdout, run(_TICKS).stdout)


@pytest.mark.parametrize(
    "names",
    [sorted(set(shipped()) - _LONG), pytest.param(sorted(_LONG), marks=pytest.mark.slow)],
    ids=["", "long"],
)
def test_every_shipped_machine_moves_alike_in_python_and_c(names: list[str]) -> None:
    """All of a machine's kernels, from its assembly to periods with brakes, efforts and damping."""
    assert names
    assert run(_PERIODS, *names, **{DEBUG_VARIABLE: "1"}).stdout == run(_PERIODS, *names).stdout
