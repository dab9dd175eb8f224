"""What all tests share: no test asserts how long anything takes, so hypothesis does not either."""

import os

from hypothesis import settings

# The daemons that tests start by the hundred load our modules twice as fast from bytecode.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)


settings.register_profile("logic only", deadline=None)
settings.load_profile("logic only")
