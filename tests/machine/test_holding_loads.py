"""Loads that a machine's motors hold at rest."""

from __future__ import annotations

import numpy as np
import pytest

from linkwork.machine import load
from linkwork.machine.checks.holding import gravity_load
from linkwork.multibody.functions import bias


@pytest.mark.parametrize("pitch", [None, 0.01])
def test_loads_are_the_bias_forces_at_rest_and_sum_every_body_once(tmp_path, pitch):
    n = 40
    kinds = ["revolute", "prismatic", "revolute"]
    body = "{mass_kg: %g, com_m: [0.1, 0.02, 0], inertia_kg_m2: {xx: 0.01, yy: 0.01, zz: 0.01}}"
    text = ["name: chain", "gravity_m_s2: [1, 2, -9]", "bodies:"]
    text += [f"  b{k}: {body % (1 + 0.1 * k)}" for k in range(n)]
    text += ["joints:"]
    for k in range(n):
        kind = "screw" if pitch and k == 1 else kinds[k % 3]
        more = f", pitch_m_per_rad: {pitch}" if kind == "screw" else ""
        parent = "world" if k == 0 else f"b{k // 2}" if k % 4 == 0 else f"b{k - 1}"
        axis = np.eye(3, dtype=int)[(k * 2) % 3].tolist()
        text += [
            f"  j{k}: {{type: {kind}, parent: {parent}, child: b{k}, at_m: [0.2, 0, 0], axis: {axis}{more}}}"
        ]
    file = tmp_path / "chain.yaml"
    file.write_text("\n".join(text))
    mechanism = load(file).mechanism
    q = np.sin(np.arange(n) + 0.3)
    np.testing.assert_allclose(gravity_load(mechanism, q), bias(mechanism, q, np.zeros(n)), atol=1e-9)
