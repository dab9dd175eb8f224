"""Each paper's reproduction in short: figures confirm every verdict and lie in physical bounds."""

import json
import re
import shlex
import subprocess
import sys
from functools import cache
from itertools import zip_longest
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from benchmarks.papers.__main__ import PAPERS, main, reproduce
from benchmarks.papers.commands import COMMANDS
from benchmarks.papers.page import page
from benchmarks.papers.report import Report
from tests.command import linkwork

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "papers.md"

BOUNDS = {
    "xu2017": {
        "model_closed": (0, 1e-13),
        "model_exponentials": (0, 1e-13),
        "explicit_gap": (0, 1e-11),
        "force_printed": (0.1, 10),
        "force_corrected": (0, 1e-12),
        "start_printed_m": (0.1, 1),
        "start_corrected_m": (1e-3, 0.01),
        "free_x_most_m": (5.64e-3, 5.66e-3),
        "free_y_most_m": (1.775e-2, 1.777e-2),
        "free_z_end_m": (-1.5001e-3, -1.4999e-3),  # 3 s at 5e-4 m/s
        "held_off_oscillator": (0, 1e-6),
        "held_after_2_5_s_m": (2.5e-3, 3.5e-3),
        "exact_error": (0, 1e-9),
        "torque_off_inverse_dynamics": (0, 1e-6),
    },
    "huang2000": {
        "system_corrected": (0, 1e-12),
        "system_block": (1, 100),
        "system_determinant": (0, 1e-12),
        "pendulum_gap_ratio": (7.5, 8.5),
        "pendulum_state_ratio": (1.9, 2.1),
        "pendulum_force_ratio": (1.9, 2.1),
        "platform_rank_printed": (39, 39),
        "platform_size_printed": (45, 45),
        "platform_rank": (39, 39),
        "joint_rows_off": (0, 1e-9),
        "joint_rows_wrong_sign": (1e-3, 100),
        "printed_determinant": (0, 1e-12),
        "printed_singular_deg": (21.9, 22.1),
        "printed_sigma": (0, 1e-12),
        "platform_height_ratio": (7.2, 8.8),
        "platform_motor_ratio": (3.5, 20),
        "platform_balance_ratio": (1.8, 2.3),
        "platform_crossings_off_s": (0, 1e-5),
        "platform_crossings_taylor_off_s": (0, 5e-3),
        "platform_crossing_1_s": (0.8641, 0.8643),
        "platform_crossing_2_s": (1.3502, 1.3504),
        "platform_crossing_3_s": (1.9049, 1.9051),
        "platform_table_crossing_1_s": (0.8697, 0.8699),
        "platform_table_crossing_2_s": (1.3614, 1.3616),
        "platform_table_crossing_3_s": (1.9259, 1.9261),
        "platform_peak_m_s": (6.4, 6.6),
        "branch_mirror": (0, 1e-6),
    },
    "aghili2005": {
        "model_off": (0, 1e-12),
        "projector_off": (0, 1e-13),
        "rank_at_branch_pose": (0, 0),
        "assemblies_gap": (0, 1e-11),
        "law_motion": (0, 1e-11),
        "law_hybrid_force": (0, 1e-10),
        "free_off_branch": (0, 1e-9),
        "free_passages": (2, 20),
        "free_error_rad": (0, 2e-6),
        "free_ratio": (12, 34),
        "free_energy_drift": (0, 1e-6),
        "tracking_off": (0, 1e-7),
        "tracking_passages": (1, 3),
        "passive_regular": (0, 1e-12),
        "passive_at_pose": (0.1, 1),
    },
    "blajer1992": {
        "closed_closure": (0, 1e-11),
        "minimal_gap": (0, 1e-10),
        "switches": (2, 10),
        "passes_sin": (1, 10),
        "passes_cos": (1, 10),
        "closure_m": (0, 1e-12),
        "apart_1s_rad": (0, 1e-7),
        "order_ratio": (12, 34),
        "energy_drift": (0, 1e-6),
    },
    "kwatny1995": {
        "gamma_gap": (0, 1e-12),
        "twist_gap": (0, 1e-8),
        "universal_defect_gap": (0, 1e-12),
        "disk_euler": (0, 1e-12),
        "disk_poincare": (0, 1e-6),
        "disk_inertia": (0, 1e-12),
        "arm_congruence": (0, 1e-12),
        "arm_recursion": (0, 1e-10),
        "arm_potential": (0, 1e-9),
        "operations_saved": (-0.2, 0.2),
        "disk_spin_off": (0, 1e-6),
        "disk_momentum": (0, 1e-6),
    },
}


@cache
def _reproduced(key: str) -> tuple[Report, dict[str, int]]:
    """The report, and the sizes of the pictures."""
    with TemporaryDirectory() as folder:
        report = reproduce(key, Path(folder), brief=True)
        return report, {path.name: path.stat().st_size for path in Path(folder).glob("*.png")}


@pytest.mark.parametrize(
    "key", [pytest.param(key, marks=() if key == "xu2017" else pytest.mark.slow) for key in PAPERS]
)
def test_figures_confirm_every_verdict(key):
    report, _ = _reproduced(key)
    assert not report.failed
    assert {row.verdict for row in report.rows} >= {"holds", "corrected"}
    for name, (least, most) in BOUNDS[key].items():
        assert least <= report.figures[name] <= most, (name, report.figures[name])


@pytest.mark.slow
@pytest.mark.parametrize("key", PAPERS)
def test_pictures_are_drawn_and_small(key):
    report, sizes = _reproduced(key)
    assert set(sizes) == {picture.name for picture in report.pictures}
    assert all(2_000 < size < 80_000 for size in sizes.values())


@pytest.mark.slow
@pytest.mark.parametrize("key", PAPERS)
def test_the_page_shows_the_paper(key):
    """Places and printed statements; figures differ in their last digits from computer to computer."""
    report, _ = _reproduced(key)
    text = PAGE.read_text(encoding="utf-8")
    assert f"## {report.title}\n" in text
    for row in report.rows:
        printed = row.printed.replace("|", "\\|")
        assert f"| {row.place} | {printed} |" in text
    for picture in report.pictures:
        assert f"](images/{picture.name})" in text
        assert (PAGE.parent / "images" / picture.name).stat().st_size < 80_000
    assert "CONTRADICTED" not in text


NUMBER = re.compile(r"(?<![\w.])\d+(?:\.\d+)?(?:e[+-]?\d+)?")
ROUND_OFF, LAST_DIGITS, FACTOR = 1e-7, 0.02, 1e4


def same_figures(one: str, other: str) -> bool:
    """Whether two figures agree: to their last digits, or by order of magnitude where both are round-off."""
    small, large = sorted((float(one), float(other)))
    if large < ROUND_OFF:
        return large < 1e-15 or large <= FACTOR * max(small, 1e-16)
    return large - small <= LAST_DIGITS * large


def differing_lines(written: str, expected: str) -> list[str]:
    """The lines of two pages that differ in their words, or in figures that are reproducible."""
    found = []
    for mine, theirs in zip_longest(written.splitlines(), expected.splitlines(), fillvalue=""):
        figures = list(zip_longest(NUMBER.findall(mine), NUMBER.findall(theirs), fillvalue="inf"))
        if NUMBER.sub("#", mine) != NUMBER.sub("#", theirs) or not all(
            same_figures(*pair) for pair in figures
        ):
            found.append(f"{mine}\n{theirs}")
    return found


def test_pages_are_compared_by_what_is_reproducible():
    text = "| law | to 3.9e-14 N m; peak 38.0 N m |"
    assert not differing_lines(text, text.replace("3.9e-14", "7.1e-13").replace("38.0", "38.1"))
    for other in (text.replace("3.9e-14", "1.3e-9"), text.replace("38.0", "39.0"), text + "\n| a row |"):
        assert differing_lines(text, other)


def test_methods_and_commands_of_the_page_are_those_of_its_generator():
    """The page begins and ends as the generator writes it; the slow test generates all of it."""
    begin, end = page([], "").split("\n\n## Where each method runs", 1)
    text = PAGE.read_text(encoding="utf-8")
    assert text.startswith(begin)
    assert text.split("\n## Where each method runs", 1)[1] == end


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_the_page_is_what_its_generator_writes(tmp_path, capsys):
    images, written = tmp_path / "images", tmp_path / "papers.md"
    assert main(["all", "--out", str(images), "--page", str(written)]) == 0
    assert differing_lines(PAGE.read_text(encoding="utf-8"), written.read_text(encoding="utf-8")) == []


def test_a_table_and_pictures_are_written(tmp_path, capsys):
    assert main(["kwatny1995", "--out", str(tmp_path / "new"), "--brief"]) == 0
    printed = capsys.readouterr().out
    assert "Joint maps" in printed
    assert {path.name for path in (tmp_path / "new").iterdir()} == {"kwatny1995.md", "kwatny1995_disk.png"}
    table = (tmp_path / "new" / "kwatny1995.md").read_text(encoding="utf-8")
    assert re.search(r"^\| spherical \|.*\| yes \|", table, re.MULTILINE)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["huang", "--out", "x"], "there is no paper 'huang'; there are xu2017, huang2000"),
        (["all"], "--out DIR"),
        ([], "name a paper"),
        (["all", "--out", __file__], "cannot be made"),
    ],
)
def test_mistakes_are_refused(arguments, said, capsys):
    with pytest.raises(SystemExit) as ended:
        main(arguments)
    assert ended.value.code == 2
    assert said in capsys.readouterr().err


def test_benchmarks_run_as_a_package_and_as_scripts():
    listed = _run("-m", "benchmarks.papers", "--list")
    assert [line.split()[0] for line in listed.splitlines()] == list(PAPERS)
    assert "--rounds" in _run("benchmarks/lockstep.py", "--help")


def _run(*arguments: str) -> str:
    done = subprocess.run(
        [sys.executable, *arguments], cwd=ROOT, capture_output=True, text=True, timeout=280, check=True
    )
    return done.stdout


@pytest.mark.slow
@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: f"{command.words[:40]} {command.field}")
def test_commands_of_the_page_print_its_numbers(command):
    assert f"| `{command.words}` | `{command.field}` | {command.value:g} |" in PAGE.read_text(
        encoding="utf-8"
    )
    found = json.loads(linkwork(*shlex.split(command.words)).stdout)
    for key in command.field.split("/"):
        found = found[int(key) if isinstance(found, list) else key]
    assert found == pytest.approx(command.value, abs=max(command.within, 1e-12), rel=0)
