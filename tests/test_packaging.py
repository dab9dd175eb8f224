"""The distributions: a wheel holds the whole package, built from a checkout or from the sdist."""

import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path, PurePosixPath

import pytest

ROOT = Path(__file__).parents[1]


def built(source: Path, into: Path, target: str) -> Path:
    """Build one distribution of the sources in a folder; return its file."""
    before = set(into.iterdir())
    command = [sys.executable, "-m", "hatchling", "build", "-t", target, "-d", str(into)]
    ran = subprocess.run(command, cwd=source, capture_output=True, text=True, timeout=300, check=False)
    assert ran.returncode == 0, ran.stderr
    (made,) = set(into.iterdir()) - before
    return made


def files(wheel: Path) -> set[str]:
    with zipfile.ZipFile(wheel) as content:
        names = {name for name in content.namelist() if ".dist-info/" not in name}
    (library,) = (name for name in names if name.endswith(".so"))
    assert library.startswith("linkwork/multibody/kernels/_library/kernels-")
    return names - {library}


def tracked() -> set[str]:
    """Files of the package by their names in a wheel, as the checkout has them."""
    found = set()
    for folder, under in (("linkwork", ""), *((name, "linkwork/") for name in LINKED)):
        for path in (ROOT / folder).rglob("*"):
            name = path.relative_to(ROOT).as_posix()
            linked = any(PurePosixPath(name).is_relative_to(f"linkwork/{each}") for each in LINKED)
            made = {"__pycache__", "_library"} & set(path.parts)
            if path.is_file() and not made and not linked:
                found.add(under + name)
    return found


LINKED = ("controller", "plant", "protocol", "configs")


@pytest.mark.slow
def test_wheels_of_checkout_and_sdist_hold_every_file_of_the_package(tmp_path: Path) -> None:
    for name in ("wheel", "sdist", "unpacked", "again"):
        (tmp_path / name).mkdir()
    sdist = built(ROOT, tmp_path / "sdist", "sdist")
    with tarfile.open(sdist) as content:
        content.extractall(tmp_path / "unpacked", filter="data")
    (source,) = (tmp_path / "unpacked").iterdir()
    assert {path.name for path in source.iterdir()} >= {*LINKED, "linkwork", "tests", "docs", "benchmarks"}
    direct = files(built(ROOT, tmp_path / "wheel", "wheel"))
    assert direct == tracked()
    assert files(built(source, tmp_path / "again", "wheel")) == direct
