"""A workspace for predictions: the machine without contact forces."""

from linkwork.multibody import Workspace
from linkwork.multibody.workspace import touches


def without_touch(work: Workspace) -> Workspace:
    """The workspace, in which stops and contacts do not push: where they are is not known so exactly."""
    if touches(work):
        work.held[0] = 1.0
    return work
