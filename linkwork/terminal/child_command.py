"""A command of linkwork in a process that ends, as by Ctrl-C, when its parent does, at low priority.

`python -m linkwork.terminal.child_command WORD…` takes the words of `linkwork`. Standard input is the
lifeline.
"""

import os
import runpy

from linkwork.timing.children import interrupt_with_parent

if __name__ == "__main__":
    interrupt_with_parent()
    os.nice(5)
    runpy.run_module("linkwork", run_name="__main__", alter_sys=True)
