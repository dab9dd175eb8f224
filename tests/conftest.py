"""What all tests share: no test asserts how long anything takes, so hypothesis does not either.

Hypothesis tries the same examples in each run, so that a change is judged by its own faults alone.
`just hunt` tries others, as every night does.
"""

import os

from hypothesis import settings

# The daemons that tests start by the hundred load our modules twice as fast from bytecode.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)


settings.register_profile("repeatable", deadline=None, derandomize=True, max_examples=30)
settings.register_profile("random", deadline=None)
settings.load_profile("repeatable")
