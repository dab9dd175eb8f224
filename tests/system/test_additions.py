"""A control law, two requests and a joint type, added to a copy as CONTRIBUTING.md says, and used."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from linkwork.protocol.laws import LawKind
from linkwork.protocol.request_table import REQUESTS
from tests.waiting import wait_for

pytestmark = pytest.mark.slow  # many processes; daemons of the copy compile its kernels
ROOT = Path(__file__).parents[2]
ROOMS = ("controller", "plant", "protocol", "configs", "linkwork")
LAW = '''
"""Inverse dynamics with half the bandwidth."""

from linkwork.controller.laws.pidc import ProjectedInverseDynamics


class Soft(ProjectedInverseDynamics):
    """The law for one machine."""

    def __init__(self, machine, report):
        super().__init__(machine, report)
        self._omega /= 2.0
'''
LAW_ENTRY = """
    SOFT = 8, LawSpec(
        "inverse dynamics with half the bandwidth",
        open_chain=_LAWS + "soft:Soft",
        follows="position",
        chosen="in the file",
    )
"""
PARAMS = '''class AddParams(OwnedParams):
    """Two numbers."""

    first: float
    second: float = 1.0


'''
ROWS = """    "add": Request("AddParams", False, Role.OBSERVE, "the sum of two numbers"),
    "nod": Request("TimedParams", False, Role.OPERATE, "do nothing, in the loop", nothing="nodded"),
"""
HANDLER = """def _add(gateway: Gateway, call: Call) -> None:
    given = call.params()
    answer = {"state": gateway.state_name, "text": str(given.first + given.second)}
    call.answer(answer)


"""
ORDER = '''@dataclass(frozen=True, slots=True)
class Nod(Order):
    """Do nothing."""

    kind, name = 99, "nod"


'''
NOD = """    def _nod(self, _: Nod, __: Inputs) -> OrderOutcome:
        return OrderOutcome.NOTHING_TO_DO

"""
JOINT = '''class TableSpec(_SeveralSpec, AxisSpec):
    """Two slides, one on the other."""

    type: Literal["table"] = entry("Two slides across axis; degrees of freedom x and y")

    def degrees_of_freedom(self) -> dict[str, bool]:
        """Return x and y."""
        return {"x": False, "y": False}


'''
JOINT_DOF = """    if joint.kind == "table":
        x, y, _ = onto_z(axis).T
        slides = [np.concatenate([np.zeros(3), x]), np.concatenate([np.zeros(3), y])]
        return _of(slides, ["x", "y"], [0, 1], joint)
"""
TABLE_MACHINE = """
name: table
bodies:
  plate: {mass_kg: 2.0, inertia_kg_m2: {xx: 0.1, yy: 0.1, zz: 0.1}}
joints:
  table: {type: table, parent: world, child: plate, axis: [0, 0, 1]}
motors:
  table.x: {max_force_N: 10.0, max_speed_m_s: 1.0}
sensors:
  table.x: {}
"""
TABLE_REPORT = """
import json
from linkwork import load
machine = load("table.yaml")
joints = [[each.name, each.is_angle] for each in machine.joints]
told = {"joints": joints, "motor": machine.motors[0].is_angle}
print(json.dumps(told | {"columns": machine.mechanism.nv}))
"""
SESSION = """
import json
from linkwork import Robot
with Robot() as robot:
    robot.enable()
    moved = robot.move(shoulder=0.02)
    told = {"result": moved.result["name"], "law": robot.describe()["law"]}
    told |= {"add": robot.add(first=2.0)["text"], "nod": robot.nod()["text"], "doc": robot.nod.__doc__}
    try:
        robot.add(second=1.0)
    except TypeError as error:
        told["wrong"] = str(error)
print(json.dumps(told))
"""
LAWS_IN_LOG = """
import sys
from pathlib import Path
from linkwork.recordings.log_file import read_ticks
print(sorted(set(read_ticks(Path(sys.argv[1])).table["law"].tolist())))
"""


def insert(path: Path, text: str, before: str) -> None:
    """Writes text into a file, before the first line that begins with these words."""
    start, at, end = path.read_text("utf-8").partition(f"\n{before}")
    assert at, (path, before)
    path.write_text(f"{start}\n{text}{at[1:]}{end}", encoding="utf-8")


@pytest.fixture(scope="module")
def copy() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="lw-", dir="/tmp") as made:
        folder = Path(made)
        for room in ROOMS:
            ignored = shutil.ignore_patterns("__pycache__")
            shutil.copytree(ROOT / room, folder / room, symlinks=True, ignore=ignored)
        (folder / "controller" / "laws" / "soft.py").write_text(LAW, encoding="utf-8")
        insert(folder / "protocol" / "laws.py", LAW_ENTRY, "    @property\n    def label")
        requests = folder / "protocol" / "requests.py"
        insert(requests, PARAMS, "@dataclass(frozen=True, slots=True)\nclass RequestFrame:")
        insert(folder / "protocol" / "request_table.py", ROWS, '    "recover": Request(')
        handlers = folder / "controller" / "gateway" / "requests" / "handlers.py"
        insert(handlers, HANDLER, "def _simple(")
        insert(handlers, '    "add": _add,\n', '    "recover": _recover,')
        orders = folder / "controller" / "orders.py"
        insert(orders, ORDER, "ORDERS: tuple[")
        insert(orders, "    Nod,\n", "    Enable, Disable,")
        supervisor = folder / "controller" / "supervision" / "supervisor.py"
        insert(supervisor, "    Nod,\n", "    Order,\n")
        insert(supervisor, "            Nod: self._nod,\n", "            Enable: self._enable,")
        insert(supervisor, NOD, "    def _enable(")
        insert(
            folder / "linkwork" / "multibody" / "model.py", '    "table",\n', '    "revolute", "prismatic",'
        )
        insert(
            folder / "linkwork" / "multibody" / "tree" / "joint_dof.py",
            JOINT_DOF,
            '    if joint.kind == "planar":',
        )
        sections = folder / "linkwork" / "machine" / "sections"
        insert(sections / "multi_dof_joints.py", JOINT, "_COORDINATES = ")
        insert(sections / "joint_types.py", "    TableSpec,\n", "    UniversalSpec,\n")
        insert(sections / "joint_types.py", "    | TableSpec\n", "    | ColumnsSpec\n")
        yield folder


def command(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """Python in the copy, with a runtime folder and log of its own."""
    return subprocess.run(
        [sys.executable, *words],
        cwd=folder,
        env=environment(folder),
        capture_output=True,
        text=True,
        timeout=540,
        check=False,
    )


def environment(folder: Path) -> dict[str, str]:
    own = {
        "PYTHONPATH": str(folder),
        "LINKWORK_RUNTIME_DIR": str(folder / "r"),
        "XDG_STATE_HOME": str(folder),
    }
    return {**os.environ, **own, "COLUMNS": "200"}


def test_the_names_are_free() -> None:
    assert 7 not in list(LawKind), "give the law that this test adds another number"
    assert not {"add", "nod"} & set(REQUESTS)


def test_the_law_is_in_schema_command_lines_and_refusals(copy: Path) -> None:
    schema = json.loads(command(copy, "-m", "linkwork", "schema").stdout)
    law = schema["$defs"]["ControllerSpec"]["properties"]["law"]
    assert law["enum"] == ["pidc", "servo", "soft"]
    assert "soft: inverse dynamics with half the bandwidth" in law["description"]
    assert "pidc|servo|soft" in command(copy, "-m", "linkwork.controller", "--help").stdout
    refused = command(copy, "-m", "linkwork", "demo", "scara", "--law", "sofd")
    assert refused.returncode == 2
    assert "soft" in refused.stderr


def test_the_requests_have_commands(copy: Path) -> None:
    told = command(copy, "-m", "linkwork", "--help").stdout
    assert "The sum of two numbers." in told
    assert "Do nothing, in the loop." in told
    add = command(copy, "-m", "linkwork", "add", "--help").stdout
    assert "--second" in add
    assert "first" in add.partition("╭")[0]


def test_the_joint_is_in_schema_and_machines(copy: Path) -> None:
    (copy / "table.yaml").write_text(TABLE_MACHINE, encoding="utf-8")
    report = command(copy, "-c", TABLE_REPORT)
    assert report.returncode == 0, report.stderr
    told = json.loads(report.stdout)
    assert told == {"joints": [["table.x", False], ["table.y", False]], "motor": False, "columns": 2}
    assert "TableSpec" in json.loads(command(copy, "-m", "linkwork", "schema").stdout)["$defs"]


@pytest.mark.timeout(1200)
def test_law_and_requests_work_in_running_daemons(copy: Path) -> None:
    controller = "controller scara --lockstep --law soft --lifeline --log log"
    daemons = [
        subprocess.Popen(
            [sys.executable, "-m", "linkwork", *words.split()],
            cwd=copy,
            env=environment(copy),
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        for words in ("plant scara", controller)
    ]
    try:
        wait_for(lambda: connected(copy), "a controller with a plant", 1000.0)
        session = command(copy, "-c", SESSION)
        assert session.returncode == 0, session.stderr
        told = json.loads(session.stdout)
        assert (told["result"], told["law"]) == ("SUCCESSFUL", "soft")
        assert (told["add"], told["nod"]) == ("3.0", "nodded")
        assert told["doc"] == "Do nothing, in the loop."
        assert "first" in told["wrong"]
        shown = command(copy, "-m", "linkwork", "add", "2.5", "--second", "4", "--json")
        assert json.loads(shown.stdout)["text"] == "6.5", shown.stderr
        shown = command(copy, "-m", "linkwork", "nod", "--json")
        assert json.loads(shown.stdout)["text"] == "nodded", shown.stderr
    finally:
        for daemon in reversed(daemons):
            daemon.terminate()
            daemon.communicate(timeout=60)
    (log,) = (copy / "log").rglob("*.mcap")
    found = command(copy, "-c", LAWS_IN_LOG, str(log))
    assert 7 in json.loads(found.stdout), found.stderr


def connected(folder: Path) -> bool:
    ran = command(folder, "-m", "linkwork", "state", "--json")
    return ran.returncode == 0 and json.loads(ran.stdout)["state"] == "inactive"
