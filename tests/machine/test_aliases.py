"""Foreign names: what a machine file gives them to, and where they are accepted."""

from __future__ import annotations

from pathlib import Path

import msgpack
import pytest

from linkwork.controller.exchange.named_signals import read_condition
from linkwork.controller.exchange.records import layout_for
from linkwork.controller.planning.messages.planner_start import Start
from linkwork.controller.planning.process.planner import plan
from linkwork.convert.robots.importing import import_robot
from linkwork.machine import Machine, MachineError, check, load, shipped_path
from linkwork.machine.yaml_document import parse_yaml
from linkwork.plant.faults.timeline import check_timeline
from linkwork.protocol.errors import RequestError
from linkwork.protocol.request_messages import pack_request
from linkwork.protocol.requests import read_params, read_request
from linkwork.protocol.trajectory import read_trajectory
from tests.command import linkwork

SHOULDER = "arm/base link to upper arm, pan"
LONG = "robot_arm/segment_2/a_joint_with_a_name_of_more_than_forty_characters"


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The SCARA with aliases of two joints, a body and its tool."""
    text = shipped_path("scara").read_text(encoding="utf-8")
    for key, alias in (("shoulder", SHOULDER), ("elbow", LONG)):
        text = text.replace(
            f"\n  {key}:\n    type: revolute", f'\n  {key}:\n    alias: "{alias}"\n    type: revolute', 1
        )
    text = text.replace("  shoulder_link:\n", '  shoulder_link:\n    alias: "arm/upper link"\n', 1)
    text = text.replace("  tool: {", '  tool: {alias: "arm/tool0", ', 1)
    path = tmp_path_factory.mktemp("aliases") / "scara.yaml"
    path.write_text(text, encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def machine(file: Path) -> Machine:
    return load(file)


def test_a_machine_knows_its_foreign_names(machine: Machine) -> None:
    assert machine.aliases[SHOULDER] == "shoulder"
    assert machine.aliases[LONG] == "elbow"
    assert machine.aliases["arm/upper link"] == "shoulder_link"
    assert machine.aliases["arm/tool0.x"] == "tool.x"
    assert machine.model_hash == load("scara").model_hash


def test_the_parts_of_a_joint_have_foreign_names_too(tmp_path: Path) -> None:
    path = tmp_path / "free.yaml"
    path.write_text(
        "name: free\nbodies:\n  hull: {mass_kg: 1, inertia_kg_m2: [1, 1, 1, 0, 0, 0]}\n"
        'joints:\n  base: {type: free, parent: world, child: hull, alias: "hull/base"}\n',
        encoding="utf-8",
    )
    assert load(path).aliases["hull/base.rx"] == "base.rx"


@pytest.mark.parametrize(
    ("alias", "message"),
    [("elbow", "means elbow, too"), ("a=b", "alias"), (" a", "alias"), ("a" * 129, "alias")],
)
def test_an_alias_that_cannot_be_one_is_refused(alias: str, message: str, tmp_path: Path) -> None:
    text = shipped_path("scara").read_text(encoding="utf-8")
    path = tmp_path / "scara.yaml"
    old = "\n  shoulder:\n    type: revolute"
    path.write_text(
        text.replace(old, f'\n  shoulder:\n    alias: "{alias}"\n    type: revolute'), encoding="utf-8"
    )
    (problem,) = check(path)
    assert problem.severity == "error"
    assert problem.key == "joints.shoulder.alias"
    assert message in problem.message + problem.key


def test_requests_accept_either_name(machine: Machine) -> None:
    raw = pack_request(1, "move", {"target": {SHOULDER: 0.3, "lift": 0.0}})
    assert read_request(raw).checked_params(machine.aliases).target == {"shoulder": 0.3, "lift": 0.0}
    params = msgpack.packb({"velocity": {LONG: 0.1}})
    assert read_params("jog", params, machine.aliases).velocity == {"elbow": 0.1}
    with pytest.raises(RequestError, match="this is shoulder, which is given too"):
        read_params("jog", msgpack.packb({"velocity": {SHOULDER: 0.1, "shoulder": 0.2}}), machine.aliases)
    with pytest.raises(RequestError, match="there is no coordinate 'unknown/joint'"):
        plan("move", {"target": {"unknown/joint": 0.1}}, machine, start(machine))
    with pytest.raises(RequestError, match="positions are in rad and m here"):
        plan("move", {"target": {"elbow_deg": 10.0}}, machine, start(machine))


def test_a_trajectory_is_planned_under_the_machines_names(machine: Machine) -> None:
    names = [SHOULDER, LONG]
    points = [{"time_from_start_s": 2.0, "positions": [0.6, -0.9]}]
    trajectory = {"coordinates": names, "points": points, "tolerances": {SHOULDER: {"goal": 0.01}}}
    assert read_trajectory(trajectory).coordinates == names
    planned = plan("send", {"trajectory": trajectory}, machine, start(machine))
    assert planned.coordinates == ("shoulder", "elbow", "wrist", "lift")


def test_commands_accept_either_name(file: Path) -> None:
    given = ("--initial", f"{SHOULDER}_deg=30", "--speed", f"{LONG}_deg_s=10", "--effort", f"{SHOULDER}=1")
    more = ("--force", "arm/tool0.x=2", "--plant-set", "arm/upper link.mass_kg=+20%")
    foreign = linkwork("simulate", str(file), "--duration", "0.01", "--json", *given, *more)
    own = linkwork(
        *("simulate", str(file), "--duration", "0.01", "--json", "--initial", "shoulder_deg=30"),
        *("--speed", "elbow_deg_s=10", "--effort", "shoulder=1", "--force", "tool.x=2"),
        *("--plant-set", "shoulder_link.mass_kg=+20%"),
    )
    assert foreign.returncode == 0, foreign.stderr
    without_rate = [text.partition('"steps_per_s"')[0] for text in (foreign.stdout, own.stdout)]
    assert without_rate[0] == without_rate[1]


def test_fault_time_lines_accept_either_name(machine: Machine) -> None:
    text = f'faults:\n  - {{at_s: 0, sensor: bias, of: "{LONG}", by_deg: 1}}\n'
    text += '  - {at_s: 0, mechanism: payload, of: "arm/upper link", mass_kg: 1}\n'
    line = check_timeline(parse_yaml(text), machine, hardware=False)
    assert [entry.about for entry in line.entries] == ["elbow", "shoulder_link"]


def test_an_alias_that_is_a_word_of_a_fault_names_no_process(file: Path, tmp_path: Path) -> None:
    path = tmp_path / "scara.yaml"
    path.write_text(file.read_text(encoding="utf-8").replace(f'"{LONG}"', "controller"), encoding="utf-8")
    faults = "[{processor: stall, of: controller, for_s: 0.1}, {sensor: nan, of: controller}]"
    line = check_timeline(parse_yaml(f"faults: {faults}"), load(path), hardware=False)
    assert [fault.about for fault in line.entries] == ["controller", "elbow"]


def test_expressions_of_the_file_accept_either_name(file: Path, tmp_path: Path) -> None:
    more = """
forces:
  push: {joint: wrist, torque_N_m: "-0.1 * rate(ELBOW) + sin(SHOULDER)"}
signals:
  near: {direction: input, type: digital, simulated: "SHOULDER.position > 0.3 and ELBOW < 1"}
"""
    machines = []
    for shoulder, elbow in ((f"'{SHOULDER}'", f"'{LONG}'"), ("shoulder", "elbow")):
        text = file.read_text(encoding="utf-8") + more.replace("SHOULDER", shoulder).replace("ELBOW", elbow)
        path = tmp_path / "scara.yaml"
        path.write_text(text, encoding="utf-8")
        machines.append(load(path))
    assert machines[0].model_hash == machines[1].model_hash
    assert machines[0].signals[-1] == machines[1].signals[-1]
    assert "shoulder.position > 0.3" in machines[0].signals[-1].simulated


def test_conditions_of_requests_accept_either_name(machine: Machine) -> None:
    layout = layout_for(machine)
    text = f"'{SHOULDER}'.position > 0.3 and time_s < 9"
    condition = read_condition(machine, layout, text, ("until",))
    assert list(condition.names) == ["shoulder.position", "time_s"]
    with pytest.raises(RequestError, match="until: "):
        read_condition(machine, layout, "'no such name'.position > 0.3", ("until",))


def test_an_import_writes_the_names_of_the_source(tmp_path: Path) -> None:
    path = tmp_path / "robot.urdf"
    inertial = (
        '<inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial>'
    )
    path.write_text(
        f'<robot name="r"><link name="base"/><link name="arm/link 1">{inertial}</link>'
        f'<joint name="{LONG}" type="continuous"><parent link="base"/><child link="arm/link 1"/>'
        '<axis xyz="0 1 0"/></joint></robot>',
        encoding="utf-8",
    )
    found = import_robot(path)
    (joint,) = found.machine.mechanism.joint_names
    assert found.machine.aliases == {LONG: joint, "arm/link 1": "arm_link_1"}


def test_two_parts_cannot_have_one_alias(file: Path, tmp_path: Path) -> None:
    path = tmp_path / "twice.yaml"
    path.write_text(file.read_text(encoding="utf-8").replace(LONG, SHOULDER), encoding="utf-8")
    with pytest.raises(MachineError, match="this alias means shoulder, too"):
        load(path)


def start(machine: Machine) -> Start:
    """The machine at rest where it starts."""
    return Start.at_pose(machine, machine.initial_q)
