"""Exercises with verdicts: what conformance checks are made of."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum

from linkwork.plant.machinery import MachineryFailed


class ExerciseVerdict(StrEnum):
    """Verdict of an exercise."""

    PASSED = "passed"
    WARNING = "warning"
    FAILED = "failed"
    SKIPPED = "skipped"


@dataclass(frozen=True)
class Finding:
    """One exercise: expectation, verdict, and observation."""

    name: str
    verdict: ExerciseVerdict
    text: str = ""


class Failed(Exception):
    """An exercise found something wrong."""


class Warned(Exception):
    """An exercise found something that may be wrong."""


class Skipped(Exception):
    """An exercise does not apply."""


def require(fine: bool, text: str) -> None:
    """Raise Failed unless it is fine."""
    if not fine:
        raise Failed(text)


Exercise = tuple[str, Callable[[], str], bool]
"""Name, what to do, and whether the ones behind it make no sense without it."""


def examined(exercises: Iterable[Exercise]) -> Iterator[Finding]:
    """Yield the results of exercises, one after the other, up to the first needed one that fails."""
    for name, exercise, needed in exercises:
        finding = judged(name, exercise)
        yield finding
        if needed and finding.verdict is ExerciseVerdict.FAILED:
            return


def judged(name: str, exercise: Callable[[], str]) -> Finding:
    """Do an exercise; any exception becomes its verdict."""
    try:
        return Finding(name, ExerciseVerdict.PASSED, exercise())
    except Warned as found:
        return Finding(name, ExerciseVerdict.WARNING, str(found))
    except Skipped as found:
        return Finding(name, ExerciseVerdict.SKIPPED, str(found))
    except (Failed, MachineryFailed) as found:
        return Finding(name, ExerciseVerdict.FAILED, str(found))
    except Exception as error:
        return Finding(name, ExerciseVerdict.FAILED, f"it raised {type(error).__name__}: {error}")
