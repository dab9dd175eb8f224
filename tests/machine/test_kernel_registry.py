"""The registry of kernels: a process compiles the kernels that it lists for the machine, no others."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from linkwork.machine import for_controller, load
from linkwork.machine.chains import resolved
from linkwork.machine.kernel_registry import (
    KINDS,
    REGISTRY,
    KernelProcess,
    common_modules,
    modules_for,
    period_name,
)
from linkwork.multibody.kernels import compiling
from linkwork.protocol.laws import LawKind

ROOT = Path(__file__).parents[2]
_TICKS = """
import json, sys
import numpy as np
import linkwork.plant.offline.minimal_run  # imported, but in no row of these processes
from linkwork.controller.laws.law_table import laws_of
from linkwork.controller.planning.stopping import fill_tables
from linkwork.machine import load
from linkwork.machine.kernel_registry import KernelProcess, prepare
from linkwork.multibody.kernels.compiling import _declared, fetched
from tests.controller.loop.in_process import InProcess

machine = load(sys.argv[1])
found = [fetched()]
for process in (KernelProcess.GATEWAY, KernelProcess.PLANT, KernelProcess.LOOP):
    prepare(process, machine)
    found.append(fetched())
run = InProcess(machine)
run.enable()
for _ in range(5):
    run.tick()
for law in laws_of(machine).values():
    law(run.controller._ahead, run.controller._law._reference, np.zeros(machine.mechanism.nv))
found.append(fetched())
fill_tables.compile(next(signature for one, signature in _declared if one is fill_tables))  # the planner's
print(json.dumps([sorted(each) for each in found]))
"""


def ticks_of(name: str) -> tuple[list[set[str]], list[str]]:
    """Kernels fetched by reading the file, by preparing each process, and by ticks; then late fetches."""
    ran = subprocess.run(
        [sys.executable, "-c", _TICKS, name],
        cwd=ROOT, env={**os.environ, "PYTHONPATH": str(ROOT)}, capture_output=True, text=True, check=True,
    )  # fmt: skip
    late = [line for line in ran.stderr.splitlines() if "kernel_registry.py" in line]
    return [set(each) for each in json.loads(ran.stdout.splitlines()[-1])], late


@pytest.mark.parametrize("name", ["scara_polish", "five_bar"])
def test_a_machine_compiles_no_kernel_that_is_not_listed(name: str) -> None:
    (read, gateway, _, prepared, after), late = ticks_of(name)
    assert read <= gateway
    assert after == prepared
    assert not {kernel for kernel in after if ".offline." in kernel}
    assert late  # of the kernel that the script fetches in the end
    assert "linkwork.controller.planning.stopping:fill_tables was fetched after the loop" in late[-1]


def _kernels_of(module: str) -> list[Any]:
    import_module(module)
    return [one for one, _ in compiling._declared if getattr(one, "py_func", one).__module__ == module]


def test_every_listed_module_has_kernels() -> None:
    listed = {module for rows in REGISTRY.values() for modules in rows.values() for module in modules}
    assert [module for module in sorted(listed) if not _kernels_of(module)] == []
    assert all(kind in KINDS for rows in REGISTRY.values() for kind in rows)


def test_laws_and_chains_are_listed_without_rows_of_their_own() -> None:
    loop = modules_for(KernelProcess.LOOP, load("scara"))
    factories = [kind.spec.open_chain for kind in LawKind if kind.spec.follows != "force"]
    assert {factory.partition(":")[0] for factory in factories if factory} <= loop
    assert "linkwork.controller.laws.closed_chain" not in loop
    assert loop <= common_modules()


@pytest.mark.parametrize("formulation", ["projection", "minimal"])
@pytest.mark.parametrize("integrator", ["rk4", "gauss"])
@pytest.mark.parametrize("name", ["scara_polish", "five_bar"])
def test_the_plant_lists_the_kernel_of_its_period(name: str, integrator: str, formulation: str) -> None:
    machine = load(name)
    plant = replace(machine.plant, integrator=integrator, formulation=formulation)
    machine = replace(machine, plant=plant)
    assert callable(resolved(period_name(machine)))
    assert period_name(machine).partition(":")[0] in modules_for(KernelProcess.PLANT, machine)


def test_an_open_machine_is_checked_without_kernels_of_constraints(monkeypatch: pytest.MonkeyPatch) -> None:
    """They would be compiled at a first start, one after another."""

    def refused(*_: Any, **__: Any) -> None:
        raise AssertionError("an open machine has no constraints whose rank could be decided")

    monkeypatch.setattr("linkwork.machine.building.initial_assembly.decide_rank", refused)
    scara = load("scara")
    assert for_controller(scara) is scara
