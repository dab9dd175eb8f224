"""`linkwork symbolic`: what it shows, how, and what it refuses to show."""

import json
import subprocess
import sys

import pytest

from linkwork.__main__ import main
from linkwork.convert.symbolic_report import SymbolicReport
from linkwork.machine import load


def run_command(monkeypatch, *words):
    monkeypatch.setattr("sys.argv", ["linkwork", *words])
    with pytest.raises(SystemExit) as ended:
        main()
    return ended.value.code


def test_inertia_of_the_scara_is_that_of_the_paper(monkeypatch, capsys):
    """Xu & Liu 2017: α + β + 2γ cos q2 and β + γ cos q2, with its data."""
    assert run_command(monkeypatch, "symbolic", "scara", "--show", "inertia") == 0
    out = capsys.readouterr().out
    assert "M[shoulder, shoulder] = 2.3*cos(elbow) + 3.223225\n" in out
    assert "M[elbow, shoulder] = 1.15*cos(elbow) + 1.533225\n" in out
    assert "# M, kg m², kg m, kg: 6 operations\n" in out


def test_every_part_as_json_and_latex(monkeypatch, capsys):
    parts = ["joints", "kinematics", "inertia", "coriolis", "gravity", "closures", "poincare"]
    words = [word for part in parts for word in ("--show", part)]
    assert run_command(monkeypatch, "symbolic", "slider_crank", *words, "--json") == 0
    found = json.loads(capsys.readouterr().out)
    assert [each["show"] for each in found["sections"]] == parts
    closures = found["sections"][5]["results"]
    assert closures[0]["entries"] == {"Φ[guide.value]": "sin(crank) + sin(crank + knee)"}
    assert all(result["operations"] >= 0 for each in found["sections"] for result in each["results"])
    assert run_command(monkeypatch, "symbolic", "slider_crank", "--show", "inertia", "--format", "latex") == 0
    out = capsys.readouterr().out
    assert r"M_{\text{crank},\,\text{crank}} &= 2 \cos{\left(\mathrm{knee} \right)} + 3 \\" in out


def test_quasi_velocities_or_rates_of_coordinates():
    machine = load("thin_disk")
    quasi = SymbolicReport(machine.mechanism).section("poincare").results
    entries = dict(zip(quasi[1].labels, map(str, quasi[1].shown.entries), strict=True))
    assert entries == {f"M[centre.{k}, centre.{k}]": size for k, size in ((1, "5"), (2, "5"), (3, "10"))}
    rates = SymbolicReport(machine.mechanism, coordinates=True).section("poincare").results
    assert len(rates[1].labels) > 3
    assert [str(entry) for entry in rates[0].shown.entries] == ["1", "1", "1"]


def test_what_is_short_is_shown_beside_what_is_too_long(monkeypatch, capsys):
    words = ("symbolic", "platform_3rrs", "--show", "closures", "--show", "coriolis", "--json")
    assert run_command(monkeypatch, *words) == 0
    closures, coriolis = json.loads(capsys.readouterr().out)["sections"]
    assert [each["name"] for each in closures["results"]] == ["Φ", "A"]
    assert [each["name"] for each in closures["too_long"]] == ["Ȧv"]
    assert not coriolis["results"]
    assert coriolis["too_long"][0]["operations"] > 800


def test_progress_goes_entry_by_entry():
    told: list[float] = []
    SymbolicReport(load("scara").mechanism).section("kinematics", told.append)
    assert told == sorted(told)
    assert len(told) >= 9
    assert told[-1] == 1.0


def test_latex_is_ascii_and_whole(monkeypatch, capsys):
    """Outside comments; every environment and every brace is closed, and lines are not endless."""
    words = ("--show", "joints", "--show", "poincare", "--format", "latex")
    assert run_command(monkeypatch, "symbolic", "thin_disk", *words) == 0
    lines = [line for line in capsys.readouterr().out.splitlines() if not line.startswith("%")]
    whole = "\n".join(lines)
    assert whole.isascii()
    assert whole.count("{") == whole.count("}")
    assert whole.count(r"\begin{align*}") == whole.count(r"\end{align*}") > 5
    assert whole.count(r"\left(") == whole.count(r"\right)")
    assert max(map(len, lines)) < 300
    assert r"\Gamma^{\text{centre}}_{\text{centre.1},\,\text{centre.1}} &= 1" in whole
    assert r"\omega_{\mathrm{centre.3}}" in whole


def test_long_results_keep_the_names_of_common_parts():
    result = SymbolicReport(load("platform_3rrs").mechanism).section("inertia").results[0]
    assert result.shown.definitions
    assert result.shown.explicit_operations > 3 * result.shown.named_operations
    known = set()
    for definition in result.shown.definitions:
        names = {str(s) for s in definition.value.free_symbols if str(s).startswith("x")}
        assert names <= known
        known.add(str(definition.symbol))


def test_nothing_imports_sympy_before_it_is_asked_for():
    code = "import linkwork.cli.app, sys; linkwork.cli.app.build(); sys.exit('sympy' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], timeout=100).returncode == 0
