"""The pytest plug-in as pytest finds it among what is installed: takes `station.testing.plugin` in, once.

So the plug-in may also be named, `-p station.testing.plugin`, whether linkwork is installed or not. The
module has a name that nothing else has: a `station` or `controller` of the user's own, which hides
linkwork's, must not end their runs of pytest, which ask for no rig.
"""

from __future__ import annotations

import sys
from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pytest

PLUGIN = "station.testing.plugin"


def pytest_addoption(pluginmanager: pytest.PytestPluginManager) -> None:
    """Register the plug-in, unless it was named. Raises ImportError where it is hidden, but wanted."""
    if pluginmanager.has_plugin(PLUGIN):
        return
    try:
        plugin = import_module(PLUGIN)
    except ImportError:
        if any(word == "--rig" or word.startswith("--rig=") for word in sys.argv):
            raise
    else:
        pluginmanager.register(plugin, PLUGIN)
