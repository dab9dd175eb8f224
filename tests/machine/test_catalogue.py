"""Machines that ship are found by name, from a source tree and from an installed wheel."""

import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from linkwork import machine


def test_every_machine_that_ships_loads_without_a_warning():
    assert "scara" in machine.shipped()
    for name in machine.shipped():
        assert machine.check(name) == ()
        loaded = machine.load(name)
        assert loaded.name == name
        assert loaded.path == str(machine.shipped_path(name))
        assert loaded.source_text == machine.shipped_path(name).read_text(encoding="utf-8")


def test_another_name_is_refused():
    with pytest.raises(KeyError, match="scara"):
        machine.shipped_path("skara")


def test_a_name_that_ships_wins_over_a_folder_of_that_name(tmp_path, monkeypatch):
    (tmp_path / "scara").mkdir()
    monkeypatch.chdir(tmp_path)
    assert machine.load("scara").name == "scara"


def test_a_path_is_read_as_text_and_as_path(write, scara_text):
    path = write(scara_text)
    assert machine.load(path).config_hash == machine.load(str(path)).config_hash


@pytest.mark.slow
def test_an_installed_wheel_brings_its_machines(tmp_path):
    pytest.importorskip("hatchling", reason="building a wheel needs hatchling")
    root = Path(__file__).parents[2]
    build = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(tmp_path)]
    subprocess.run(build, cwd=root, check=True, capture_output=True, timeout=300)
    (wheel,) = tmp_path.glob("*.whl")
    site = tmp_path / "site"
    zipfile.ZipFile(wheel).extractall(site)
    code = (
        "from linkwork import machine as m; "
        "print(m.__file__, m.load('scara').name, m.shipped_path('scara'), sep='\\n')"
    )
    run = [sys.executable, "-c", code]
    environment = {**os.environ, "PYTHONPATH": str(site)}
    done = subprocess.run(
        run, cwd=tmp_path, env=environment, check=True, capture_output=True, text=True, timeout=100
    )
    where, name, path = done.stdout.splitlines()
    assert where.startswith(str(site))
    assert (name, path) == ("scara", str(site / "linkwork" / "configs" / "scara.yaml"))
    assert (site / "linkwork" / "configs" / "machine.schema.json").exists()
    names = sorted(entry.name for entry in site.iterdir())
    assert len(names) == 2, names
    assert names[0] == "linkwork"
    assert names[1].endswith(".dist-info")


def test_importing_the_room_does_not_load_the_compiler():
    code = (
        "import sys; from linkwork import machine; machine.check('scara'); "
        "print('linkwork.multibody.kernels.translator' in sys.modules, 'scipy' in sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], check=True, capture_output=True, text=True, timeout=100
    )
    assert done.stdout.split() == ["False", "False"]
