"""The section `twin`: the digital twin, and the allowed difference from the machine."""

from __future__ import annotations

import math
from typing import Annotated, Literal

from pydantic import Field

from linkwork.machine.sections.constraint_base import CoordinateName
from linkwork.machine.sections.fields import Number, Section, Switch, entry
from linkwork.machine.sections.quantity import Quantity, one_unit


class TwinSettings(Section):
    """The digital twin, a simulator beside the machine, and the reaction to differences."""

    on: Switch = entry("Whether it runs without being asked for by `--twin`", default=False)
    bandwidth_rad_s: Number = entry(
        "Bandwidth of the difference in effort; slower differences are detected in full", "rad/s", 60.0,
        gt=0, le=10_000,
    )  # fmt: skip
    effort_share: Number | None = entry(
        "Largest difference, as a share of each motor's largest effort. Default: motors are not compared",
        default=0.1,
        gt=0,
        le=10,
    )
    efforts: dict[CoordinateName, Annotated[Number, Field(gt=0)]] = entry(
        "Largest difference along goal coordinates, by their names", "N m or N", default={}
    )
    energy_threshold = Quantity(
        "energy_threshold", one_unit("J", "J"),
        "Largest difference in energy over `window_s`. Default: energy is not compared", None,
        absent=math.inf, gt=0,
    )  # fmt: skip
    window_s: Number = entry("Time over which the difference in energy is summed", "s", 0.5, gt=0, le=60)
    on_exceeded: Literal["tell", "stop", "fault"] = entry(
        "Reaction: report it, also stop the machine on its path, or brake with the fault MODEL_DIFFERENCE",
        default="tell",
    )
