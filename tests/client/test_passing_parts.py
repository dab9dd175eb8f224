"""Parts that pass a light barrier: their places in the frame of the belt, from edges."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from linkwork.client.passing_parts import PassingParts

PERIOD_S, LIGHT_M = 0.001, -0.3


class Belt:
    """A belt at constant speed; the middles of its parts are at `centres` (m, in its frame)."""

    def __init__(self, speed: float, centres: list[float], half: float = 0.01) -> None:
        self.tick, self._known = 0, list[dict[str, Any]]()
        self._speed, self._centres, self._half = speed, centres, half

    def describe(self) -> Any:
        return {"period_s": PERIOD_S}

    def edges(self, signal: str, after: int = 0) -> Any:
        assert signal == "seen"
        return [edge for edge in self._known if edge["number"] > after]

    def pass_time(self, seconds: float) -> None:
        for _ in range(round(seconds / PERIOD_S)):
            self.tick += 1
            now, before = (self._broken(self._speed * tick * PERIOD_S) for tick in (self.tick, self.tick - 1))
            if now != before:
                signals = {"way": 1e3 * self._speed * self.tick * PERIOD_S, "size": 2.0 if now else 4.0}
                edge = {"number": len(self._known) + 1, "signal": "seen", "value": now, "signals": signals}
                self._known.append({**edge, "tick": self.tick, "time_s": self.tick * PERIOD_S})

    def _broken(self, way: float) -> bool:
        return any(abs(centre + way - LIGHT_M) <= self._half for centre in self._centres)


def test_the_middle_of_a_part_is_between_its_edges_without_bias() -> None:
    centres = (-0.4 - 0.0301 * np.arange(60)).tolist()
    belt = Belt(0.6, centres)
    parts = PassingParts(belt, "seen", "way", at_m=LIGHT_M, m_per_unit=1e-3)
    found = [parts.next() for _ in centres]
    off = np.array([part.centre_m for part in found]) - centres
    assert np.abs(off).max() < 0.5 * 0.6 * PERIOD_S
    assert abs(off.mean()) < 0.02 * 0.6 * PERIOD_S
    assert off.std() < 1.3 * 0.6 * PERIOD_S / np.sqrt(24.0)
    assert all(part.length_m == pytest.approx(0.02, abs=1e-3) for part in found)
    assert all(part.speed_m_s == pytest.approx(0.6) for part in found)
    assert found[0].signals["size"] == 3.0
    part = found[0]
    assert part.speed_since(part.displacement_m + 0.05, part.time_s + 0.1) == pytest.approx(0.5)
    assert part.speed_since(part.displacement_m, part.time_s) == pytest.approx(0.6)


def test_only_parts_count_that_pass_later_and_wholly() -> None:
    belt = Belt(0.2, [-0.32, -0.36, -0.44])
    belt.pass_time(0.1)  # the first part is in the light
    assert belt.edges("seen")[-1]["value"]
    parts = PassingParts(belt, "seen", "way", at_m=LIGHT_M, m_per_unit=1e-3)
    assert parts.next().centre_m == pytest.approx(-0.36, abs=2e-4)
    assert parts.next().centre_m == pytest.approx(-0.44, abs=2e-4)
    with pytest.raises(TimeoutError, match="no part has passed seen"):
        parts.next(within_s=0.1)
