"""Kernels that each process of a machine needs: the modules whose kernels its Python code calls.

Kernels that these kernels call follow by themselves. A process imports the modules of its rows and compiles,
or loads, their kernels before it serves clients (`prepare`); what else is imported plays no part. `linkwork
warm` compiles the kernels of all rows but `ON_DEMAND`. A process that fetches another kernel later says so on
standard error: then a row is missing here.

A kernel that is called from Python in a new place needs its module in a row of that process, unless the
machine's chain (chains.py) or the table of laws (`protocol.laws`) names its module already.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from dataclasses import fields
from enum import Enum
from importlib import import_module
from typing import TYPE_CHECKING, Final

from linkwork.machine.chains import CLOSED_CHAIN, OPEN_CHAIN, Chain
from linkwork.protocol.laws import LawKind

if TYPE_CHECKING:
    from linkwork.machine.description import Machine
    from linkwork.multibody.kernels.compiling import WarmReport


class KernelProcess(Enum):
    """The processes with kernels; the value is how messages name them."""

    GATEWAY = "gateway"
    PLANNER = "planner"
    LOOP = "loop"
    PLANT = "plant"
    TWIN = "digital twin"
    OFFLINE = "simulation"


_MULTIBODY = "linkwork.multibody"
_TREE = tuple(f"{_MULTIBODY}.tree.{name}" for name in ("kinematics", "coordinates", "dynamics", "rotations"))
_CLOSURES = (
    f"{_MULTIBODY}.constraints.rows",
    f"{_MULTIBODY}.formulations.constrained_dynamics",
    f"{_MULTIBODY}.formulations.projection",
    f"{_MULTIBODY}.formulations.rank",
    f"{_MULTIBODY}.linalg.orthogonal",
)
_ESTIMATION, _LAWS = "linkwork.controller.estimation", "linkwork.controller.laws"
_MOTION, _PLANNING = "linkwork.controller.motion", "linkwork.controller.planning"
_PLANT = "linkwork.plant"

KINDS: Final[dict[str, Callable[[Machine], bool]]] = {
    "every machine": lambda _: True,
    "open chain": lambda machine: machine.chain is OPEN_CHAIN,
    "closed chain": lambda machine: machine.chain is CLOSED_CHAIN,
    "contacts": lambda machine: bool(machine.mechanism.contacts),
    "force control": lambda machine: bool(machine.force_rows),
    "regions": lambda machine: bool(machine.regions),
    "signals": lambda machine: bool(machine.signals),
    "published reactions": lambda machine: bool(machine.controller.publish),
    "force sensors": lambda machine: bool(machine.force_sensors),
    "loose parts": lambda machine: machine.scene is not None,
    "load cells": lambda machine: any(sensor.constraint >= 0 for sensor in machine.force_sensors),
}
"""The kinds of machines in the table's rows. A machine is of several kinds."""

_READING: Final[dict[str, tuple[str, ...]]] = {"every machine": _TREE, "closed chain": _CLOSURES}
"""Kernels of every process: they read the machine file, assemble the machine and check it."""
_SIMULATING: Final[dict[str, tuple[str, ...]]] = {
    "every machine": (f"{_PLANT}.stepping",),
    "force sensors": (f"{_PLANT}.simulated_force_sensors",),
    "load cells": (f"{_PLANT}.load_cells",),
    "loose parts": (f"{_MULTIBODY}.steps.compliant_steps", f"{_MULTIBODY}.steps.integrate"),
}
REGISTRY: Final[dict[KernelProcess, dict[str, tuple[str, ...]]]] = {
    KernelProcess.GATEWAY: {},
    KernelProcess.PLANNER: {
        "every machine": ("linkwork.controller.goal_block", f"{_PLANNING}.stopping"),
        "open chain": (f"{_PLANNING}.open_chain_walk",),
        "closed chain": (f"{_PLANNING}.closed_chain_walk",),
        "contacts": (f"{_PLANNING}.contact_check",),
        "regions": (f"{_PLANNING}.workspace_check",),
        "signals": (f"{_PLANNING}.workspace_check",),
    },
    KernelProcess.LOOP: {
        "every machine": (
            "linkwork.controller.loop.tick_record",
            "linkwork.controller.goal_block",
            f"{_MOTION}.reference",
            f"{_MOTION}.stream_playback",
            f"{_MOTION}.effort_limits",
            f"{_ESTIMATION}.limit_monitor",
            f"{_LAWS}.feedback",
        ),
        "open chain": (
            f"{_ESTIMATION}.loop_model",
            f"{_MOTION}.stream_steps",
            f"{_MULTIBODY}.formulations.udwadia_kalaba",  # the law servo
        ),
        "closed chain": (
            f"{_ESTIMATION}.closed_chain_model",
            f"{_MOTION}.closed_stream_steps",
            f"{_ESTIMATION}.closure_observer",
            f"{_ESTIMATION}.prediction",
            f"{_ESTIMATION}.assembly_mode",
            f"{_ESTIMATION}.redundant_sensors",
            f"{_LAWS}.closed_chain",
            f"{_LAWS}.motor_allocation",
            "linkwork.controller.supervision.closure_loads",
        ),
        "force control": (f"{_ESTIMATION}.force_sensing", f"{_LAWS}.contact_forces"),
        "published reactions": (
            f"{_MULTIBODY}.formulations.reaction_kernels",
            f"{_MULTIBODY}.formulations.other_formulations",
        ),
    },
    KernelProcess.PLANT: _SIMULATING,
    KernelProcess.TWIN: {
        **_SIMULATING,
        "every machine": (f"{_PLANT}.stepping", f"{_PLANT}.twin.twin_comparison"),
    },
    KernelProcess.OFFLINE: {
        "every machine": (
            f"{_PLANT}.offline.run_kernels",
            f"{_MULTIBODY}.formulations.other_formulations",
            f"{_MULTIBODY}.formulations.reaction_kernels",
        ),
    },
}
"""Process → kind of machine → modules."""
ON_DEMAND: Final = frozenset({KernelProcess.TWIN, "published reactions"})
"""Rows that `linkwork warm` leaves to the first process that needs them, as it does minimal and Gauss
periods: few machines do, and a computer's first start stays short."""
_GAUSS_PERIOD: Final = f"{_PLANT}.gauss_stepping:advance_gauss"
"""Kernel of the plant's period with the integrator `gauss`, of any chain."""


def period_name(machine: Machine) -> str:
    """Return the kernel of a period of the simulated plant, as `module:name`."""
    chain, compliant = machine.chain, bool(machine.plant_mechanism.stops or machine.plant_mechanism.contacts)
    if machine.plant.integrator == "gauss":
        return _GAUSS_PERIOD
    minimal = chain.compliant_minimal_period if compliant else chain.minimal_period
    if machine.plant.formulation == "minimal" and minimal:
        return minimal
    return chain.compliant_period if compliant else chain.period


def law_factories(machine: Machine) -> Iterator[tuple[LawKind, str]]:
    """Yield the laws that serve a machine, each with its factory as `module:name`."""
    for kind in LawKind:
        factory: str = getattr(kind.spec, machine.chain.law_factory)
        if factory and (kind.spec.follows != "force" or machine.force_rows):
            yield kind, factory


def modules_for(process: KernelProcess, machine: Machine) -> frozenset[str]:
    """Return the modules whose kernels a process of this machine calls."""
    rows = [_READING, REGISTRY[process]]
    kinds = [kind for kind, holds in KINDS.items() if holds(machine)]
    listed = {module for row in rows for kind in kinds for module in row.get(kind, ())}
    return frozenset(listed | {name.partition(":")[0] for name in _chosen(process, machine)})


def _chosen(process: KernelProcess, machine: Machine) -> Iterator[str]:
    """Yield the names that the machine's chain, integrator and laws add."""
    if process in (KernelProcess.PLANT, KernelProcess.TWIN):
        yield period_name(machine)
    if process is KernelProcess.TWIN:
        yield machine.chain.twin
    if process is KernelProcess.LOOP:
        yield from (factory for _, factory in law_factories(machine))
        if machine.controller.publish:
            yield machine.chain.dynamics


def common_modules() -> frozenset[str]:
    """Return the modules of all rows, chains and laws, but not those of `ON_DEMAND`."""
    rows = [_READING, *(rows for process, rows in REGISTRY.items() if process not in ON_DEMAND)]
    listed = {module for row in rows for kind in row if kind not in ON_DEMAND for module in row[kind]}
    specs = [kind.spec for kind in LawKind]
    names = [factory for spec in specs for factory in (spec.open_chain, spec.closed_chain)]
    names += [name for chain in (OPEN_CHAIN, CLOSED_CHAIN) for name in _kernels_of(chain)]
    return frozenset(listed | {name.partition(":")[0] for name in names if name})


def _kernels_of(chain: Chain) -> Iterator[str]:
    names = {field.name: getattr(chain, field.name) for field in fields(Chain)}
    yield from (names[member] for member in ("period", "compliant_period"))


def prepare(
    process: KernelProcess, machine: Machine, progress: Callable[[int, int, str], None] | None = None
) -> WarmReport:
    """Compile or load the kernels of a process, before its real-time priority; `progress` as of `warm`."""
    from linkwork.multibody.kernels.compiling import when_late

    report = _warmed(modules_for(process, machine), progress)
    when_late(lambda name: _report_late(process, name))
    return report


def prepare_common(progress: Callable[[int, int, str], None] | None = None) -> WarmReport:
    """Compile or load the kernels of every process and kind of machine, but not those of `ON_DEMAND`."""
    return _warmed(common_modules(), progress)


def prepare_closures() -> None:
    """Compile the kernels that put a closed chain together, on all processors, if the cache lacks them.

    They are loaded when they are called.
    """
    from linkwork.machine.kernel_pool import compile_missing

    for module in _CLOSURES:
        import_module(module)
    compile_missing(_CLOSURES)


def prepare_machine(machine: Machine, progress: Callable[[int, int, str], None] | None = None) -> int:
    """Compile the kernels of all daemons of a machine, on all processors; return how many were missing."""
    from linkwork.machine.kernel_pool import compile_missing

    daemons = (KernelProcess.PLANT, KernelProcess.LOOP, KernelProcess.PLANNER)
    modules = frozenset[str]().union(*(modules_for(process, machine) for process in daemons))
    for module in sorted(modules):
        import_module(module)
    return compile_missing(modules, progress)


def _warmed(modules: frozenset[str], progress: Callable[[int, int, str], None] | None) -> WarmReport:
    from linkwork.machine.kernel_pool import compile_missing
    from linkwork.multibody.kernels.compiling import WarmReport, warm

    for module in sorted(modules):
        import_module(module)
    began = os.times().elapsed
    before = compile_missing(modules, progress)
    report = warm(modules, None if before else progress)
    compiled = before + report.compiled
    return WarmReport(compiled, os.times().elapsed - began, compiled == 0)


def _report_late(process: KernelProcess, name: str) -> None:
    sys.stderr.write(
        f"the kernel {name} was fetched after the {process.value} had started: "
        "its module is missing in linkwork/machine/kernel_registry.py\n"
    )
