"""The machines that ship with linkwork."""

from importlib.resources import files
from pathlib import Path


def shipped() -> tuple[str, ...]:
    """Return the names of the machines that ship, sorted."""
    return tuple(
        sorted(
            item.name[: -len(".yaml")]
            for item in files("linkwork.configs").iterdir()
            if item.name.endswith(".yaml")
        )
    )


def shipped_path(name: str) -> Path:
    """Return where a shipped machine's file lies. Raises KeyError for a name that does not ship."""
    if name not in shipped():
        raise KeyError(f"unknown machine {name!r}; available: {', '.join(shipped())}")
    return Path(str(files("linkwork.configs").joinpath(f"{name}.yaml")))
