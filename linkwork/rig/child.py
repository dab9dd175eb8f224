"""Pytest in a separate process that ends, as by Ctrl-C, when its parent does.

`python -m linkwork.rig.child WORD…` takes pytest's words; standard input is the lifeline.
"""

import sys

import pytest

from linkwork.timing.children import interrupt_with_parent


def main(words: list[str]) -> int:
    """Run pytest; return its exit status."""
    interrupt_with_parent()
    return int(pytest.main(words))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
