"""The report of an import: values that are missing or wrong, in the terminal and as a page."""

import json
from html.parser import HTMLParser
from pathlib import Path

import pytest

from linkwork.convert.assembly_search import assembly_modes
from linkwork.convert.model_report import report
from linkwork.convert.robots.import_report import report_rows, searched_modes
from linkwork.convert.robots.importing import ImportOptions, import_robot
from linkwork.convert.robots.proof import Proof
from tests.command import linkwork

ROBOTS = Path(__file__).parent / "robots"
ARM = """<robot name="arm"><link name="ground"/>
<link name="upper"><inertial><origin xyz="{at} 0 0"/><mass value="{mass}"/>
  <inertia ixx="0.001" iyy="{inertia}" izz="{inertia}" ixy="0" ixz="0" iyz="0"/></inertial></link>
<joint name="shoulder" type="revolute"><parent link="ground"/><child link="upper"/><axis xyz="0 1 0"/>
  <limit {limits}/></joint></robot>"""
FINE = {
    "at": "0.3",
    "mass": "2",
    "inertia": "0.02",
    "limits": 'lower="-1" upper="1" effort="20" velocity="3"',
}


class OpenTags(HTMLParser):
    """Checks that every element is closed, and keeps the text."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.words: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert not any(name in ("src", "href") for name, _ in attrs)
        self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        pass

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.words.append(data)


def imported(folder: Path, *words: str, **parts: str) -> tuple[dict[str, tuple[str, str]], list[str]]:
    """Rows of the report (text and verdict by title), and remarks."""
    (folder / "arm.urdf").write_text(ARM.format(**FINE | parts))
    ran = linkwork(
        "import", str(folder / "arm.urdf"), "--out", str(folder / "arm.yaml"), "--overwrite", "--json", *words
    )
    assert ran.returncode == 0, ran.stderr
    found = json.loads(ran.stdout)
    return {row["title"]: (row["text"], row["verdict"]) for row in found["report"]}, found["remarks"]


def test_a_good_arm_has_nothing_to_look_at(tmp_path: Path) -> None:
    rows, remarks = imported(tmp_path)
    assert not any(verdict == "bad" for _, verdict in rows.values())
    assert rows["parts"][0] == "1 body, 1 joint, 0 closures"
    # 2 kg at 0.3 m, level: 5.886 N m of 20
    assert rows["against gravity"] == ("the motors hold it, with at most 29 % of their effort", "good")
    assert rows["controller"] == ("can run it", "good")
    assert remarks == ["the source names no motors; taken: shoulder"]


@pytest.mark.parametrize(
    ("parts", "title", "said"),
    [
        (
            {"limits": 'lower="-1" upper="1" effort="5" velocity="3"'},
            "against gravity",
            "needs 5.89 N m, has 5",
        ),
        ({"limits": 'effort="9" velocity="3"'}, "no position limit", "shoulder"),
        ({"limits": 'lower="-1" upper="1" velocity="3"'}, "no effort limit", "shoulder"),
    ],
)
def test_weak_motors_and_missing_limits_are_shown(
    parts: dict[str, str], title: str, said: str, tmp_path: Path
) -> None:
    rows, _ = imported(tmp_path, **parts)
    assert said in rows[title][0]
    assert rows[title][1] == "bad"


@pytest.mark.parametrize(
    ("parts", "said"),
    [
        ({"at": "300"}, "lengths go up to 300 m; if they are millimetres"),
        ({"inertia": "20000"}, "it may be in kg mm²"),
        ({"mass": "20000"}, "if these are grams"),
        ({"limits": 'lower="-90" upper="90" effort="20"'}, "if limits are degrees"),
    ],
)
def test_units_that_look_wrong_are_told(parts: dict[str, str], said: str, tmp_path: Path) -> None:
    _, remarks = imported(tmp_path, **parts)
    assert any(each.startswith("UNITS") and said in each for each in remarks)


def test_the_page_stands_alone_and_says_the_same(tmp_path: Path) -> None:
    page = tmp_path / "report.html"
    source = ROBOTS / "generalized_rbda" / "planar_leg_linkage.urdf"
    ran = linkwork(
        "import", str(source), "--out", str(tmp_path / "leg.yaml"), "--html", str(page), "--literal"
    )
    assert ran.returncode == 0, ran.stderr
    parser = OpenTags()
    parser.feed(page.read_text(encoding="utf-8"))
    assert parser.open in ([], ["meta", "meta", "meta"])
    text = " ".join(parser.words)
    for said in ("Import of planar_leg_linkage", "NO BODY HAS THE INERTIA OF thigh", "with Pinocchio on 5"):
        assert said in text
    assert "✕ initial pose: singular" in ran.stdout
    assert "assembly modes: not counted: several meet in the initial pose" in ran.stdout
    assert "--repair makes the moments 2.269e-05, 2.269e-05, 4.539e-05" in ran.stdout


def test_a_singular_zero_pose_is_left_and_assembly_modes_are_counted() -> None:
    """A four-bar whose bars all lie on one line at zero; elsewhere each crank angle has two modes."""
    found = import_robot(ROBOTS / "generalized_rbda" / "four_bar.urdf")
    assert "the machine is singular at the zero pose; the initial pose was found by search" in found.remarks
    assert found.machine.assembly.rank == found.machine.assembly.ordinary_rank
    whole = searched_modes(found.machine)
    assert whole is not None
    rows = report_rows(found, report(found.machine), Proof(without="-"), None, whole)
    said = {row.title: row.text for row in rows}
    assert said["assembly modes"].startswith("2 with the motors as in the initial pose; found in")
    assert said["controller"] == "can run it"
    part = assembly_modes(found.machine, {}, most=3)
    (text,) = (
        row.text
        for row in report_rows(found, report(found.machine), Proof(without="-"), None, part)
        if row.title == "assembly modes"
    )
    assert "2 or more" in text
    assert "cut short after 3 random starts" in text


def test_repair_makes_what_the_report_says(tmp_path: Path) -> None:
    source = ROBOTS / "generalized_rbda" / "planar_leg_linkage.urdf"
    found = import_robot(source, ImportOptions(repair=True))
    assert any("moments are 2.269e-05, 2.269e-05, 4.539e-05" in each for each in found.remarks)


def test_a_sheet_beside_another_robot_is_not_used(tmp_path: Path) -> None:
    (tmp_path / "robot.yaml").write_text("closed_loop: [[left, right]]\ntype: [6d]\nname_mot: [other]\n")
    rows, remarks = imported(tmp_path)
    assert rows["controller"] == ("can run it", "good")
    assert any(
        each.startswith("robot.yaml beside the file does not fit it, and is not used") for each in remarks
    )
