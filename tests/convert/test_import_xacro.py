"""Import of xacro: macros and packages; what fails says why."""

from pathlib import Path

import pytest

from linkwork.convert.robots.importing import ImportOptions, import_robot, read_robot
from linkwork.convert.robots.robot_model import ImportProblem

pytest.importorskip("xacrodoc", reason="xacrodoc is not installed")
ROBOT = """<robot name="arm" xmlns:xacro="http://www.ros.org/wiki/xacro">
<xacro:include filename="$(find parts)/rod.xacro"/>
<link name="ground"/>
<xacro:rod name="upper" parent="ground" length="${2*0.3}"/>
<xacro:rod name="lower" parent="upper" length="0.4"/>
</robot>"""
ROD = """<robot xmlns:xacro="http://www.ros.org/wiki/xacro">
<xacro:macro name="rod" params="name parent length">
<link name="${name}"><inertial><origin xyz="${length/2} 0 0"/><mass value="1"/>
  <inertia ixx="0.001" iyy="0.02" izz="0.02" ixy="0" ixz="0" iyz="0"/></inertial></link>
<joint name="${name}_joint" type="continuous"><parent link="${parent}"/><child link="${name}"/>
  <axis xyz="0 1 0"/></joint>
</xacro:macro></robot>"""


def test_macros_of_a_package_are_expanded(tmp_path: Path) -> None:
    (tmp_path / "store").mkdir()
    (tmp_path / "store" / "rod.xacro").write_text(ROD)
    path = tmp_path / "arm.urdf.xacro"
    path.write_text(ROBOT)
    found = import_robot(path, ImportOptions(packages={"parts": tmp_path / "store"}))
    assert found.machine.dof == 2
    assert found.source.links["upper"].com.tolist() == [0.3, 0.0, 0.0]
    with pytest.raises(ImportProblem, match=r"xacro: .*parts"):
        read_robot(path)


def test_relative_includes_are_those_beside_the_file(tmp_path: Path) -> None:
    """Properties, an argument with a default, a condition and a macro in a folder beside the file."""
    (tmp_path / "parts").mkdir()
    (tmp_path / "parts" / "rod.xacro").write_text(ROD)
    path = tmp_path / "arm.urdf.xacro"
    text = ROBOT.replace("$(find parts)", "parts").replace('"${2*0.3}"', "\"${l['a']}\"")
    more = '<xacro:arg name="side" default="left"/><xacro:property name="l" value="${dict(a=0.6)}"/>'
    lower = '<xacro:rod name="lower" parent="upper" length="0.4"/>'
    text = text.replace("<link", f"{more}<link", 1).replace(
        lower, f"<xacro:if value=\"${{'$(arg side)' == 'left'}}\">{lower}</xacro:if>"
    )
    path.write_text(text)
    found = import_robot(path)
    assert found.machine.dof == 2
    assert found.source.links["upper"].com.tolist() == [0.3, 0.0, 0.0]


def test_broken_xacro_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "arm.xacro"
    path.write_text(ROBOT.replace("<xacro:include", "<!--").replace('rod.xacro"/>', "-->"))
    with pytest.raises(ImportProblem, match="xacro: "):
        read_robot(path)
    with pytest.raises(ImportProblem, match="no such file"):
        read_robot(tmp_path / "none.xacro")
