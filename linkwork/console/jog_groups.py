"""Sets of coordinates that can be jogged together."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def jog_groups(described: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the sets with their names: task coordinates first, joints, or those in which goals are given.

    A jog moves a set that has as many coordinates as the machine has degrees of freedom.
    """
    goals = list(described["goal_coordinates"])
    coordinates = described["coordinates"]
    joints = [each for each in coordinates if each["kind"] == "joint"]
    tasks = [each for each in coordinates if each["kind"] == "task"]
    home = joints if len(joints) == len(goals) else [each for each in coordinates if each["name"] in goals]
    kinds = {each["kind"] for each in home}
    groups = [{"name": "joints" if kinds == {"joint"} else "coordinates", "coordinates": home}]
    if len(tasks) == len(goals) and tasks != home:
        groups.insert(0, {"name": "task", "coordinates": tasks})
    return groups
