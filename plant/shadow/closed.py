"""What a comparison reads of a machine whose joints close on each other."""

from multibody.compiling import ON_MECHANISM, kernel
from multibody.coordinates import coordinates
from multibody.formulations import constrained_forward_dynamics
from multibody.model import Array, Integers


@kernel(ON_MECHANISM)
def evaluate_closed(p: Array, t: Integers, w: Array) -> None:
    """Mass matrix, admitted velocities and coordinates at the workspace's state."""
    constrained_forward_dynamics(p, t, w)
    coordinates(p, t, w)
