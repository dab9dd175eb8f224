"""Build the kernels while linkwork is installed (hatchling calls this hook)."""

import shutil
import sys
import sysconfig
import tempfile
from pathlib import Path
from types import ModuleType
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class KernelsBuildHook(BuildHookInterface[Any]):
    """Puts the shared library into the wheel, or into the checkout of an editable installation."""

    def dependencies(self) -> list[str]:
        """Ask for a C compiler from the package index where the system has none."""
        return [] if any(map(shutil.which, ("cc", "gcc", "clang"))) else ["ziglang"]

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Build the library."""
        if self.target_name != "wheel":
            return
        root = Path(self.root)
        library = _builder(root)
        package = root / "linkwork"
        roots = {"linkwork": package}
        for name in ("controller", "plant", "protocol", "configs"):
            if not (package / name).exists():  # as in an sdist, which has no links
                roots[f"linkwork.{name}"] = root / name
        if version == "editable":
            library.build(library.FOLDER, roots)
        else:
            folder = Path(tempfile.mkdtemp())
            path = library.build(folder, roots, keep=False)
            build_data["force_include"][str(path)] = f"linkwork/multibody/kernels/_library/{path.name}"
        build_data["pure_python"] = False
        platform = sysconfig.get_platform().replace("-", "_").replace(".", "_")
        build_data["tag"] = f"py3-none-{platform}"


def _builder(root: Path) -> Any:
    """Import library.py without the packages around it, which need numpy."""
    for name in ("linkwork", "linkwork.multibody", "linkwork.multibody.kernels"):
        package = ModuleType(name)
        package.__path__ = [str(root.joinpath(*name.split(".")))]
        sys.modules[name] = package
    from linkwork.multibody.kernels import library

    return library
