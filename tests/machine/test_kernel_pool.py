"""Missing kernels compile in processes of their own; afterwards the cache has them."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

_SCRIPT = """
from linkwork.machine.kernel_pool import compile_missing
from linkwork.multibody.kernels.compiling import missing, warm, when_compiling
import linkwork.multibody.linalg.linear
module = "linkwork.multibody.linalg.linear"
said, shown = [], []
when_compiling(lambda: said.append("compiling"))
wanted = missing([module])
count = compile_missing([module], lambda done, total, name: shown.append((done, total)))
assert compile_missing([module]) == 0
report = warm([module])
print(len(wanted), count, len(said), shown == [(i + 1, count) for i in range(count)], report.compiled)
"""


@pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="needs two processors")
def test_processes_compile_each_missing_kernel_once(tmp_path: Path):
    environment = {key: value for key, value in os.environ.items() if not key.startswith("NUMBA_")}
    environment["XDG_CACHE_HOME"] = str(tmp_path)
    run = subprocess.run(
        [sys.executable, "-c", _SCRIPT], env=environment, capture_output=True, text=True, check=True
    )
    wanted, count, said, shown, compiled = run.stdout.split()
    assert int(wanted) == int(count) > 3
    assert (said, shown, compiled) == ("1", "True", "0")
