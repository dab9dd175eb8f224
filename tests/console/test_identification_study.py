"""The steps of an identification in the console, with the commands that they run."""

import asyncio
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

pytest.importorskip("nicegui", reason="the console's extra is not installed")

from linkwork.console.identification_study import IdentificationStudy
from linkwork.identification.measured_motion import MeasuredMotion
from linkwork.machine import load
from tests.identification.excited import changed_truth, recorded, write_csv

pytestmark = pytest.mark.slow
SHORT: dict[str, Any] = {"seconds": 6.0, "rate_hz": 250.0, "base_hz": 0.3, "size": 0.5}


@pytest.fixture(scope="module")
def runs() -> tuple[MeasuredMotion, MeasuredMotion]:
    machine = load("five_bar")
    truth = changed_truth(machine, np.random.default_rng(0))
    first, second = (recorded(machine, truth, seed=seed, delay_s=0.004, **SHORT) for seed in (1, 2))
    return first, second


@pytest.fixture
def study(tmp_path: Path) -> Any:
    source = tmp_path / "five_bar.yaml"
    source.write_text(load("five_bar").source_text)
    service: Any = SimpleNamespace(connection_words=[])
    made = IdentificationStudy(service, "five_bar", {"path": str(source), "text": source.read_text()})
    yield made
    made.close()
    assert not made.folder.exists()


def done(study: IdentificationStudy, step: str, work: Any) -> str:
    asyncio.run(study.run(step, work))
    return study.said[step]


def test_a_recording_becomes_a_file_beside_the_present_one(study, runs, tmp_path: Path) -> None:
    fit, unseen = tmp_path / "fit.csv", tmp_path / "unseen.csv"
    write_csv(fit, runs[0])
    write_csv(unseen, runs[1])
    assert done(study, "identify", study.identify(fit, unseen, twin=True)) == ""
    assert study.identified["model_error"] is None
    assert {each["joint"] for each in study.identified["efforts"]} == {"left", "right"}
    assert not study.better, "before it is compared"
    done(study, "compare", study.compare(unseen))
    assert study.better
    for name in ("five_bar.identified.yaml", "five_bar.identified-2.yaml"):
        said = done(study, "apply", study.apply())
        assert f"linkwork up {tmp_path / name}" in said
        assert load(tmp_path / name).twin.effort_share == study.identified["twin_effort_share"]
    assert (tmp_path / "five_bar.yaml").read_text() == load("five_bar").source_text
    (tmp_path / "five_bar.yaml").write_text("# another one")
    assert "is not the controller's file" in done(study, "apply", study.apply())


def test_a_refusal_has_the_words_of_the_command_and_leaves_no_file(study, runs, tmp_path: Path) -> None:
    run = runs[0]
    still = {**run.positions, "left": np.full_like(run.time_s, 2.0)}
    write_csv(tmp_path / "fit.csv", replace(run, positions=still))
    assert done(study, "identify", study.identify(tmp_path / "fit.csv", None, twin=False)).startswith(
        "refused: "
    )
    assert study.new_file is None
    assert study.identified is None


def test_a_model_error_has_a_report_and_no_file(study, runs, tmp_path: Path) -> None:
    run = runs[0]
    spring = {**run.efforts, "left": run.efforts["left"] + 2.0 * np.sin(run.positions["left"])}
    write_csv(tmp_path / "fit.csv", replace(run, efforts=spring))
    said = done(study, "identify", study.identify(tmp_path / "fit.csv", None, twin=True))
    assert "model error: " in said
    assert study.new_file is None
    assert (study.folder / "report.html").exists()
