"""A session of rig tests written to a file while it runs, and read back for the report.

One JSON object a line, each with its kind: `plan`, then `rig` for each machine (again where its daemons are
restarted), `begin` and `test` for each test, `end` last; `no_rig` where a machine is not available. Each line
is flushed immediately, so that a session that crashes loses only the present test. Numbers that JSON does not
have are written as null and read as NaN.

Only a test's `seconds` and a rig's `real_time` depend on the wall clock: two lockstep runs with
the same seed collect the same otherwise.
"""

import json
import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Self

from linkwork.rig.collected import FaultSeen, Number, Span, TestFindings, Tolerated
from linkwork.terminal.output import finite


class Collecting:
    """Writer of a session; a context manager. Raises OSError.

    A span's log is named relative to the file's folder, so that both can be moved together.
    """

    def __init__(self, path: Path) -> None:
        self._folder = path.absolute().parent
        self._stream = path.open("w", encoding="utf-8")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """No more is written."""
        self._stream.close()

    def plan(self, nodes: Sequence[str]) -> None:
        """The tests that were chosen, in their order."""
        self._line("plan", {"nodes": list(nodes)})

    def rig(self, name: str, facts: Mapping[str, Any]) -> None:
        """Write the provenance of a machine under test that is ready (see `Collection`)."""
        self._line("rig", {"name": name, "facts": facts})

    def no_rig(self, status: int, text: str) -> None:
        """Record why there is no rig. status: of `linkwork rig test` (2 usage, 3 refused, 4 no daemon)."""
        self._line("no_rig", {"status": status, "text": text})

    def begin(self, node: str) -> None:
        """A test begins."""
        self._line("begin", {"node": node})

    def test(self, findings: TestFindings) -> None:
        """A test is done, with its clearing away."""
        content = asdict(findings)
        for span in content["spans"]:
            span["log"] = os.path.relpath(span["log"], self._folder)
        self._line("test", content)

    def end(self, exit_status: int) -> None:
        """All is done, with this exit status of pytest's."""
        self._line("end", {"exit_status": exit_status})

    def _line(self, kind: str, content: Mapping[str, Any]) -> None:
        self._stream.write(json.dumps({"kind": kind, **finite(content)}, ensure_ascii=False) + "\n")
        self._stream.flush()


@dataclass
class Collected:
    """A session read back. planned: the tests chosen; begun: that which began last.

    exit_status: pytest's, None where the session broke off. no_rig: status and text where there was no rig.
    """

    rigs: dict[str, dict[str, Any]] = field(default_factory=dict)
    tests: list[TestFindings] = field(default_factory=list)
    planned: tuple[str, ...] = ()
    begun: str = ""
    exit_status: int | None = None
    no_rig: tuple[int, str] | None = None

    def read_line(self, line: str) -> None:
        """Read one line of the file. Raises ValueError for an invalid line."""
        found = json.loads(line)
        match found.pop("kind"):
            case "plan":
                self.planned = tuple(found["nodes"])
            case "rig":
                self.rigs[found["name"]] = found["facts"]
            case "no_rig":
                self.no_rig = int(found["status"]), found["text"]
            case "begin":
                self.begun = found["node"]
            case "test":
                self.tests.append(_test(found))
            case "end":
                self.exit_status = int(found["exit_status"])


def read_collected(path: Path) -> Collected:
    """A session as far as it was written; a last line that is cut off is left out. Raises OSError."""
    collected = Collected()
    for line in path.read_text(encoding="utf-8").split("\n")[:-1]:
        collected.read_line(line)
    return collected


def _test(found: dict[str, Any]) -> TestFindings:
    parts = {
        "numbers": [_number(each) for each in found["numbers"]],
        "faults": [FaultSeen(**{**each, "expected": tuple(each["expected"])}) for each in found["faults"]],
        "tolerated": [Tolerated(**{**each, "bound": _number(each["bound"])}) for each in found["tolerated"]],
        "spans": [Span(**each) for each in found["spans"]],
    }
    return TestFindings(**{**found, **parts})


def _number(found: dict[str, Any]) -> Number:
    return Number(**{**found, **{key: math.nan for key in ("value", "limit") if found[key] is None}})
