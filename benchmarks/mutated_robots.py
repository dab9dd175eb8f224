"""Import of mutated robot descriptions: each is read or refused within five seconds of processor time.

    python -m benchmarks.mutated_robots --count 10000 --seed 1

Files are truncated, have bytes or elements changed, links and joints removed or renamed, parents in a ring,
NaN and infinite numbers, entities, and 50 MB. URDF and SDF are read in this process; of MJCF one in `--every`
is, as each starts a child process. A file that raises anything but ImportProblem, or takes longer, is kept.
"""

from __future__ import annotations

import argparse
import os
import random
import re
import socket
import sys
import tempfile
from collections import Counter
from collections.abc import Callable
from pathlib import Path

from linkwork.convert.robots.importing import read_robot
from linkwork.convert.robots.robot_model import ImportProblem
from linkwork.machine import load
from linkwork.machine.catalogue import shipped

ROBOTS = Path(__file__).parents[1] / "tests" / "convert" / "robots"
MOST_S = 5.0
LARGE = 50_000_000


def truncated(data: bytes, rng: random.Random) -> bytes:
    """Cut the end off."""
    return data[: rng.randrange(len(data))]


def changed_bytes(data: bytes, rng: random.Random) -> bytes:
    """Change, remove, insert or repeat a few bytes."""
    found = bytearray(data)
    for _ in range(rng.randint(1, 5)):
        at = rng.randrange(len(found) or 1)
        match rng.randrange(4):
            case 0:
                found[at : at + 1] = bytes([rng.randrange(256)])
            case 1:
                del found[at : at + rng.randint(1, 200)]
            case 2:
                found[at:at] = rng.choice(
                    [b"<", b'"', b"1e999", b"&x;", b"\0", b"nan", b"-", b"]]>", b"\xff"]
                )
            case _:
                found[at:at] = found[at : at + rng.randint(1, 300)]
    return bytes(found)


def changed_number(data: bytes, rng: random.Random) -> bytes:
    """Replace a number by one that is not finite, huge, tiny or no number."""
    return _replaced(
        data, rb"-?\d+\.\d+(e-?\d+)?", [b"nan", b"inf", b"-1e308", b"1e-320", b"0", b"x", b""], rng
    )


def changed_name(data: bytes, rng: random.Random) -> bytes:
    """Replace a name in quotes, or an element's text, by another name of the file."""
    names = re.findall(rb'"([A-Za-z][\w/:]*)"', data) or [b"a"]
    return _replaced(
        data, rb'(?<=")[A-Za-z][\w/:]*(?=")|(?<=>)[A-Za-z]\w*(?=<)', [rng.choice(names), b"none"], rng
    )


def without_element(data: bytes, rng: random.Random) -> bytes:
    """Remove an element without children, or the opening of one."""
    return _replaced(data, rb"<\w[^<>]*/?>", [b""], rng)


def ring(data: bytes, rng: random.Random) -> bytes:
    """Make a joint's parent its child."""
    found = re.findall(rb'<child link="([^"]*)"', data) or re.findall(rb"<child>([^<]*)<", data)
    if not found:
        return changed_name(data, rng)
    name = rng.choice(found)
    data = _replaced(data, rb'(?<=<parent link=")[^"]*(?=")', [name], rng)
    return _replaced(data, rb"(?<=<parent>)[^<]*(?=<)", [name], rng)


def entities(data: bytes, rng: random.Random) -> bytes:
    """Declare a bomb of entities, or one of another file."""
    bomb = "".join(f'<!ENTITY l{n} "{f"&l{n - 1};" * 10}">' for n in range(1, 10))
    other = '<!ENTITY e SYSTEM "file:///etc/passwd">' if rng.random() < 0.5 else ""
    return f'<!DOCTYPE x [<!ENTITY l0 "ha">{bomb}{other}]>'.encode() + data.replace(b">", b">&l9;", 3)


def nested(data: bytes, rng: random.Random) -> bytes:
    """Nest elements deeper than any robot."""
    depth = rng.choice([150, 300, 20000])
    return data.replace(b">", b">" + b"<link>" * depth, 1)


def large(data: bytes, rng: random.Random) -> bytes:
    """Blow the file up to 50 MB: by elements, by one comment, or by one attribute."""
    filler = rng.choice([b'<link name="x"/>', b"<!--x-->", b'<a b="c"/>'])
    if rng.random() < 0.5:
        return data.replace(b"</robot>", filler * (LARGE // len(filler)) + b"</robot>")
    return data + b"<!--" + b"x" * LARGE + b"-->"


KINDS: list[tuple[int, Callable[[bytes, random.Random], bytes]]] = [
    (20, truncated), (30, changed_bytes), (20, changed_number), (20, changed_name), (15, without_element),
    (10, ring), (5, entities), (3, nested),
]  # fmt: skip


def _replaced(data: bytes, pattern: bytes, by: list[bytes], rng: random.Random) -> bytes:
    found = list(re.finditer(pattern, data))
    if not found:
        return data
    match = rng.choice(found)
    return data[: match.start()] + rng.choice(by) + data[match.end() :]


def sources() -> list[tuple[str, bytes]]:
    """Return ending and text of the robots that are mutated."""
    from linkwork.convert.robots.robot_writing import written

    found = [("urdf", path.read_bytes()) for path in sorted(ROBOTS.glob("**/*.urdf"))]
    for name in shipped():
        for ending, to in (("sdf", "sdf"), ("urdf", "urdf"), ("xml", "mjcf")):
            text, _ = written(load(name), to)  # type: ignore[arg-type]
            found.append((ending, text.encode()))
    return found


def main() -> int:
    """Mutate, read and count; 1 if any file did what it must not."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--count", type=int, default=10000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--every", type=int, default=20, help="read every n-th MJCF file only")
    parser.add_argument("--keep", type=Path, default=Path("mutated"), help="folder for offending files")
    options = parser.parse_args()
    rng = random.Random(options.seed)
    robots = sources()
    light = [each for each in robots if each[0] != "xml"]
    heavy = [each for each in robots if each[0] == "xml"]
    weights = [weight for weight, _ in KINDS]
    outcome: Counter[str] = Counter()
    slowest, without_line = 0.0, 0
    connected: list[object] = []
    socket.socket.connect = lambda *words: connected.append(words)  # type: ignore[method-assign, assignment]
    with tempfile.TemporaryDirectory() as folder:
        for number in range(options.count):
            ending, data = rng.choice(heavy if number % options.every == 0 else light)
            mutate = large if number % 500 == 499 else rng.choices(KINDS, weights)[0][1]
            path = Path(folder) / f"robot.{ending}"
            path.write_bytes(mutate(data, rng) or b" ")
            begin = _processor_s()
            try:
                read_robot(path)
                outcome[f"{ending} read"] += 1
            except ImportProblem as problem:
                outcome[f"{ending} refused"] += 1
                without_line += problem.line == 0
                bad = str(path) not in str(problem) or "root:" in str(problem)
                if bad:
                    outcome["WRONG ERROR"] += 1
                    _keep(options.keep, number, path, repr(problem))
            except Exception as error:
                outcome["CRASH"] += 1
                _keep(options.keep, number, path, repr(error))
            took = _processor_s() - begin
            if took > MOST_S:
                outcome["SLOW"] += 1
                _keep(options.keep, number, path, f"{took:.1f} s, {mutate.__name__}")
            slowest = max(slowest, took)
    for key, count in sorted(outcome.items()):
        print(f"{key}: {count}")
    print(f"slowest: {slowest:.2f} s; errors without a line: {without_line}; connections: {len(connected)}")
    return int(bool(connected) or any(key.isupper() for key in outcome))


def _processor_s() -> float:
    """Return the processor time (s) of this process and its children so far."""
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system


def _keep(folder: Path, number: int, path: Path, why: str) -> None:
    folder.mkdir(exist_ok=True)
    (folder / f"{number}{path.suffix}").write_bytes(path.read_bytes()[:1_000_000])
    print(f"file {number}: {why}", file=sys.stderr)


if __name__ == "__main__":
    sys.exit(main())
