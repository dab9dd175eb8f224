"""Designs: samples of the distributions, seeds, Sobol indices."""

from __future__ import annotations

import numpy as np
import pytest

from linkwork.campaigns.campaign_file import ParameterSection, SamplingSection
from linkwork.campaigns.design import design_of

PARAMETERS = [
    ParameterSection(uniform=[2.0, 4.0]),
    ParameterSection(normal=[1.0, 0.5]),
    ParameterSection(loguniform=[1e-6, 1e-2]),
    ParameterSection(choice=[1.0, 5.0, 9.0, 7.0]),
]


@pytest.mark.parametrize("method", ["sobol", "latin_hypercube", "monte_carlo"])
def test_samples_have_the_distributions_that_were_asked_for(method: str) -> None:
    design = design_of(SamplingSection(method=method, samples=4096), PARAMETERS, 3)  # type: ignore[arg-type]
    assert design.values.shape == (4096, 4)
    uniform, normal, logarithmic, chosen = design.values.T
    assert uniform.min() >= 2.0
    assert uniform.max() <= 4.0
    assert uniform.mean() == pytest.approx(3.0, abs=0.05)
    assert normal.mean() == pytest.approx(1.0, abs=0.05)
    assert normal.std() == pytest.approx(0.5, rel=0.05)
    assert np.log10(logarithmic).mean() == pytest.approx(-4.0, abs=0.1)
    values, counts = np.unique(chosen, return_counts=True)
    assert values.tolist() == [1.0, 5.0, 7.0, 9.0]
    assert counts == pytest.approx(1024, rel=0.1)


def test_a_seed_gives_the_same_samples_and_another_seed_others() -> None:
    sampling = SamplingSection(method="sobol", samples=16)
    first, again, other = (design_of(sampling, PARAMETERS, seed).values for seed in (1, 1, 2))
    assert np.array_equal(first, again)
    assert not np.array_equal(first, other)


def test_a_grid_has_all_combinations_with_both_ends_and_repeats_have_streams_of_their_own() -> None:
    sampling = SamplingSection(method="grid", levels=3, repeats=2)
    design = design_of(sampling, [PARAMETERS[0], PARAMETERS[3]], 0)
    assert len(design) == 24
    assert np.unique(design.values[:, 0]).tolist() == [2.0, 3.0, 4.0]
    assert len(np.unique(design.streams)) == 24
    assert np.array_equal(design.values[:12], design.values[12:])


def test_a_design_for_sobol_indices_finds_those_of_a_known_function() -> None:
    """Ishigami's function: S1 = 0.3139, S2 = 0.4424, S3 = 0, ST3 = 0.2437 (Saltelli et al. 2008, 4.2)."""
    from scipy.stats import sobol_indices

    angle = ParameterSection(uniform=[-np.pi, np.pi])
    design = design_of(SamplingSection(method="sobol", samples=4096, indices=True), [angle] * 3, 1)
    x, y, z = design.values.T
    blocks = (np.sin(x) + 7.0 * np.sin(y) ** 2 + 0.1 * z**4 * np.sin(x)).reshape(5, design.base)
    parts = {"f_A": blocks[:1], "f_B": blocks[1:2], "f_AB": blocks[2:, None, :]}
    found = sobol_indices(func=parts, n=design.base)  # type: ignore[arg-type]
    assert np.ravel(found.first_order) == pytest.approx([0.3139, 0.4424, 0.0], abs=0.02)
    assert np.ravel(found.total_order)[2] == pytest.approx(0.2437, abs=0.02)
