"""Tuning: settings of the controller that minimise a figure of merit over the runs of a campaign.

The search is SciPy's differential evolution (Storn and Price, Journal of Global Optimization 11, 1997). It
is seeded and its evaluations are recorded, so that an interrupted search repeats none of them.
"""

import hashlib
import json
import math
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Final

import numpy as np

from linkwork.arrays import Floats
from linkwork.campaigns.campaign_file import TuneSection, read_campaign_file
from linkwork.campaigns.campaign_plan import (
    CampaignPlan,
    RunRecipe,
    blamed,
    patched_text,
    plan_of,
    read_campaign,
)
from linkwork.campaigns.campaign_run import LocalWorkers
from linkwork.campaigns.merit import SUCCESSFUL
from linkwork.campaigns.result_store import ResultStore
from linkwork.campaigns.stability_margin import UNSTABLE, StabilityMargin, smallest
from linkwork.machine import Machine, MachineError, for_controller
from linkwork.machine.loading import machine_in
from linkwork.machine.machine_patches import as_yaml, nested, steps_of
from linkwork.machine.yaml_document import Document, parse_yaml

BEFORE, AFTER = "as_it_is", "tuned"
"""Variants of the campaign that compares the result with the file."""
PATCH: Final = "tuned.yaml"
COMPARISON: Final = "comparison.yaml"
_BROKEN: Final = 1e12
"""Value of a candidate with a run that violates a limit; the share of such runs is added, times this."""


@dataclass(frozen=True)
class Candidate:
    """Settings, the figure of merit over all runs, and the smallest stability margins over all motions' ends.

    broken: share of the runs that violate a limit or fail, and of the ends with too small a margin.
    """

    settings: tuple[float, ...]
    value: float
    broken: float
    margin: StabilityMargin

    @property
    def cost(self) -> float:
        """The number that is minimised: candidates that violate nothing are better than all others."""
        return self.value if self.broken == 0.0 else _BROKEN * (1.0 + self.broken)


@dataclass(frozen=True)
class TuningPlan:
    """A campaign file with a section `tune`: its plan without variants, and its document."""

    plan: CampaignPlan
    section: TuneSection
    document: Document

    @property
    def keys(self) -> tuple[str, ...]:
        """The settings, keys of the machine file."""
        return tuple(self.section.settings)

    @property
    def most(self) -> int:
        """The largest number of evaluations: the first population, and one for each generation."""
        return self.population * (self.section.generations + 1)

    @property
    def population(self) -> int:
        """Candidates in a generation; differential evolution needs five."""
        return max(5, self.section.candidates * len(self.keys))

    def patch(self, settings: Sequence[float]) -> dict[str, Any]:
        """Return settings as a part of a machine file."""
        return nested(dict(zip(self.keys, settings, strict=True)))

    def present(self) -> Floats | None:
        """Return the settings of the file (settings,), None unless it gives all within the bounds."""
        found = []
        for key, (low, high) in self.section.settings.items():
            value: Any = self.plan.machine.document.data
            for step in steps_of(key):
                value = value.get(step) if isinstance(value, Mapping) else None
            if not isinstance(value, (int, float)) or not low <= value <= high:
                return None
            found.append(float(value))
        return np.array(found)


def read_tuning(path: str | Path) -> TuningPlan:
    """Read a campaign file with a section `tune`. Raises MachineError with every problem found."""
    file, document = read_campaign_file(path)
    if file.tune is None:
        raise MachineError([document.problem((), "there is nothing to tune", remedy="add a section tune")])
    plan = plan_of(file.model_copy(update={"variants": {}}), document)
    tuning = TuningPlan(plan, file.tune, document)
    for end in (0, 1):
        for key, ends in file.tune.settings.items():
            _build(plan, nested({key: ends[end]}), document, ("tune", "settings", key))
    return tuning


def _build(
    plan: CampaignPlan, patch: Mapping[str, Any], document: Document, place: tuple[str, ...]
) -> Machine:
    """Build the machine with a patch; problems are placed at the setting."""
    try:
        text = patched_text(plan.machine.document, patch)
        return for_controller(machine_in(parse_yaml(text, plan.machine.path)))
    except MachineError as error:
        problems = [blamed(problem, {}, document, place) for problem in error.problems]
        raise MachineError(problems) from None


class CandidateRuns:
    """Evaluates candidates: all of a generation at once, on worker processes.

    store: evaluations by their numbers; each is recorded when the runs of its candidate are complete.
    advance: receives the numbers of evaluations done, and of all.
    """

    def __init__(
        self,
        tuning: TuningPlan,
        workers: LocalWorkers,
        store: ResultStore,
        advance: Callable[[int, int], None],
    ) -> None:
        self._tuning, self._workers, self._store, self._advance = tuning, workers, store, advance
        self.candidates: list[Candidate] = []
        """In the order of their evaluation."""
        plan = tuning.plan
        self._merit = list(plan.figures).index(tuning.section.minimise)
        self._limits = {
            list(plan.figures).index(name): limit
            for name, limit in {"speed_share": 1.0, "limited": 0.0, **plan.file.requirements}.items()
        }

    def evaluate(self, settings: Iterable[Floats]) -> list[Candidate]:
        """Return the candidates with these settings, each an array (settings,)."""
        found = [tuple(np.asarray(each, float).tolist()) for each in settings]
        first = len(self.candidates)
        known: dict[int, Candidate] = {}
        fresh: dict[int, tuple[float, ...]] = {}
        for number, each in enumerate(found, first):
            earlier = self._known(number, each)
            if earlier is None:
                fresh[number] = each
            else:
                known[number] = earlier
        self._advance(first + len(known), self._tuning.most)
        if fresh:
            self._measure(fresh, known)
        self.candidates += [known[number] for number in sorted(known)]
        return self.candidates[first:]

    def _known(self, number: int, settings: tuple[float, ...]) -> Candidate | None:
        """Return an earlier evaluation of these settings."""
        done = self._store.done
        if not (number < len(done) and done[number]):
            return None
        candidate = _from_plain(self._store.read(number))
        return candidate if candidate.settings == settings else None

    def _measure(self, fresh: Mapping[int, tuple[float, ...]], known: dict[int, Candidate]) -> None:
        """Carry out the runs of candidates, settings by number; record each, and add it to the known ones."""
        first, numbers = len(self.candidates), list(fresh)
        plan = self._tuning.plan
        document = plan.machine.document
        texts = {
            f"c{number}": patched_text(document, self._tuning.patch(each)) for number, each in fresh.items()
        }
        recipe = _recipe_with(plan.recipe, texts)
        own = [plan.task(run) for run in range(plan.runs)]
        own += [replace(plan.task(place), margin=True) for place in range(len(plan.trajectories))]
        tasks = [
            replace(task, run=len(own) * place + number, variant=name)
            for place, name in enumerate(texts)
            for number, task in enumerate(own)
        ]
        told: list[dict[int, dict[str, Any]]] = [{} for _ in fresh]

        def record(line: bytes) -> None:
            result = json.loads(line)
            place, run = divmod(result["run"], len(own))
            told[place][run] = result
            if len(told[place]) == len(own):
                number = numbers[place]
                candidate = self._candidate(fresh[number], [told[place][at] for at in range(len(own))])
                self._store.append(json.dumps({"run": number, **_as_plain(candidate)}).encode() + b"\n")
                known[number] = candidate
                self._advance(first + len(known), self._tuning.most)

        self._workers.carry_out(recipe, tasks, record)

    def _candidate(self, settings: tuple[float, ...], told: Sequence[Mapping[str, Any]]) -> Candidate:
        """Return a candidate from the results of its runs, and, after them, of its margins."""
        runs, ends = told[: self._tuning.plan.runs], told[self._tuning.plan.runs :]
        margins = [
            StabilityMargin(*(math.inf if value is None else value for value in each["figures"]))
            if each["result"] == SUCCESSFUL
            else UNSTABLE
            for each in ends
        ]
        values = np.array([each["figures"][self._merit] if each["figures"] else None for each in runs], float)
        violations = [self._violates(each) for each in runs] + [self._too_small(each) for each in margins]
        broken, margin = float(np.mean(violations)), smallest(margins)
        if not np.isfinite(values).all():
            return Candidate(settings, math.nan, max(broken, 1.0 / len(told)), margin)
        over = self._tuning.section.over
        if over == "worst":
            value = values.max()
        else:
            value = values.mean() if over == "mean" else math.sqrt(float(np.square(values).mean()))
        return Candidate(settings, float(value), broken, margin)

    def _too_small(self, margin: StabilityMargin) -> bool:
        required = self._tuning.section.stability_margin
        enough = margin.gain >= required.gain and margin.phase_deg >= required.phase_deg
        return not (enough and margin.delay_s >= required.delay_s and margin != UNSTABLE)

    def _violates(self, told: Mapping[str, Any]) -> bool:
        """Whether a run failed, was limited or too fast, or misses a requirement."""
        if told["result"] != SUCCESSFUL or told["fault"]:
            return True
        return any(
            told["figures"][place] is None or told["figures"][place] > limit
            for place, limit in self._limits.items()
        )


def _as_plain(candidate: Candidate) -> dict[str, Any]:
    """Return a candidate as plain data; null stands for a number that is not finite."""
    told = asdict(candidate)
    margin = {key: value if math.isfinite(value) else None for key, value in told["margin"].items()}
    return {**told, "value": told["value"] if math.isfinite(told["value"]) else None, "margin": margin}


def _from_plain(told: Mapping[str, Any]) -> Candidate:
    value = math.nan if told["value"] is None else told["value"]
    margin = {key: math.inf if each is None else each for key, each in told["margin"].items()}
    return Candidate(tuple(told["settings"]), value, told["broken"], StabilityMargin(**margin))


def _recipe_with(recipe: RunRecipe, machines: Mapping[str, str]) -> RunRecipe:
    """Return a recipe with other machines, and the identity that follows from them."""
    told = json.dumps([recipe.identity, dict(machines)], sort_keys=True)
    return replace(recipe, identity=hashlib.sha256(told.encode()).hexdigest(), machines=dict(machines))


def tune(
    tuning: TuningPlan, workers: LocalWorkers, folder: Path, advance: Callable[[int, int], None]
) -> tuple[Candidate, list[Candidate]]:
    """Search the settings; return the best candidate, and all in the order of their evaluation.

    Raises MachineError for a folder of another search, WorkersEnded.
    """
    from scipy.optimize import Bounds, differential_evolution

    content = {
        **tuning.plan.content,
        "requirements": dict(tuning.plan.file.requirements),
        "tune": tuning.section.model_dump(mode="json"),
    }
    logarithmic = np.array([key in tuning.section.logarithmic for key in tuning.keys])
    ends = np.array(list(tuning.section.settings.values()))
    ends[logarithmic] = np.log(ends[logarithmic])
    present = tuning.present()
    if present is not None:
        present[logarithmic] = np.log(present[logarithmic])
    with ResultStore(folder / "search", content, tuning.most) as store:
        runs = CandidateRuns(tuning, workers, store, advance)

        bounds = list(tuning.section.settings.values())

        def settings_of(x: Floats) -> Floats:
            exact = np.where(logarithmic, np.exp(np.where(logarithmic, x, 0.0)), x)
            found: Floats = np.clip([float(f"{each:.6g}") for each in exact], *np.transpose(bounds))
            return found

        def generation(_: Any, population: Iterable[Floats]) -> list[float]:
            return [each.cost for each in runs.evaluate([settings_of(x) for x in population])]

        differential_evolution(
            _not_called,
            Bounds(ends[:, 0], ends[:, 1]),
            maxiter=tuning.section.generations,
            popsize=tuning.section.candidates,
            seed=tuning.plan.file.seed,
            init=_population(tuning, ends, present),
            polish=False,
            tol=0.0,
            atol=-1.0,  # all generations: the costs of rejected candidates are nearly equal from the start
            updating="deferred",
            workers=generation,
        )
        best = min(runs.candidates, key=lambda each: each.cost)
        return best, runs.candidates


def _not_called(_: Floats) -> float:
    raise AssertionError("whole generations are evaluated")


def _population(tuning: TuningPlan, ends: Floats, present: Floats | None) -> Floats:
    """The first generation: a Latin hypercube between ends (settings, 2), and the file's settings."""
    from scipy.stats import qmc

    random = np.random.default_rng(tuning.plan.file.seed)
    unit = qmc.LatinHypercube(len(ends), seed=random).random(tuning.population)
    population: Floats = ends[:, 0] + unit * (ends[:, 1] - ends[:, 0])
    if present is not None:
        population[0] = present
    return population


def compared(tuning: TuningPlan, best: Candidate, folder: Path) -> CampaignPlan:
    """Write and plan the campaign that compares the result with the file, with another seed."""
    data = {key: value for key, value in tuning.document.data.items() if key != "tune"}
    here = Path(tuning.document.file).parent
    data["machine"] = _seen_from(folder, here, data["machine"])
    data["trajectories"] = {
        name: each | ({"send": _seen_from(folder, here, each["send"])} if "send" in each else {})
        for name, each in data["trajectories"].items()
    }
    data |= {"variants": {BEFORE: {}, AFTER: tuning.patch(best.settings)}, "seed": tuning.plan.file.seed + 1}
    path = folder / COMPARISON
    path.write_text(as_yaml(data), encoding="utf-8")
    return read_campaign(path)


def _seen_from(folder: Path, here: Path, given: Any) -> Any:
    """Return the path of a file beside the campaign file, relative to a folder; anything else as it is."""
    if isinstance(given, str) and (here / given).is_file():
        return os.path.relpath((here / given).resolve(), folder.resolve())
    return given


def write_patch(tuning: TuningPlan, best: Candidate, folder: Path) -> Path:
    """Write the settings as a part of a machine file; return its path."""
    section = tuning.section
    head = (
        f"# Settings for {tuning.plan.machine.name}: linkwork tune {tuning.plan.path.name}\n"
        f"# {section.minimise}, {section.over} of {tuning.plan.runs} runs:"
        f" {best.value:.6g} {tuning.plan.figures[section.minimise]}\n"
    )
    path = folder / PATCH
    path.write_text(head + as_yaml(tuning.patch(best.settings)), encoding="utf-8")
    return path
