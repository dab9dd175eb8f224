"""A campaign ready to run: machines, motions, samples, and what each run number means."""

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

import numpy as np

from linkwork.campaigns.campaign_file import (
    MOST_RUNS,
    CampaignFile,
    MotionSection,
    ParameterSection,
    read_campaign_file,
)
from linkwork.campaigns.design import Design, design_of
from linkwork.campaigns.in_process import MotionRequest
from linkwork.campaigns.merit import figure_names
from linkwork.campaigns.run_faults import faults_with
from linkwork.controller.configuration import configured
from linkwork.machine import Machine, MachineError, Problem
from linkwork.machine.checks.unknown_names import unknown
from linkwork.machine.loading import machine_in, plant_mechanism_with
from linkwork.machine.machine_patches import as_yaml, merged, place_of, replaced
from linkwork.machine.problems import Place, refuse
from linkwork.machine.yaml_document import Document, parse_yaml
from linkwork.protocol.errors import RequestError
from linkwork.protocol.trajectory import read_trajectory
from linkwork.trajectories.trajectory_file import read_trajectory_file
from linkwork.version import __version__

ONLY_VARIANT: Final = "as_in_the_file"
"""Name of the variant of a campaign that gives none."""
_ALL_CHECKED: Final = 8
"""Number of values up to which all values of a parameter are checked."""


@dataclass(frozen=True)
class RunTask:
    """One run: its number, and what differs from other runs. values: of the parameters, in their order.

    margin: instead of a run, the stability margin in the pose where the motion ends.
    """

    run: int
    variant: str
    trajectory: str
    stream: int
    values: tuple[float, ...]
    margin: bool = False


@dataclass(frozen=True)
class RunRecipe:
    """Plain data from which workers carry out runs; it is sent with every task.

    machines: by variant, the text of its machine file. motions: by trajectory, the requests in their order.
    measured: coordinates with figures of their errors. daemons: whether whole daemons carry out each run.
    """

    identity: str
    seed: int
    machines: Mapping[str, str]
    motions: Mapping[str, tuple[MotionRequest, ...]]
    parameters: tuple[ParameterSection, ...]
    parameter_names: tuple[str, ...]
    faults: tuple[Mapping[str, Any], ...]
    measured: tuple[str, ...]
    daemons: bool


@dataclass(frozen=True, eq=False)
class CampaignPlan:
    """A campaign: its file, recipe, samples, and the names of its figures.

    Run numbers count trajectories within variants within samples.
    """

    path: Path
    file: CampaignFile
    recipe: RunRecipe
    content: Mapping[str, Any]
    """What determines the runs, as plain data: a folder of results belongs to one content."""
    design: Design
    machine: Machine
    figures: Mapping[str, str]
    """Units by name."""

    @property
    def variants(self) -> tuple[str, ...]:
        """Names of the variants."""
        return tuple(self.recipe.machines)

    @property
    def trajectories(self) -> tuple[str, ...]:
        """Names of the motions."""
        return tuple(self.recipe.motions)

    @property
    def runs(self) -> int:
        """Number of runs."""
        return len(self.design) * len(self.variants) * len(self.trajectories)

    def task(self, run: int) -> RunTask:
        """Return what a run is. Raises IndexError for a number that there is not."""
        if not 0 <= run < self.runs:
            raise IndexError(run)
        rest, trajectory = divmod(run, len(self.trajectories))
        sample, variant = divmod(rest, len(self.variants))
        return RunTask(
            run,
            self.variants[variant],
            self.trajectories[trajectory],
            int(self.design.streams[sample]),
            tuple(self.design.values[sample].tolist()),
        )

    def sample_of(self, run: int) -> int:
        """Return the number of a run's sample."""
        return run // (len(self.variants) * len(self.trajectories))


def read_campaign(path: str | Path, *, daemons: bool = False) -> CampaignPlan:
    """Read a campaign and everything that it names. Raises MachineError with every problem found.

    daemons: whether whole daemons carry out each run.
    """
    file, document = read_campaign_file(path)
    return plan_of(file, document, daemons=daemons)


def plan_of(file: CampaignFile, document: Document, *, daemons: bool = False) -> CampaignPlan:
    """Plan a campaign that has been read. Raises MachineError."""
    folder = Path(document.file).parent
    machines = _machines(file, document, folder)
    machine = next(iter(machines.values()))
    _check_parameters(file, document, machine)
    motions, measured = _motions(file, document, folder, machine)
    figures = figure_names(machine, measured)
    _check_variants(machines, measured, figures, document)
    _check_figures(file, document, figures)
    design = _design(file, document)
    names = tuple(file.parameters)
    texts = {name: each.source_text for name, each in machines.items()}
    content = {**_content(file, texts, motions), "daemons": daemons, "linkwork": __version__}
    recipe = RunRecipe(
        _hash(content),
        file.seed,
        texts,
        motions,
        tuple(file.parameters.values()),
        names,
        tuple(file.faults),
        measured,
        daemons,
    )
    plan = CampaignPlan(Path(document.file), file, recipe, content, design, machine, figures)
    _check_settings(plan, machines, document)
    return plan


def _machines(file: CampaignFile, document: Document, folder: Path) -> dict[str, Machine]:
    """The machine of every variant, from a text that holds its changes."""
    beside = folder / file.machine
    source = str(beside) if beside.is_file() else file.machine
    try:
        base = configured(source)
    except MachineError as error:
        raise _at_file(error, document, ("machine",), file.machine) from None
    machines: dict[str, Machine] = {}
    for name, patch in (file.variants or {ONLY_VARIANT: {}}).items():
        machines[name] = base if not patch else _patched(base, patch, document, ("variants", name))
    return machines


def _at_file(error: MachineError, document: Document, place: Place, name: str) -> MachineError:
    """Move the problems of a file that cannot be read to its name in the campaign file."""
    return MachineError(
        [
            found
            if found.line is not None
            else document.problem(
                place, found.message, found=name, allowed=found.allowed, remedy=found.remedy
            )
            for found in error.problems
        ]
    )


def _patched(base: Machine, patch: Mapping[str, Any], document: Document, place: Place) -> Machine:
    text = patched_text(base.document, patch)
    try:
        return machine_in(parse_yaml(text, base.path))
    except MachineError as error:
        raise MachineError([blamed(problem, patch, document, place) for problem in error.problems]) from None


def patched_text(document: Document, patch: Mapping[str, Any]) -> str:
    """Return the text of a machine file with a part of it replaced."""
    return as_yaml(merged(document.data, patch))


def blamed(problem: Problem, patch: Mapping[str, Any], document: Document, place: Place) -> Problem:
    """Move a problem of a patched machine file to the patch, which stands at `place` of a document."""
    steps = (*place, *place_of(patch, problem.key))
    rest = {"found": problem.found, "allowed": problem.allowed, "remedy": problem.remedy}
    of_key = steps in document.keys and problem.message.startswith("unknown")
    return document.problem(steps, problem.message, of_key=of_key, **rest)


def _check_parameters(file: CampaignFile, document: Document, machine: Machine) -> None:
    """Check that every parameter acts, and that keys of the machine file exist."""
    problems = []
    used = {text[1:] for each in file.faults for text in _texts(each) if text.startswith("$")}
    for name in sorted(used - set(file.parameters)):
        index = next(at for at, each in enumerate(file.faults) if f"${name}" in _texts(each))
        key = next(key for key, value in file.faults[index].items() if f"${name}" in _texts({key: value}))
        problems.append(unknown(document, ("faults", index, key), name, "parameter", list(file.parameters)))
    for name, each in file.parameters.items():
        if each.plant is None and each.machine is None and name not in used:
            problems.append(
                document.problem(
                    ("parameters", name),
                    "this parameter sets nothing",
                    of_key=True,
                    allowed="plant: KEY, machine: KEY, or $" + name + " in a fault",
                )
            )
        for key in keys_of(each.machine):
            try:
                replaced(machine.document.data, key, 0.0)
            except KeyError as missing:
                problems.append(
                    document.problem(
                        ("parameters", name, "machine"),
                        "the machine file has no such key",
                        found=key,
                        allowed=str(missing.args[0]),
                    )
                )
    refuse(problems)


def keys_of(keys: str | Sequence[str] | None) -> tuple[str, ...]:
    """Return one key or several as a tuple."""
    return () if keys is None else (keys,) if isinstance(keys, str) else tuple(keys)


def _texts(value: Any) -> list[str]:
    if isinstance(value, Mapping):
        return [text for each in value.values() for text in _texts(each)]
    if isinstance(value, list):
        return [text for each in value for text in _texts(each)]
    return [value] if isinstance(value, str) else []


def _motions(
    file: CampaignFile, document: Document, folder: Path, machine: Machine
) -> tuple[dict[str, tuple[MotionRequest, ...]], tuple[str, ...]]:
    """The requests of every trajectory, and all coordinates that they move."""
    motions, measured = {}, dict[str, None]()
    for name, spec in file.trajectories.items():
        place: Place = ("trajectories", name)
        requests = []
        if spec.approach:
            _check_target(spec.approach, document, (*place, "approach"), machine)
            requests.append(MotionRequest("move", {"target": spec.approach, "speed": spec.approach_speed}))
        request, coordinates = _measured(spec, document, place, folder, machine)
        requests.append(request)
        motions[name] = tuple(requests)
        measured.update(dict.fromkeys(coordinates))
    return motions, tuple(measured)


def _measured(
    spec: MotionSection, document: Document, place: Place, folder: Path, machine: Machine
) -> tuple[MotionRequest, list[str]]:
    """The request whose figures are taken, and its coordinates by the machine's names."""
    if spec.move is not None:
        _check_target(spec.move, document, (*place, "move"), machine)
        request = MotionRequest("move", {"target": spec.move, "speed": spec.speed})
        return request, [machine.aliases.get(name, name) for name in spec.move]
    if isinstance(spec.send, str):
        try:
            trajectory = read_trajectory_file(folder / spec.send).trajectory
        except MachineError as error:
            raise _at_file(error, document, (*place, "send"), spec.send) from None
        content = trajectory.model_dump(exclude_none=True, by_alias=True)
    else:
        assert spec.send is not None
        try:
            trajectory, content = read_trajectory(spec.send, ()), dict(spec.send)
        except RequestError as error:
            where = (*place, "send", *error.path)
            raise MachineError([document.problem(where, error.message)]) from None
    given = list(trajectory.coordinates) or list(trajectory.curve.of if trajectory.curve else ())
    coordinates = [machine.aliases.get(name, name) for name in given]
    _check_coordinates(dict.fromkeys(coordinates, 0.0), document, (*place, "send"), machine)
    for index, point in enumerate(trajectory.points or ()):
        if point.frame is None:
            target = dict(zip(coordinates, point.positions, strict=True))
            _check_target(target, document, (*place, "send", "points", index), machine)
    return MotionRequest("send", {"trajectory": content}), coordinates


def _check_coordinates(
    named: Mapping[str, float], document: Document, place: Place, machine: Machine
) -> None:
    known = [*machine.mechanism.coordinate_names, *machine.aliases]
    wrong = [name for name in named if name not in known]
    if wrong:
        raise MachineError([unknown(document, place, name, "coordinate", known) for name in wrong])


def _check_target(target: Mapping[str, float], document: Document, place: Place, machine: Machine) -> None:
    """Check the coordinates of a move, and their positions against the limits."""
    _check_coordinates(target, document, place, machine)
    limits = {each.name: each for each in machine.coordinates}
    problems = []
    for name, value in target.items():
        each = limits[machine.aliases.get(name, name)]
        low, high = each.position
        if not low <= value <= high:
            found, unit = f"{name} {value:.6g}", each.unit
            allowed = f"{low:.6g} to {high:.6g} {unit}"
            text = "this position is beyond the limits"
            problems.append(document.problem((*place, name), text, found=found, allowed=allowed))
    refuse(problems)


def _check_variants(
    machines: Mapping[str, Machine], measured: Sequence[str], figures: Mapping[str, str], document: Document
) -> None:
    """Check that the runs of all variants have the same figures in the same order."""
    problems = []
    for name, machine in machines.items():
        known = [each for each in measured if each in machine.mechanism.coordinate_names]
        own = figure_names(machine, known)
        if list(own.items()) != list(figures.items()):
            problems.append(
                document.problem(
                    ("variants", name),
                    "the runs of this variant have other figures than those of the first one",
                    of_key=True,
                    found=", ".join(sorted({name for name, _ in own.items() ^ figures.items()}))
                    or "another order of the motors",
                    allowed="the motors and coordinates of the first variant, in their order",
                    remedy="put this variant in another campaign",
                )
            )
    refuse(problems)


def _check_figures(file: CampaignFile, document: Document, figures: Mapping[str, str]) -> None:
    asked: list[tuple[Place, str]] = [(("requirements", name), name) for name in file.requirements]
    if file.tune is not None:
        asked.append((("tune", "minimise"), file.tune.minimise))
    problems = [
        unknown(document, place, name, "figure", list(figures))
        for place, name in asked
        if name not in figures
    ]
    refuse(problems)


def _design(file: CampaignFile, document: Document) -> Design:
    sampling, parameters = file.sampling, list(file.parameters.values())
    if sampling.method == "grid":
        count = 1
        for each in parameters:
            count *= len(each.choice) if each.choice is not None else sampling.levels
    else:
        count = (sampling.samples or 1) * (len(parameters) + 2 if sampling.indices else 1)
    count *= sampling.repeats * max(1, len(file.variants)) * len(file.trajectories)
    if count > MOST_RUNS:
        where, text = ("sampling",), "this campaign has too many runs"
        raise MachineError([document.problem(where, text, found=str(count), allowed=f"{MOST_RUNS}")])
    return design_of(sampling, parameters, file.seed)


def _check_settings(plan: CampaignPlan, machines: Mapping[str, Machine], document: Document) -> None:
    """Check settings and faults at the parameters' values, so that an error is found before any run.

    The others have their values of the first sample meanwhile. Of many values these are the ends.
    """
    first = plan.task(0)
    for machine in machines.values():
        faults_with(plan.recipe, first, machine, document)
    for place, (name, each) in enumerate(plan.file.parameters.items()):
        values = np.unique(plan.design.values[:, place])
        for value in (values if len(values) <= _ALL_CHECKED else values[[0, -1]]).tolist():
            _check_plant(plan.machine, name, each, value, document)
            _check_machine(plan.machine, name, each, value, document)
            changed = (*first.values[:place], value, *first.values[place + 1 :])
            faults_with(plan.recipe, replace(first, values=changed), plan.machine, document)


def _check_plant(
    machine: Machine, name: str, parameter: ParameterSection, value: float, document: Document
) -> None:
    """Check the settings of the plant that a parameter makes."""
    try:
        if parameter.plant is not None:
            plant_mechanism_with(machine, plant_settings([parameter], [value]))
    except MachineError as error:
        raise MachineError(
            [
                document.problem(
                    ("parameters", name, "plant"), found.message, found=found.found or found.key,
                    allowed=found.allowed, remedy=found.remedy,
                )
                for found in error.problems
            ]
        ) from None  # fmt: skip


def _check_machine(
    machine: Machine, name: str, parameter: ParameterSection, value: float, document: Document
) -> None:
    """Check the keys of the machine file that a parameter sets."""
    try:
        if parameter.machine is not None:
            machine_in(changed_document(machine.document, [parameter], [value]))
    except MachineError as error:
        raise MachineError(
            [
                document.problem(
                    ("parameters", name, "machine"), f"{found.key}: {found.message}",
                    found=found.found, allowed=found.allowed, remedy=found.remedy,
                )
                for found in error.problems
            ]
        ) from None  # fmt: skip


def changed_document(
    document: Document, parameters: Sequence[ParameterSection], values: Sequence[float]
) -> Document:
    """Return a machine file with the values of the parameters that change it."""
    data = document.data
    for each, value in zip(parameters, values, strict=True):
        for key in keys_of(each.machine):
            data = replaced(data, key, int(value) if value == int(value) else value)
    return Document(document.file, document.text, data, document.values, document.keys)


def plant_settings(parameters: Sequence[ParameterSection], values: Sequence[float]) -> list[str]:
    """Return settings of the plant, as of --plant-set, for values of the parameters."""
    return [
        f"{key}={100.0 * (value - 1.0):+.17g}%" if each.factor else f"{key}={value!r}"
        for each, value in zip(parameters, values, strict=True)
        for key in keys_of(each.plant)
    ]


def tasks_of(plan: CampaignPlan, done: np.ndarray[Any, np.dtype[np.bool_]]) -> Iterator[RunTask]:
    """Yield the runs that are not done, in their order."""
    for run in range(plan.runs):
        if not done[run]:
            yield plan.task(run)


def _content(
    file: CampaignFile, machines: Mapping[str, str], motions: Mapping[str, Sequence[MotionRequest]]
) -> dict[str, Any]:
    """Return what determines the runs, as plain data: requirements, units and texts do not."""
    texts: Any = {"parameters": {"__all__": {"unit"}}}
    left_out = dict.fromkeys(("name", "about", "machine", "trajectories", "requirements", "tune"), True)
    told = file.model_dump(mode="json", exclude={**left_out, **texts}, exclude_none=True)
    orders = {"variants": list(machines), "parameters": list(file.parameters), "trajectories": list(motions)}
    return {
        **told,
        "machine": {name: _hash(text) for name, text in machines.items()},
        "trajectories": {
            name: [[each.method, _hash(each.params)] for each in requests]
            for name, requests in motions.items()
        },
        "order": orders,
    }


def _hash(content: Any) -> str:
    return hashlib.sha256(json.dumps(content, sort_keys=True, default=str).encode()).hexdigest()[:16]
