"""Builds the message packages that PyPI lacks, `control_msgs` and `tf2_msgs`, in a venv made for it.

    python tests/ros/message_packages.py VENV

makes the venv, or takes the one that is there, installs ROS 2 and its generators from PyPI, and generates the
messages that linkwork's node uses: their fields are those of ROS 2's own packages.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import sysconfig
import tempfile
from pathlib import Path

ROS = ("rclpy[fastrtps]", "trajectory-msgs", "sensor-msgs", "std-srvs", "diagnostic-msgs")
GENERATORS = ("rosidl-default-generators", "rosidl-core-generators", "ament-package")
AMENT = (
    "", "-core", "-ros", "-ros-core", "-export-definitions", "-export-dependencies",
    "-export-include-directories", "-export-interfaces", "-export-libraries", "-export-link-flags",
    "-export-targets", "-gmock", "-gtest", "-include-directories", "-libraries", "-pytest", "-python",
    "-target-dependencies", "-test", "-version", "-gen-version-h",
)  # fmt: skip
BUILDER = r"/opt/python/[^/\s;]*"
"""Python on the computer that built the wheels."""
TOOLS = ("empy==3.3.4", "catkin_pkg", "lark", "setuptools<81")

POINTS = """trajectory_msgs/JointTrajectoryPoint desired
trajectory_msgs/JointTrajectoryPoint actual
trajectory_msgs/JointTrajectoryPoint error
"""
DEFINITIONS = {
    "control_msgs": {
        "msg/JointTolerance.msg": "string name\nfloat64 position\nfloat64 velocity\nfloat64 acceleration\n",
        "msg/SpeedScalingFactor.msg": "float64 factor\n",
        "msg/JointTrajectoryControllerState.msg": """std_msgs/Header header
string[] joint_names
trajectory_msgs/JointTrajectoryPoint reference
trajectory_msgs/JointTrajectoryPoint feedback
trajectory_msgs/JointTrajectoryPoint error
trajectory_msgs/JointTrajectoryPoint output
float64 speed_scaling_factor
""",
        "action/FollowJointTrajectory.action": f"""trajectory_msgs/JointTrajectory trajectory
trajectory_msgs/MultiDOFJointTrajectory multi_dof_trajectory
JointTolerance[] path_tolerance
JointTolerance[] goal_tolerance
builtin_interfaces/Duration goal_time_tolerance
---
int32 error_code
int32 SUCCESSFUL = 0
int32 INVALID_GOAL = -1
int32 INVALID_JOINTS = -2
int32 OLD_HEADER_TIMESTAMP = -3
int32 PATH_TOLERANCE_VIOLATED = -4
int32 GOAL_TOLERANCE_VIOLATED = -5
string error_string
---
std_msgs/Header header
string[] joint_names
{POINTS}""",
    },
    "tf2_msgs": {"msg/TFMessage.msg": "geometry_msgs/TransformStamped[] transforms\n"},
}
DEPENDENCIES = {
    "control_msgs": ("std_msgs", "builtin_interfaces", "trajectory_msgs", "geometry_msgs", "action_msgs"),
    "tf2_msgs": ("geometry_msgs",),
}


def run(*words: str | Path, **options: object) -> None:
    """Run a command; its output is shown where it fails."""
    done = subprocess.run(
        list(map(str, words)),
        check=False,
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        **options,
    )  # type: ignore[call-overload]
    if done.returncode:
        raise RuntimeError(f"{' '.join(map(str, words))}\n{done.stdout[-4000:]}")


def made_venv(venv: Path) -> None:
    """Install ROS 2 and the generators, whose files then name the headers of this Python."""
    if not (venv / "bin" / "python").exists():
        run(sys.executable, "-m", "venv", venv)
    packages = [f"ros-{name}" for name in (*ROS, *GENERATORS, *(f"ament-cmake{part}" for part in AMENT))]
    pip = (venv / "bin" / "python", "-m", "pip", "install", "-q")
    run(*pip, *packages)
    run(*pip, *TOOLS)  # the generators need this older empy
    headers = sysconfig.get_path("include")
    for path in (venv / "share").rglob("*.cmake"):
        text = path.read_text("utf-8")
        there = re.sub(rf"{BUILDER}/include/python3\.\d+", headers, text)
        there = re.sub(rf"{BUILDER}/lib", str(venv / "lib"), there)
        if there != text:
            path.write_text(there, "utf-8")


def build(package: str, venv: Path, folder: Path) -> None:
    """Generate and install a message package into the venv."""
    source, files = folder / package, DEFINITIONS[package]
    for name, text in files.items():
        (source / name).parent.mkdir(parents=True, exist_ok=True)
        (source / name).write_text(text, "utf-8")
    needs = DEPENDENCIES[package]
    (source / "package.xml").write_text(
        f"""<package format="3"><name>{package}</name><version>1.0.0</version>
<description>messages</description><maintainer email="none@example.org">none</maintainer>
<license>Apache-2.0</license>
<buildtool_depend>ament_cmake</buildtool_depend><buildtool_depend>rosidl_default_generators</buildtool_depend>
{"".join(f"<depend>{each}</depend>" for each in needs)}
<exec_depend>rosidl_default_runtime</exec_depend>
<member_of_group>rosidl_interface_packages</member_of_group>
<export><build_type>ament_cmake</build_type></export></package>
""",
        "utf-8",
    )
    finds = "\n".join(f"find_package({each} REQUIRED)" for each in needs)
    (source / "CMakeLists.txt").write_text(
        f"""cmake_minimum_required(VERSION 3.20)
project({package})
find_package(ament_cmake REQUIRED)
find_package(rosidl_default_generators REQUIRED)
{finds}
rosidl_generate_interfaces(${{PROJECT_NAME}} {" ".join(f'"{name}"' for name in files)}
  DEPENDENCIES {" ".join(needs)})
ament_package()
""",
        "utf-8",
    )
    environment = os.environ | {
        "PATH": f"{venv / 'bin'}:{os.environ['PATH']}",
        "VIRTUAL_ENV": str(venv),
        "AMENT_PREFIX_PATH": str(venv),
        "CMAKE_PREFIX_PATH": str(venv),
    }
    run(
        "cmake", "-S", source, "-B", folder / f"{package}-build", f"-DCMAKE_INSTALL_PREFIX={venv}",
        "-DPython3_FIND_VIRTUALENV=FIRST", f"-DPython3_EXECUTABLE={venv / 'bin' / 'python'}",
        "-DBUILD_TESTING=OFF", env=environment,
    )  # fmt: skip
    run("cmake", "--build", folder / f"{package}-build", "--target", "install", env=environment)


def main() -> None:
    """Make the venv given on the command line."""
    venv = Path(sys.argv[1]).absolute()
    made_venv(venv)
    with tempfile.TemporaryDirectory() as folder:
        for package in DEFINITIONS:
            build(package, venv, Path(folder))


if __name__ == "__main__":
    main()
