"""Generated programs: no warnings, clean under the sanitizers, right to round-off."""

import importlib.util
import os
import shutil
import subprocess
from dataclasses import replace

import numpy as np
import pytest

from linkwork.__main__ import main
from linkwork.controller.laws.law import Reference
from linkwork.controller.laws.law_table import laws_of
from linkwork.convert.codegen import commented, generate, identifier, program_for, vectors_for
from linkwork.machine import load
from linkwork.multibody.dynamics.motion_basis import evaluate_shortest
from linkwork.protocol.laws import LawKind

WARNINGS = ("-std=c99", "-O2", "-Wall", "-Wextra", "-Wpedantic", "-Wconversion", "-Werror")
SANITIZERS = ("-O1", "-g", "-fsanitize=address,undefined", "-fno-sanitize-recover=all")
compiler = pytest.mark.skipif(shutil.which("cc") is None, reason="needs a C compiler")


def compiled(files, folder, *options):
    for name, text in files.items():
        (folder / name).write_text(text)
    sources = [str(folder / name) for name in files if name.endswith(".c")]
    program = folder / "test"
    subprocess.run(["cc", *WARNINGS, *options, *sources, "-o", program, "-lm"], check=True, timeout=100)
    return program


@compiler
@pytest.mark.parametrize(
    ("name", "single"), [("platform_3rrs", False), ("scara", True), ("thin_disk", False)]
)
def test_c_is_clean_and_agrees(name, single, tmp_path):
    files = generate(load(name), "c", single=single)
    assert "#include <math.h>" in files[f"{name}.c"]
    assert files[f"{name}.c"].count("#include") == 2
    assert not any(word in files[f"{name}.c"] for word in ("malloc", "alloca", "printf"))
    run = subprocess.run([compiled(files, tmp_path)], capture_output=True, text=True, timeout=60)
    assert run.returncode == 0, run.stdout
    assert "TOO LARGE" not in run.stdout
    assert ("effort" in run.stdout) == (name != "thin_disk")


SPRUNG = """name: sprung
bodies:
  crank: {mass_kg: 1, com_m: [0.25, 0, 0], inertia_kg_m2: [0.001, 0.03, 0.03, 0, 0, 0]}
  rod: {mass_kg: 1, com_m: [0.5, 0, 0], inertia_kg_m2: [0.001, 0.09, 0.09, 0, 0, 0]}
joints:
  crank: {type: revolute, parent: world, child: crank, axis: [0, 1, 0]}
  knee: {type: revolute, parent: crank, child: rod, at_m: [0.5, 0, 0], axis: [0, 1, 0]}
points: {tip: {body: rod, at_m: [1, 0, 0]}, hook: {body: world, at_m: [2, 0, 0.3]}}
constraints: {guide: {type: coordinate, of: tip.z, equals_m: 0}}
springs:
  coil: {between: [tip, hook], stiffness_N_m: 200, damping_N_s_m: 5, rest_m: 0.4, preload_N: 3, progressive_N_m3: 1000}
  torsion: {joint: crank, stiffness_N_m_rad: 4, preload_N_m: 0.5}
forces: {wind: {point: tip, direction: [1, 0, 0], force_N: "3*sin(t) - 2*rate(crank)"}}
motors: {crank: {max_torque_N_m: 50, max_speed_rad_s: 10, brake_torque_N_m: 50}}
sensors: {crank: {velocity: true}}
initial: {crank_deg: 40}
initial_guess: {knee_deg: -60}
"""  # noqa: E501 - a line of a machine file


@compiler
def test_springs_and_forces_are_in_the_generated_terms_and_law(tmp_path):
    path = tmp_path / "sprung.yaml"
    path.write_text(SPRUNG)
    sprung = load(path)
    path.write_text(SPRUNG.partition("springs:")[0] + "motors:" + SPRUNG.partition("motors:")[2])
    plain = load(path)
    run = subprocess.run(
        [compiled(generate(sprung, "c"), tmp_path)], capture_output=True, text=True, timeout=60
    )
    assert run.returncode == 0, run.stdout
    assert "TOO LARGE" not in run.stdout
    found, without = (
        vectors_for(machine, program_for(machine), single=False, states=1) for machine in (sprung, plain)
    )
    np.testing.assert_array_equal(found.inputs["q"], without.inputs["q"])
    assert np.abs(found.expected["h"] - without.expected["h"]).min() > 1.0
    assert found.effort is not None
    assert without.effort is not None
    assert np.abs(found.effort - without.effort).min() > 1.0


@compiler
def test_sanitizers_find_nothing(tmp_path):
    program = compiled(generate(load("four_bar"), "c"), tmp_path, *SANITIZERS)
    environment = {**os.environ, "ASAN_OPTIONS": "detect_leaks=0"}
    run = subprocess.run([program], capture_output=True, text=True, timeout=60, env=environment)
    assert run.returncode == 0, run.stdout + run.stderr
    assert not run.stderr


@compiler
@pytest.mark.skipif(shutil.which("valgrind") is None, reason="needs valgrind")
def test_valgrind_finds_nothing(tmp_path):
    program = compiled(generate(load("slider_crank"), "c"), tmp_path, "-g")
    command = ["valgrind", "-q", "--error-exitcode=9", str(program)]
    run = subprocess.run(command, capture_output=True, text=True, timeout=100)
    assert run.returncode == 0, run.stdout + run.stderr


def test_what_a_file_says_of_a_machine_ends_no_comment():
    about = commented('An arm */ of "two" \\ \n links')
    assert about == "An arm * / of 'two' / links"
    assert not any(mark in commented("/*/ ??/ /**/") for mark in ("/*", "*/", "??"))


AWKWARD = """
name: While
about: "{about}"
bodies:
  a: {{mass_kg: 2, inertia_kg_m2: {{xx: 0.1, yy: 0.1, zz: 0.1}}}}
  b: {{mass_kg: 2, com_m: [0.1, 0, 0], inertia_kg_m2: {{xx: 0.1, yy: 0.1, zz: 0.1}}}}
joints:
  double: {{type: prismatic, parent: world, child: a, axis: [1, 0, 0]}}
  x1: {{type: screw, parent: a, child: b, axis: [0, 0, 1], pitch_m_per_rad: 0.02, coulomb_N_m: 0.2}}
motors:
  double: {{max_force_N: 100, max_speed_m_s: 1}}
  x1: {{max_torque_N_m: 10, max_speed_rad_s: 10}}
"""


@compiler
@pytest.mark.parametrize("about", ["", "a /* comment */ of C ??/"])
def test_words_of_c_as_names_and_comments(about, tmp_path):
    """Keywords and names of intermediate results as joints; no description, or one that looks like C."""
    path = tmp_path / "machine.yaml"
    path.write_text(AWKWARD.format(about=about))
    program = compiled(generate(load(path), "c", single=True), tmp_path)
    run = subprocess.run([program], capture_output=True, text=True, timeout=60)
    assert run.returncode == 0, run.stdout


@compiler
def test_the_test_program_finds_a_wrong_number(tmp_path):
    files = generate(load("slider_crank"), "c")
    right = "    M[0] = "
    assert right in files["slider_crank.c"]
    files["slider_crank.c"] = files["slider_crank.c"].replace(right, "    M[0] = 1e-9 + ", 1)
    run = subprocess.run([compiled(files, tmp_path)], capture_output=True, text=True, timeout=60)
    assert run.returncode == 1
    assert "TOO LARGE" in run.stdout


@pytest.mark.parametrize("name", ["platform_3rrs", "scara"])
def test_python_module_agrees(name, tmp_path):
    machine = load(name)
    ((file, text),) = generate(machine, "python").items()
    path = tmp_path / file
    path.write_text(text)
    spec = importlib.util.spec_from_file_location("generated", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    program = program_for(machine)
    vectors = vectors_for(machine, program, single=False, states=2)
    drive = program.drive
    for s in range(2):
        for function in program.functions:
            found = [np.empty(part.shape) for part in function.parts]
            getattr(module, function.name)(*(vectors.inputs[key][s] for key in function.inputs), *found)
            for part, value in zip(function.parts, found, strict=True):
                expected = vectors.expected[part.name][s]
                size = max(np.abs(expected).max(), 1e-3)
                assert np.abs(value.ravel() - expected).max() < 1e-11 * size
        effort = np.empty(module.MOTORS)
        given = [values[s] for values in vectors.inputs.values()]
        quality = module.inverse_dynamics(*given, drive.bandwidth_rad_s, drive.damping_ratio, effort)
        assert 0.0 < quality <= 1.0
        assert np.abs(effort - vectors.effort[s]).max() < 1e-11 * np.abs(vectors.effort[s]).max()


def test_vectors_are_those_of_the_controllers_law():
    """With limits far away, all in the same ratio."""
    given = load("platform_3rrs")
    far = tuple(motor.with_values(max_effort=1e3 * motor.max_effort) for motor in given.motors)
    machine = replace(given, motors=far)
    program = program_for(machine)
    vectors = vectors_for(machine, program, single=False, states=2)
    law = laws_of(machine)[LawKind.PIDC]
    for s in range(2):
        w = machine.workspace()
        w.q[:], w.v[:] = vectors.inputs["q"][s], vectors.inputs["v"][s]
        evaluate_shortest(*w.arguments)
        wanted = [vectors.inputs[key][s].copy() for key in ("goal", "goal_rate", "goal_acceleration")]
        force = np.zeros(machine.mechanism.nv)
        law(w, Reference(np.array(program.drive.goals, np.int64), *wanted), force)
        gap = np.abs(force[list(program.drive.motors)] - vectors.effort[s]).max()
        assert gap < 1e-11 * np.abs(force).max()


def test_names_are_identifiers():
    assert identifier("platform_3rrs") == "platform_3rrs"
    assert identifier("3-RRS Übung").isascii()
    assert identifier("3-RRS Übung").isidentifier()


def run_command(monkeypatch, *words):
    monkeypatch.setattr("sys.argv", ["linkwork", *words])
    with pytest.raises(SystemExit) as ended:
        main()
    return ended.value.code


def test_command_writes_the_files(tmp_path, monkeypatch, capsys):
    out = tmp_path / "generated"
    assert run_command(monkeypatch, "codegen", "slider_crank", "--float", "--out", str(out)) == 0
    names = {path.name for path in out.iterdir()}
    assert names == {"slider_crank.h", "slider_crank.c", "slider_crank_test.c"}
    assert "typedef float slider_crank_real;" in (out / "slider_crank.h").read_text()
    assert "lines" in capsys.readouterr().out


def test_command_refuses_what_makes_no_sense(tmp_path, monkeypatch, capsys):
    words = ("codegen", "scara", "--language", "python", "--float", "--out", str(tmp_path))
    assert run_command(monkeypatch, *words) == 2
    assert "--float is for C" in capsys.readouterr().err
    (tmp_path / "file").write_text("")
    assert run_command(monkeypatch, "codegen", "slider_crank", "--out", str(tmp_path / "file" / "x")) == 2
    assert "cannot be written" in capsys.readouterr().err
