"""Elements of URDF and SDF: which are read, which matter to no motion, and the effects of all others.

One table for each format (urdf.py, sdf.py) decides: an element that is neither read nor harmless is left out
with its effect, and one that no table has is counted by its name. A name that sounds like a closure is an
error, since a robot without one of its closures is another robot.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from xml.etree.ElementTree import Element

from linkwork.convert.robots.robot_model import RobotModel
from linkwork.convert.robots.xml_reading import XmlFile

_CLOSES = re.compile(r"loop|constraint|(?<!en)clos(e|ing|ure)|equality|bushing|weld|joint$", re.I)
_CONTROLS = re.compile(
    r"control|publisher|broadcast|physics|user-commands|sensor|camera|imu|lidar|laser|p3d|bumper|ft_", re.I
)
"""Names of plugins that measure, or drive the motors."""
LINK_EFFECTS = {
    "kinematic": "the simulator moves it, not its forces",
    "enable_wind": "wind pushes it",
    "velocity_decay": "its velocity decays",
    "dampingFactor": "its velocity decays",
    "fluid_added_mass": "the fluid around it adds to its inertia",
    "static": "it does not move",
}
"""Effects of elements of links that both formats have, by names."""


@dataclass(frozen=True)
class ElementTable:
    """Knowledge of the elements of one format.

    read: names of the children that are read, by the parent's name; harmless: names that matter to no motion;
    effects: what others do, by name or PARENT/NAME; `@NAME` is an attribute.
    """

    read: Mapping[str, str]
    harmless: str
    effects: Mapping[str, str]

    def check(self, robot: RobotModel, file: XmlFile, top: Element) -> None:
        """Note what is left out below an element. Raises ImportProblem for closures that are not read."""
        left: dict[tuple[str, str], list[str]] = {}
        unknown: Counter[str] = Counter()
        waiting, harmless = [top], set(self.harmless.split())
        while waiting:
            parent = waiting.pop()
            name = label(parent)
            for child in parent:
                own = label(child)
                effect = self.effects.get(f"{name}/{own}", self.effects.get(own))
                if own == "plugin":
                    self._plugin(robot, file, child)
                elif own in self.read.get(name, "").split():
                    waiting += [child] if own in self.read and name != "gazebo" else []
                elif effect is not None:
                    if not _is_neutral(child):
                        owner = parent.get("name") or parent.get("reference") or name
                        left.setdefault((own, effect), []).append(f"{owner}, line {file.line(child)}")
                elif own in harmless:
                    continue
                elif not _CLOSES.search(own):
                    unknown[own] += 1
                elif not robot.as_tree:
                    remedy = f"known: {self.read[name]}; --no-closures imports the tree alone"
                    text = f"<{own}> {child.get('name', '')!r} may close a loop, and is not read"
                    raise file.problem(child, text, remedy)
        for (own, effect), owners in left.items():
            robot.leave_out(f"<{own}> is left out ({'; '.join(_first(owners))}): {effect}")
        if unknown:
            listed = ", ".join(f"<{name}>{f' ({n})' if n > 1 else ''}" for name, n in unknown.items())
            robot.remarks.append(f"elements that are not read: {listed}")

    def _plugin(self, robot: RobotModel, file: XmlFile, plugin: Element) -> None:
        name = plugin.get("filename") or plugin.get("name") or "without a name"
        if not _CONTROLS.search(f"{name} {plugin.get('name', '')}") or "mimic" in name:
            does = "it may exert forces or couple joints"
            robot.leave_out(f"the plugin {name} (line {file.line(plugin)}) is left out: {does}")


def label(element: Element) -> str:
    """Return the name of an element, with `drake:` before those of Drake."""
    space, _, name = str(element.tag).rpartition("}")
    return f"drake:{name}" if "drake" in space else name


def _is_neutral(element: Element) -> bool:
    """Whether all that an element says is zero or false."""
    said = [each.text or "" for each in element.iter()] + list(element.attrib.values())
    words = " ".join(said).split()
    return bool(words) and all(word in ("false", "False") or not word.strip("+-.0e") for word in words)


def _first(names: list[str]) -> list[str]:
    return names if len(names) <= 3 else [*names[:3], f"{len(names) - 3} more"]
