"""Imports stand at the top of files; those inside functions are few, and each has its reason."""

from __future__ import annotations

import ast
import re
from collections import Counter

from tests.test_names import PRODUCT, ROOT, files_of

INDENTED = re.compile(r"^\s+(?:from|import) linkwork", re.MULTILINE)
MOST_INSIDE_FUNCTIONS = 60
LAZY = {
    "controller/gateway/gateway_process.py": "the digital twin, where it is asked for",
    "linkwork/cli/identify_command.py": "the report, which needs an extra",
    "linkwork/cli/request_commands.py": "models of parameters, which most commands of a request do not need",
    "linkwork/demos/__init__.py": "names of demos are read without their motions",
    "linkwork/multibody/kernels/build_hook.py": "the build uses another import path",
    "linkwork/multibody/kernels/library.py": "the translator, where kernels are built",
    "linkwork/rig/plugin.py": "pytest loads the plug-in in every project",
    "linkwork/terminal/failures.py": "errors whose modules a simple command does not load",
    "plant/daemon/plant_daemon.py": "the simulator is not for hardware, and faults are asked for",
    "protocol/sockets.py": "connections are watched by daemons; a client's command starts without them",
}
"""Files with imports of linkwork inside functions, and why they are there."""


def _inside_functions(tree: ast.AST) -> set[int]:
    return {
        node.lineno
        for function in ast.walk(tree)
        if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef)
        for node in ast.walk(function)
        if (isinstance(node, ast.ImportFrom) and (node.module or "").startswith("linkwork"))
        or (isinstance(node, ast.Import) and node.names[0].name.startswith("linkwork"))
    }


def test_imports_inside_functions_are_few_and_have_a_reason() -> None:
    sources = {str(path.relative_to(ROOT)): path.read_text("utf-8") for path in files_of(PRODUCT)}
    counts = Counter(
        {
            name: len(_inside_functions(ast.parse(source)))
            for name, source in sources.items()
            if INDENTED.search(source)
        }
    )
    assert {name for name, count in counts.items() if count} == set(LAZY)
    assert counts.total() <= MOST_INSIDE_FUNCTIONS
