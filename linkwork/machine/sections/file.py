"""The machine file as a whole. A new section is a new file in this folder and one more line here."""

from typing import Annotated, Any, Literal

from pydantic import Field, model_validator

from linkwork.machine.sections.bodies import BodySpec, PointSpec
from linkwork.machine.sections.bounds import Region
from linkwork.machine.sections.constraint_base import CoordinateName
from linkwork.machine.sections.constraints import Constraint
from linkwork.machine.sections.contacts import ContactSpec
from linkwork.machine.sections.drivers import DriverSettings
from linkwork.machine.sections.fields import Name, Number, Section, Vector3, entry
from linkwork.machine.sections.force_elements import AppliedForceSpec, SpringSpec
from linkwork.machine.sections.force_sensors import ForceSensor
from linkwork.machine.sections.frame_section import FrameSpec
from linkwork.machine.sections.joint_types import Joint, mark_kinds
from linkwork.machine.sections.motors import Motor
from linkwork.machine.sections.scene_section import SceneSpec
from linkwork.machine.sections.sensors import Sensor
from linkwork.machine.sections.settings import ControllerSettings, PlantSettings, TwinSettings
from linkwork.machine.sections.signal_section import Signal
from linkwork.machine.sections.tasks import Task
from linkwork.multibody.kernels.layout import ROUNDING


class MachineFile(Section):
    """A machine: its bodies, joints, motors and sensors, and the settings of plant and controller."""

    name: Name = entry("Name of the machine, by which daemons and clients find each other")
    about: str = entry("Description of the machine", default="")
    gravity_m_s2: Vector3 = entry("Acceleration of gravity, in the world's frame", "m/s²", [0.0, 0.0, -9.81])
    bodies: Annotated[dict[Name, BodySpec], Field(min_length=1)] = entry("The rigid bodies, by name")
    joints: Annotated[dict[Name, Joint], Field(min_length=1)] = entry(
        "The joints, by name: a tree that grows from `world`. "
        "Their order here is the order of the coordinates"
    )
    points: dict[Name, PointSpec] = entry("Named points of bodies", default={})
    constraints: dict[Name, Constraint] = entry(
        "Constraints beyond the joints: closed loops, guides, gears, by name",
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
    springs: dict[Name, SpringSpec] = entry("Springs with dampers, by name", default={})
    forces: dict[Name, AppliedForceSpec] = entry("Applied forces and torques, by name", default={})
    task: dict[Name, Task] = entry("Task coordinates that goals may name, by name", default={})
    workspace: dict[Name, Region] = entry(
        "Workspace and speed limits of points, by the names in `points`, for goals and jogging",
        default={},
    )
    motors: dict[CoordinateName, Motor] = entry(
        "The motors, by the name of the joint they drive, or of its degree of freedom: JOINT.DOF", default={}
    )
    sensors: dict[CoordinateName, Sensor] = entry(
        "The sensors, by the name of the joint they measure, or of its degree of freedom: JOINT.DOF",
        default={},
    )
    force_sensors: dict[Name, ForceSensor] = entry("Force sensors of contacts, by name", default={})
    signals: dict[Name, Signal] = entry(
        "Digital and analog inputs and outputs: grippers, valves, light barriers, by name", default={}
    )
    scene: SceneSpec | None = entry(
        "What surrounds the simulated machine: loose parts, planes on which they lie, grippers", default=None
    )
    frames: dict[Name, FrameSpec] = entry(
        "Moving frames, such as conveyor belts, in which goals may be given, by name", default={}
    )
    initial: dict[str, Number] = entry(
        "Initial state of the plant: `JOINT_deg`, `JOINT_rad` or `JOINT_m`, "
        "and its speed: `JOINT_deg_s`, `JOINT_rad_s` or `JOINT_m_s`; 0 where not given. Under constraints, "
        "one value per degree of freedom is kept, in the order of the keys; the others are guesses",
        default={},
    )
    initial_guess: dict[str, Number] = entry(
        "Under constraints: start of the search for the initial pose, for positions that are not in "
        "`initial`. It selects the assembly mode and is not kept; 0 where not given",
        default={},
    )
    poses: dict[Name, dict[str, Number]] = entry(
        "Poses for `linkwork move NAME`: coordinates with units, as `shoulder_deg` or `x_m`. Without `home`, "
        "that is the initial pose",
        default={},
    )
    plant: PlantSettings = entry("The plant daemon", default=PlantSettings())
    controller: ControllerSettings = entry("The controller daemon", default=ControllerSettings())
    twin: TwinSettings = entry(
        "The digital twin: a simulation that runs beside the machine", default=TwinSettings()
    )
    driver: DriverSettings = entry(
        "Hardware instead of the simulated plant: channels and units", default=DriverSettings()
    )

    @model_validator(mode="before")
    @classmethod
    def _with_kinds(cls, data: Any) -> Any:
        return mark_kinds(data)
