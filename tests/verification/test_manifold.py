"""Machines that ship stay on their constraints and keep their energy: benchmarks/manifold.py, shortened."""

import numpy as np
import pytest

from linkwork.machine import load, shipped
from linkwork.multibody.dynamics.tree_dynamics import dynamics, energy
from linkwork.offline.run import simulate

AT_REST = ("five_bar", "platform_huang")
"""A five-bar that lies rests by itself; this platform starts balanced, at its highest pose."""


@pytest.mark.parametrize("name", sorted(shipped()))
def test_machines_stay_on_the_manifold_and_keep_their_energy(name):
    machine = load(name)
    push = [0.02 * motor.max_effort for motor in machine.motors] if name.startswith(AT_REST) else None
    motion = simulate(machine, 2.0, 1e-3, effort=push)
    balance = motion.balance
    assert balance.residual_position_max <= 1e-10
    assert balance.residual_velocity_max <= (1e-9 if balance.singular_passages else 1e-10)
    w, kinetic = machine.plant_mechanism.workspace(), []
    for q, v in zip(motion.q[::10], motion.v[::10], strict=True):
        w.q[:], w.v[:] = q, v
        dynamics(*w.arguments)
        energy(*w.arguments)
        kinetic.append(w.energy[0])
    assert np.ptp(kinetic) > 0.0 or kinetic[0] > 0.0
    assert balance.energy_balance_error_J <= 1e-6 * max(np.ptp(kinetic), kinetic[0])
