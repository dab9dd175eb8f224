"""Designs: the samples of a campaign's parameters."""

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from linkwork.arrays import Floats
from linkwork.campaigns.campaign_file import ParameterSection, SamplingSection

_INSIDE: Final = 1e-12
"""Smallest distance of a sample from the ends of [0, 1]: a normal distribution has none."""


@dataclass(frozen=True, eq=False)
class Design:
    """Samples of the parameters.

    values (n, parameters): in the parameters' order and units. streams (n,): number of the random numbers
    that a sample's noise and faults use; samples with the same number share them. base: number of base
    samples of a design for Sobol indices (rows of A, then B, then AB of each parameter), 0 of others.
    """

    values: Floats
    streams: NDArray[np.int64]
    base: int = 0

    def __len__(self) -> int:
        return len(self.values)


def design_of(sampling: SamplingSection, parameters: Sequence[ParameterSection], seed: int) -> Design:
    """Return the samples, the same for the same seed; each repetition has other streams."""
    if sampling.method == "grid":
        levels = [_levels(each, sampling.levels) for each in parameters]
        values = np.array(list(itertools.product(*levels)), dtype=float).reshape(-1, len(parameters))
        return _repeated(values, np.arange(len(values)), sampling.repeats)
    assert sampling.samples is not None, "the schema has made sure"
    count, columns = sampling.samples, len(parameters)
    if sampling.indices and columns:
        both = _unit(sampling.method, count, 2 * columns, seed)
        a, b = both[:, :columns], both[:, columns:]
        blocks = [a, b]
        for column in range(columns):
            mixed = a.copy()
            mixed[:, column] = b[:, column]
            blocks.append(mixed)
        values = _spread(np.concatenate(blocks), parameters)
        return Design(values, np.tile(np.arange(count), len(blocks)), count)
    values = _spread(_unit(sampling.method, count, columns, seed), parameters)
    return _repeated(values, np.arange(count), sampling.repeats)


def _repeated(values: Floats, streams: NDArray[np.int64], repeats: int) -> Design:
    """Repeat every sample, each time with another random stream."""
    every = np.concatenate([streams + repeat * len(values) for repeat in range(repeats)])
    return Design(np.tile(values, (repeats, 1)), every)


def _unit(method: str, count: int, columns: int, seed: int) -> Floats:
    """Samples (count, columns) in the unit cube."""
    random = np.random.default_rng(seed)
    if not columns:
        return np.zeros((count, 0))
    if method == "monte_carlo":
        return random.random((count, columns))
    from scipy.stats import qmc

    engine = qmc.Sobol if method == "sobol" else qmc.LatinHypercube
    return np.asarray(engine(columns, seed=random).random(count))


def _spread(unit: Floats, parameters: Sequence[ParameterSection]) -> Floats:
    """Values of the distributions at quantiles (n, parameters)."""
    from scipy.special import ndtri

    unit = np.clip(unit, _INSIDE, 1.0 - _INSIDE)
    values = np.empty_like(unit)
    for column, each in enumerate(parameters):
        u = unit[:, column]
        if each.uniform is not None:
            low, high = each.uniform
            values[:, column] = low + (high - low) * u
        elif each.normal is not None:
            mean, deviation = each.normal
            values[:, column] = mean + deviation * ndtri(u)
        elif each.loguniform is not None:
            low, high = (math.log(end) for end in each.loguniform)
            values[:, column] = np.exp(low + (high - low) * u)
        else:
            assert each.choice is not None
            values[:, column] = np.asarray(each.choice)[(u * len(each.choice)).astype(np.intp)]
    return values


def _levels(parameter: ParameterSection, count: int) -> Floats:
    """The values of one parameter in a grid: with both ends, a normal one at the middles of equal shares."""
    if parameter.choice is not None:
        return np.array(parameter.choice)
    middles = (np.arange(count) + 0.5) / count
    ends = np.linspace(0.0, 1.0, count) if count > 1 else np.array([0.5])
    unit = middles if parameter.normal is not None else ends
    if parameter.uniform is not None:  # exact ends
        return parameter.uniform[0] + (parameter.uniform[1] - parameter.uniform[0]) * unit
    return _spread(unit[:, None], [parameter])[:, 0]
