"""A control law, two requests and a joint type, added to a copy as CONTRIBUTING.md says, and used.

`linkwork dev` begins law, joint and the first request; the second one is an order to the loop.
"""

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

from linkwork.protocol.laws import MOTION_LAW_NAMES, LawKind
from linkwork.protocol.request_table import REQUESTS
from tests.waiting import wait_for

pytestmark = pytest.mark.slow  # many processes; daemons of the copy compile its kernels
ROOT = Path(__file__).parents[2]
LAW = """J = ahead.J[reference.index]
        error = reference.theta - ahead.theta[reference.index]
        task = reference.acceleration - ahead.Jdv[reference.index] + (self._omega / 2.0) ** 2 * error
        task += self._zeta * self._omega * (reference.velocity - J @ ahead.v)
        force[:] = ahead.M @ np.linalg.solve(J, task) + ahead.h - ahead.friction
        return 1.0
"""
PARAMS = """
    first: float
    second: float = 1.0
"""
NOD_ROW = """    "nod": Request(
        "TimedParams", True, Role.OPERATE, "do nothing, in the loop", nothing="nodded"
    ),
"""
ORDER = '''@dataclass(frozen=True, slots=True)
class Nod(Order):
    """Do nothing."""

    kind, name = 99, "nod"


'''
NOD = """    def _nod(self, _: Nod, __: Inputs) -> OrderOutcome:
        return OrderOutcome.NOTHING_TO_DO

"""
JOINT_DOF = """x, y, _ = onto_z(axis).T
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


def fill(path: Path, begun: str, text: str) -> None:
    """Replaces the rest of the line that begins so, in a skeleton."""
    start, found, end = path.read_text("utf-8").partition(begun)
    assert found, (path, begun)
    path.write_text(f"{start}{text.rstrip()}\n{end.partition(chr(10))[2]}", encoding="utf-8")


@pytest.fixture(scope="module")
def copy() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="lw-", dir="/tmp") as made:
        folder = Path(made) / "linkwork"
        ignored = shutil.ignore_patterns("__pycache__", ".*", "benchmarks", "images")
        shutil.copytree(ROOT, folder, symlinks=True, ignore=ignored)
        for part, name in (("law", "soft"), ("request", "add"), ("joint", "table")):
            ran = command(folder, "-m", "linkwork", "dev", f"new-{part}", name)
            assert ran.returncode == 0, ran.stderr
        law = folder / "controller" / "laws" / "soft_law.py"
        fill(law, "raise NotImplementedError", LAW)
        insert(law, "import numpy as np\n\n", "from linkwork.arrays")
        fill(
            folder / "protocol" / "requests.py",
            '    """Parameters of the request `add`."""',
            f'    """Two numbers."""\n{PARAMS}',
        )
        handlers = folder / "controller" / "gateway" / "requests" / "handlers.py"
        answer = """total = call.params().first + call.params().second
    call.answer({"state": gateway.state_name, "text": str(total)})"""
        fill(handlers, 'call.answer({"state": gateway.state_name, "text": "not', answer)
        fill(
            folder / "linkwork" / "multibody" / "tree" / "joint_dof.py",
            '"table":\n        return',
            f'"table":\n        {JOINT_DOF}',
        )
        sections = folder / "linkwork" / "machine" / "sections" / "multi_dof_joints.py"
        text = sections.read_text("utf-8")
        head, _, tail = text.partition("class TableSpec")
        sections.write_text(
            head + "class TableSpec" + tail.replace('{"turn": True, "slide"', '{"x": False, "y"', 1), "utf-8"
        )
        insert(folder / "protocol" / "request_table.py", NOD_ROW, '    "recover": Request(')
        orders = folder / "controller" / "exchange" / "orders.py"
        insert(orders, ORDER, "ORDERS: tuple[")
        insert(orders, "    Nod,\n", "    Enable, Disable,")
        handlers = folder / "controller" / "supervision" / "order_handlers.py"
        insert(handlers, "    Nod,\n", "    Order,\n")
        insert(handlers, "            Nod: self._nod,\n", "            Enable: self._enable,")
        insert(handlers, NOD, "    def _enable(")
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
    assert not {"add", "nod"} & set(REQUESTS)


def test_the_law_is_in_schema_command_lines_and_refusals(copy: Path) -> None:
    schema = json.loads(command(copy, "-m", "linkwork", "schema").stdout)
    law = schema["$defs"]["ControllerSettings"]["properties"]["law"]
    assert law["enum"] == [*MOTION_LAW_NAMES, "soft"]
    assert "soft: describe the law soft here" in law["description"]
    assert f"{'|'.join(MOTION_LAW_NAMES)}|soft" in command(copy, "-m", "linkwork.controller", "--help").stdout
    refused = command(copy, "-m", "linkwork", "demo", "scara", "--law", "sofd")
    assert refused.returncode == 2
    assert "soft" in refused.stderr


def test_the_requests_have_commands(copy: Path) -> None:
    told = command(copy, "-m", "linkwork", "--help").stdout
    assert "Describe the request add here." in told
    assert "Do nothing, in the loop." in told
    add = command(copy, "-m", "linkwork", "add", "--help").stdout
    assert "--second" in add
    assert "FIRST" in add.partition("╭")[0]


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
    assert max(LawKind) + 1 in json.loads(found.stdout), found.stderr


def connected(folder: Path) -> bool:
    ran = command(folder, "-m", "linkwork", "state", "--json")
    return ran.returncode == 0 and json.loads(ran.stdout)["state"] == "inactive"
