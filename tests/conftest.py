"""What all tests share: no test asserts how long anything takes, so hypothesis does not either."""

from hypothesis import settings

settings.register_profile("logic only", deadline=None)
settings.load_profile("logic only")
