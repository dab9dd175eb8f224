"""The campaign file: schema, and reading with the place of every error."""

from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import Field, model_validator

from linkwork.machine.checks.schema_validation import validate
from linkwork.machine.problems import MachineError
from linkwork.machine.sections.fields import Count, Name, Number, Range, Section, Switch, entry, one_of, wrong
from linkwork.machine.sections.json_schema import for_editors
from linkwork.machine.yaml_document import Document, read_yaml

MOST_RUNS = 10_000_000
DISTRIBUTIONS = ("uniform", "normal", "loguniform", "choice")
Keys = str | list[str]
NotNegative = Annotated[Number, Field(ge=0.0)]
Share = Annotated[float, Field(strict=True, gt=0.0, le=1.0)]


class SamplingSection(Section):
    """Sampling of the parameters."""

    method: Literal["sobol", "latin_hypercube", "grid", "monte_carlo"] = entry("Design of the samples")
    samples: Count | None = entry("Number of samples; not for a grid", default=None, ge=1, le=MOST_RUNS)
    levels: Count = entry("Values of each parameter in a grid", default=5, ge=1, le=1000)
    repeats: Count = entry("Runs of each sample, with other seeds of the noise", default=1, ge=1, le=100_000)
    indices: Switch = entry(
        "Sobol indices: the samples are the base of a design with (parameters + 2) times as many runs",
        default=False,
    )

    @model_validator(mode="after")
    def _fits(self) -> Self:
        if (self.samples is None) != (self.method == "grid"):
            if self.samples is None:
                raise wrong("samples is missing", found="nothing", remedy="add samples: 256")
            raise wrong("a grid has levels, not samples", remedy="remove samples", at=("samples",))
        given = self.model_fields_set
        if "levels" in given and self.method != "grid":
            raise wrong("levels are those of a grid", remedy="remove levels", at=("levels",))
        if self.indices and "repeats" in given:
            raise wrong("a design for Sobol indices has no repeats", remedy="remove repeats", at=("repeats",))
        if self.indices and self.method != "sobol":
            raise wrong("Sobol indices need method: sobol", remedy="write method: sobol", at=("indices",))
        if self.indices and self.samples == 1:
            raise wrong("Sobol indices need 2 samples or more", "1", remedy="write 256", at=("samples",))
        if self.method == "sobol" and self.samples is not None and self.samples & (self.samples - 1):
            below = 1 << (self.samples.bit_length() - 1)
            remedy = f"write {below} or {2 * below}"
            raise wrong(
                "a Sobol design has a power of two", str(self.samples), remedy=remedy, at=("samples",)
            )
        return self


class ParameterSection(Section):
    """A parameter: its distribution, and the values of the run that it sets."""

    plant: Keys | None = entry("Settings of the simulated plant, as in --plant-set", default=None)
    machine: Keys | None = entry(
        "Keys of the machine file, joined by dots, for plant and controller", default=None
    )
    factor: Switch = entry("Multiply the file's value of the plant's settings", default=False)
    unit: str = entry("Unit, for tables and charts", default="")
    uniform: Range | None = entry("Lowest and highest value", default=None)
    normal: Range | None = entry("Mean and standard deviation", default=None)
    loguniform: Range | None = entry("Lowest and highest value, both above 0", default=None)
    choice: Annotated[list[Number], Field(min_length=1, max_length=1000)] | None = entry(
        "Values, equally likely", default=None
    )

    @model_validator(mode="after")
    def _one_distribution(self) -> Self:
        one_of(self, *DISTRIBUTIONS, needed=True)
        if self.factor and (self.plant is None or self.machine is not None):
            remedy = "remove factor, and write the values themselves"
            raise wrong("a factor multiplies settings of the plant alone", remedy=remedy, at=("factor",))
        for key in ("uniform", "loguniform"):
            ends = getattr(self, key)
            if ends is not None and not ends[0] < ends[1]:
                raise wrong("the first value must be below the second", str(ends), at=(key,))
        if self.loguniform is not None and self.loguniform[0] <= 0.0:
            raise wrong("a logarithm needs values above 0", str(self.loguniform[0]), at=("loguniform", 0))
        if self.normal is not None and self.normal[1] < 0.0:
            raise wrong("a standard deviation is not negative", str(self.normal[1]), at=("normal", 1))
        return self


class MotionSection(Section):
    """A motion whose figures are taken."""

    approach: dict[str, Number] = entry(
        "Coordinates of a move before it, not counted", "rad or m", default={}
    )
    approach_speed: Share = entry("Speed of that move, as a fraction of the limits", default=0.5)
    send: str | dict[str, Any] | None = entry("Trajectory: a file, or the content of one", default=None)
    move: dict[str, Number] | None = entry("Coordinates to move to", "rad or m", default=None)
    speed: Share = entry("Speed of `move`, as a fraction of the limits", default=1.0)

    @model_validator(mode="after")
    def _one_motion(self) -> Self:
        one_of(self, "send", "move", needed=True)
        given = self.model_fields_set
        if "speed" in given and self.move is None:
            raise wrong("a trajectory has its own speed", remedy="remove speed", at=("speed",))
        if "approach_speed" in given and not self.approach:
            raise wrong("there is no approach", remedy="remove approach_speed", at=("approach_speed",))
        return self


class MarginSection(Section):
    """Smallest allowed stability margins of each motor's position loop in the poses where motions end."""

    gain: Number = entry("Factor by which the loop gain may rise or fall", default=2.0, ge=1.0)
    phase_deg: Number = entry("Phase margin", "deg", 30.0, ge=0.0, lt=180.0)
    delay_s: Number = entry("Delay margin, beyond the loop's own delay", "s", 0.0, ge=0.0)


class TuneSection(Section):
    """Settings that `linkwork tune` searches, and the figure of merit."""

    settings: Annotated[dict[str, Range], Field(min_length=1, max_length=30)] = entry(
        "Keys of the machine file, joined by dots, with their lowest and highest value"
    )
    logarithmic: list[str] = entry("Settings that are searched on a logarithmic scale", default=[])
    minimise: str = entry("Figure of merit")
    stability_margin: MarginSection = entry("Smallest allowed stability margins", default=MarginSection())
    over: Literal["mean", "worst", "rms"] = entry("How the figures of all runs become one", default="rms")
    candidates: Count = entry("Candidates per generation and setting", default=5, ge=2, le=100)
    generations: Count = entry("Generations after the first", default=20, ge=1, le=10_000)

    @model_validator(mode="after")
    def _ordered(self) -> Self:
        for key, ends in self.settings.items():
            if not ends[0] < ends[1]:
                raise wrong("the first value must be below the second", str(ends), at=("settings", key))
        for place, key in enumerate(self.logarithmic):
            if key not in self.settings:
                allowed = ", ".join(self.settings)
                raise wrong("this is none of the settings", key, allowed, at=("logarithmic", place))
            if self.settings[key][0] <= 0.0:
                raise wrong("a logarithm needs values above 0", key, at=("settings", key, 0))
        return self


class CampaignFile(Section):
    """A campaign."""

    name: Name = entry("Name of the campaign")
    about: str = entry("Its purpose, for the report", default="")
    machine: str = entry("Machine file, relative to this file, or the name of a machine of linkwork")
    seed: Count = entry("Seed of samples, noise and faults", default=0, ge=0, lt=2**53)
    sampling: SamplingSection = entry("Design of the samples")
    variants: dict[Name, dict[str, Any]] = entry(
        "Variants, each a part of a machine file that replaces the same keys", default={}
    )
    parameters: dict[Name, ParameterSection] = entry("Parameters that are sampled", default={})
    faults: list[dict[str, Any]] = entry(
        "Faults, as in a time line; $NAME is the value of a parameter", default=[]
    )
    trajectories: Annotated[dict[Name, MotionSection], Field(min_length=1)] = entry(
        "Motions; every sample runs each of them"
    )
    requirements: dict[str, Annotated[Number, Field(ge=0.0)]] = entry(
        "Largest allowed values of figures", default={}
    )
    tune: TuneSection | None = entry("Settings for linkwork tune", default=None)


def schema() -> dict[str, Any]:
    """The JSON schema of campaign files (draft 2020-12)."""
    data = for_editors(CampaignFile.model_json_schema(mode="validation"))
    head = {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": "A linkwork campaign"}
    return {**head, **data}


def read_campaign_file(path: str | Path) -> tuple[CampaignFile, Document]:
    """Read a campaign file and check it against its schema. Raises MachineError with every problem."""
    document = read_yaml(path)
    file = validate(CampaignFile, document.data, document)
    if isinstance(file, list):
        raise MachineError(file)
    return file, document
