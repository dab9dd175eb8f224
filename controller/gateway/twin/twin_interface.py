"""Interface of the gateway to a companion of the loop, which compares every tick."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from linkwork.arrays import Floats
from linkwork.controller.gateway.twin.twin import DigitalTwin
from linkwork.controller.orders import Order


class Companion(Protocol):
    """A simulator beside the machine (`controller.gateway.twin.twin_watch`)."""

    @property
    def twin(self) -> DigitalTwin:
        """Process id and state of the twin."""
        ...

    @property
    def pressing(self) -> bool:
        """Whether lockstep time runs, or waits for a comparison."""
        ...

    def begin(self) -> None:
        """Begin with a loop."""
        ...

    def records(self, words: Floats, *, last: bool) -> tuple[Floats, NDArray[Any] | None]:
        """Return the records (records × words) that may be published now; in lockstep with comparisons."""
        ...

    def publish(self, compared: NDArray[Any]) -> list[tuple[int, str, dict[str, Any]]]:
        """Publish comparisons, and act on them. Returns their events."""
        ...

    def order_taken(self, order: Order, record: np.void) -> None:
        """An order has taken effect in the loop."""
        ...

    def attend(self) -> None:
        """Receive the comparisons made since the last call. Call it often."""
        ...
