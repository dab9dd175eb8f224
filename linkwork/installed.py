"""The version of linkwork that is installed."""

from importlib.metadata import PackageNotFoundError, version


def installed_version() -> str:
    """The version; "0" in a source tree that was never installed."""
    try:
        return version("linkwork")
    except PackageNotFoundError:
        return "0"
