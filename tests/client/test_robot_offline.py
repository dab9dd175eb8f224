"""The client before it is connected."""

import pytest

from linkwork import Robot


def test_the_name_of_a_file_is_no_trajectory() -> None:
    with pytest.raises(TypeError, match="read_trajectory_file"):
        Robot().send("wave.yaml")  # type: ignore[arg-type]
