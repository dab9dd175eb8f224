"""Inertias that no rigid body has."""

from __future__ import annotations

from pathlib import Path

import pytest

from linkwork.machine import MachineError, check, load
from linkwork.multibody.functions import mass_matrix
from tests.command import linkwork

TEXT = """name: odd
bodies: {{rod: {{mass_kg: 1, com_m: [0, 0, -0.25], inertia_kg_m2: {{xx: 0.02, yy: 0.09, zz: 0.001{}}}}}}}
joints: {{hinge: {{type: revolute, parent: world, child: rod, axis: [0, 1, 0]}}}}
"""


def test_an_inertia_of_no_body_needs_the_key_and_is_used_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "odd.yaml"
    path.write_text(TEXT.format(""), encoding="utf-8")
    with pytest.raises(
        MachineError, match=r"no rigid body has these moments of inertia[\s\S]*unphysical: true"
    ):
        load(path)
    path.write_text(TEXT.format(", unphysical: true"), encoding="utf-8")
    machine = load(path)
    assert mass_matrix(machine.mechanism, machine.initial_q)[0, 0] == pytest.approx(0.09 + 0.25**2)
    (warning,) = check(path)
    assert (warning.severity, warning.key) == ("warning", "bodies.rod.inertia_kg_m2")
    assert "used as it is" in linkwork("check", str(path)).stderr
    assert "used as it is" in linkwork("simulate", str(path), "--duration", "0.01").stderr
