"""Shapes that show links: from URDF, SDF and MJCF into the machine file, and back."""

from pathlib import Path

import numpy as np
import pytest

from linkwork.convert.robots.importing import Imported, ImportOptions, import_robot
from linkwork.convert.robots.robot_writing import written
from linkwork.machine import Machine, load
from tests.command import linkwork

INERTIA = '<inertia ixx="0.1" iyy="0.1" izz="0.1" ixy="0" ixz="0" iyz="0"/>'
URDF = f"""
<robot name="shown">
  <material name="steel"><color rgba="0.5 0.5 1 1"/></material>
  <link name="base"><visual><geometry><sphere radius="0.1"/></geometry></visual></link>
  <link name="arm"><inertial><mass value="1"/>{INERTIA}</inertial>
    <visual><origin xyz="0 0 0.2" rpy="0 1.5707963267948966 0"/><geometry><box size="0.1 0.2 0.4"/></geometry>
      <material name="steel"/></visual>
    <visual><geometry>
      <mesh filename="package://parts/arm.stl" scale="0.001 -0.001 0.001"/></geometry></visual>
    <visual><geometry><mesh filename="package://other/arm.stl"/></geometry></visual>
    <visual><geometry><mesh filename="arm.dae"/></geometry></visual>
  </link>
  <link name="hand"><visual><origin xyz="0.1 0 0"/><geometry><cylinder radius="0.05" length="0.3"/></geometry>
      <material name=""><color rgba="1 0 0 0.5"/></material></visual></link>
  <joint name="turn" type="continuous"><parent link="base"/><child link="arm"/><axis xyz="0 1 0"/></joint>
  <joint name="held" type="fixed"><parent link="arm"/><child link="hand"/><origin xyz="0 0 1"/></joint>
</robot>"""
SDF = """
<sdf version="1.9"><model name="shown">
  <link name="arm"><pose>0 0 1 0 0 0</pose><inertial><mass>1</mass></inertial>
    <visual name="a"><pose>0 0 0.2 0 1.5707963267948966 0</pose>
      <geometry><box><size>0.1 0.2 0.4</size></box></geometry>
      <material><diffuse>0.5 0.5 1</diffuse></material></visual>
    <visual name="b"><geometry><mesh><uri>model://parts/arm.stl</uri><scale>0.001 -0.001 0.001</scale></mesh>
      </geometry></visual>
    <visual name="c"><pose relative_to="mark"/>
      <geometry><cylinder><radius>0.05</radius><length>0.3</length></cylinder></geometry>
      <material><diffuse>1 0 0 0.5</diffuse></material></visual>
    <visual name="d"><geometry><mesh><uri>arm.dae</uri></mesh></geometry></visual></link>
  <frame name="mark" attached_to="arm"><pose>0.1 0 1 0 0 0</pose></frame>
  <joint name="turn" type="revolute"><parent>world</parent><child>arm</child>
    <axis><xyz>0 1 0</xyz></axis></joint>
</model></sdf>"""
MJCF = """
<mujoco model="shown"><compiler angle="radian" meshdir="parts"/>
  <asset><mesh name="arm" file="arm.stl" scale="0.001 -0.001 0.001"/>
    <material name="steel" rgba="0.5 0.5 1 1"/></asset>
  <worldbody><geom type="plane" size="1 1 1"/><body name="arm">
    <joint name="turn" axis="0 1 0"/><inertial pos="0 0 0" mass="1" diaginertia="0.1 0.1 0.1"/>
    <geom type="box" size="0.05 0.1 0.2" pos="0 0 0.2" euler="0 1.5707963267948966 0" material="steel"/>
    <geom type="mesh" mesh="arm"/>
    <geom type="cylinder" size="0.05" fromto="0.1 0 0.85 0.1 0 1.15" rgba="1 0 0 0.5"/>
    <geom type="sphere" size="0.2" group="3"/>
    <geom type="ellipsoid" size="0.2 0.1 0.1"/>
  </body></worldbody></mujoco>"""
FILES = {"robot.urdf": URDF, "robot.sdf": SDF, "robot.xml": MJCF}
TETRAHEDRON = [[(0, 0, 0), (0, 90, 0), (90, 0, 0)], [(0, 0, 0), (90, 0, 0), (0, 0, 90)],
               [(0, 0, 0), (0, 0, 90), (0, 90, 0)], [(90, 0, 0), (0, 90, 0), (0, 0, 90)]]  # fmt: skip


def write_mesh(path: Path) -> None:
    """Write a tetrahedron as STL."""
    path.parent.mkdir(exist_ok=True)
    corner = np.dtype([("normal", "<f4", 3), ("at", "<f4", (3, 3)), ("spare", "<u2")])
    faces = np.zeros(4, corner)
    faces["at"] = TETRAHEDRON
    path.write_bytes(bytes(80) + np.uint32(4).tobytes() + faces.tobytes())


def imported(folder: Path, name: str) -> Imported:
    write_mesh(folder / "parts" / "arm.stl")
    (folder / name).write_text(FILES[name].strip())
    options = ImportOptions(packages={"parts": folder / "parts"}, folder=folder)
    return import_robot(folder / name, options)


def assert_shows(machine: Machine, *, outside: str = "") -> None:
    """The three shapes, which are the same in all formats."""
    shapes = {shape.kind: shape for shape in machine.visuals}
    assert {shape.body for shape in machine.visuals} == {"arm"}
    assert len(shapes) == len(machine.visuals) == 3
    box, mesh, cylinder = (shapes[kind] for kind in ("box", "mesh", "cylinder"))
    assert box.sizes == pytest.approx((0.1, 0.2, 0.4))
    assert (box.color, mesh.color, cylinder.color) == ("#8080ff", None, "#ff000080")
    np.testing.assert_allclose(box.at_m, [0, 0, 0.2], atol=1e-12)
    np.testing.assert_allclose(box.rotation, [[0, 0, 1], [0, 1, 0], [-1, 0, 0]], atol=1e-12)
    assert (mesh.file, mesh.sizes) == (f"{outside}parts/arm.stl", pytest.approx((0.001, -0.001, 0.001)))
    assert cylinder.sizes == pytest.approx((0.05, 0.3))
    np.testing.assert_allclose(cylinder.at_m, [0.1, 0, 1], atol=1e-12)


@pytest.mark.parametrize(
    ("name", "left_out"),
    [
        ("robot.urdf", "1 meshes in .dae, 1 meshes in folders that are not given (--package NAME=DIR)"),
        ("robot.sdf", "1 meshes in .dae"),
        ("robot.xml", "1 of type ellipsoid"),
    ],
)
def test_shapes_are_imported_and_converted(name: str, left_out: str, tmp_path: Path) -> None:
    found = imported(tmp_path, name)
    assert_shows(found.machine)
    assert f"shapes for drawings that are left out: {left_out}" in found.remarks
    (tmp_path / "machine.yaml").write_text(found.text)
    machine = load(tmp_path / "machine.yaml")
    text, exported = written(machine, found.source.format, tmp_path)
    assert (exported.losses, any("mesh" in note for note in exported.notes)) == ([], False)
    again = tmp_path / "again" / name
    again.parent.mkdir()
    (tmp_path / name).write_text(text)
    assert_shows(import_robot(tmp_path / name, ImportOptions(folder=again.parent)).machine, outside="../")


def test_a_mesh_that_gives_an_inertia_stands_where_mujoco_has_it(tmp_path: Path) -> None:
    """MuJoCo moves a mesh into its principal axes; the shape is the file's."""
    given = '<inertial pos="0 0 0" mass="1" diaginertia="0.1 0.1 0.1"/>'
    write_mesh(tmp_path / "parts" / "arm.stl")
    turned = MJCF.replace('mesh="arm"/>', 'mesh="arm" pos="1 2 3" euler="0.1 0.2 0.3" contype="0"/>')
    places = []
    for text in (turned, turned.replace(given, "")):
        (tmp_path / "robot.xml").write_text(text.strip())
        shapes = import_robot(tmp_path / "robot.xml", ImportOptions(folder=tmp_path)).machine.visuals
        places += [shape for shape in shapes if shape.kind == "mesh"]
    first, second = places
    np.testing.assert_allclose(first.at_m, [1, 2, 3], atol=1e-9)
    np.testing.assert_allclose(second.at_m, first.at_m, atol=1e-9)
    np.testing.assert_allclose(second.rotation, first.rotation, atol=1e-9)


def test_the_commands_keep_shapes(tmp_path: Path) -> None:
    imported(tmp_path, "robot.urdf")
    target = tmp_path / "machines" / "robot.yaml"
    target.parent.mkdir()
    parts = ("--package", f"parts={tmp_path / 'parts'}")
    ran = linkwork("import", str(tmp_path / "robot.urdf"), "--out", str(target), *parts)
    assert ran.returncode == 0, ran.stderr
    assert_shows(load(target), outside="../")
    ran = linkwork("convert", str(target), "--to", "urdf", "--out", str(tmp_path / "back.urdf"))
    assert ran.returncode == 0, ran.stderr
    assert 'filename="parts/arm.stl"' in (tmp_path / "back.urdf").read_text()
