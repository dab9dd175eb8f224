"""The machine file as a whole. A new section is a new file beside this one and one more line here."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from linkwork.machine.sections.bodies import BodySpec, PointSpec
from linkwork.machine.sections.bounds import RegionSpec
from linkwork.machine.sections.constraint_base import CoordinateName
from linkwork.machine.sections.constraints import Constraint
from linkwork.machine.sections.contacts import ContactSpec
from linkwork.machine.sections.drivers import DriverSpec
from linkwork.machine.sections.fields import Name, Number, Section, Vector3, entry
from linkwork.machine.sections.force_sensors import ForceSensorSpec
from linkwork.machine.sections.joint_types import Joint
from linkwork.machine.sections.motors import Motor
from linkwork.machine.sections.sensors import Sensor
from linkwork.machine.sections.settings import ControllerSpec, PlantSpec
from linkwork.machine.sections.tasks import Task
from linkwork.machine.sections.twin_section import ShadowSpec
from linkwork.multibody.kernels.layout import ROUNDING


class MachineFile(Section):
    """A machine: its bodies, joints, motors and sensors, and how plant and controller run it."""

    name: Name = entry("Name of the machine; daemons and clients find each other by it")
    about: str = entry("What this machine is, for people", default="")
    gravity_m_s2: Vector3 = entry("Acceleration of gravity, in the world's frame", "m/s²", [0.0, 0.0, -9.81])
    bodies: Annotated[dict[Name, BodySpec], Field(min_length=1)] = entry("The rigid bodies, by name")
    joints: Annotated[dict[Name, Joint], Field(min_length=1)] = entry(
        "The joints, by name: a tree that grows from `world`. "
        "Their order here is the order of the coordinates"
    )
    points: dict[Name, PointSpec] = entry("Named points of bodies", default={})
    constraints: dict[Name, Constraint] = entry(
        "What is demanded of the motion beyond the joints: loops that close, guides, gears, by name",
        default={},
    )
    rank_tolerance: Number = entry(
        "Rank of the constraints: a singular value of their rows, scaled to about 1 in ordinary poses, "
        "that is smaller than this counts as round-off",
        "1",
        ROUNDING,
        ge=1e-14,
        le=1e-2,
    )
    closed_form: Literal["four_bar"] | None = entry(
        "Explicit solution of the closures that `linkwork simulate --formulation minimal` takes: four_bar, "
        "of three revolute joints in a plane and one closure",
        default=None,
    )
    contacts: dict[Name, ContactSpec] = entry("Points that touch planes and spheres, by name", default={})
    task: dict[Name, Task] = entry("Task coordinates that goals may name, by name", default={})
    workspace: dict[Name, RegionSpec] = entry(
        "Where points may go, and how fast, by the names in `points`: for every goal and while jogging",
        default={},
    )
    motors: dict[CoordinateName, Motor] = entry(
        "The motors, by the name of the joint they drive, or of its freedom: JOINT.FREEDOM", default={}
    )
    sensors: dict[CoordinateName, Sensor] = entry(
        "The sensors, by the name of the joint they measure, or of its freedom: JOINT.FREEDOM", default={}
    )
    force_sensors: dict[Name, ForceSensorSpec] = entry(
        "Sensors of the forces of contacts, by a name of their own", default={}
    )
    initial: dict[str, Number] = entry(
        "Where the plant starts: `JOINT_deg`, `JOINT_rad` or `JOINT_m`, "
        "and its speed: `JOINT_deg_s`, `JOINT_rad_s` or `JOINT_m_s`; 0 where not given. Under constraints "
        "as many as the machine has freedoms are kept, in the order of the keys; the others are guesses",
        default={},
    )
    initial_guess: dict[str, Number] = entry(
        "Under constraints: where the search for the initial pose begins, for positions that are not in "
        "`initial`. It selects the assembly mode and is not kept; 0 where not given",
        default={},
    )
    plant: PlantSpec = entry("The plant daemon", default=PlantSpec())
    controller: ControllerSpec = entry("The controller daemon", default=ControllerSpec())
    shadow: ShadowSpec = entry("The simulator beside the machine, in operation", default=ShadowSpec())
    driver: DriverSpec = entry("What the numbers of hardware in the plant's place mean", default=DriverSpec())
