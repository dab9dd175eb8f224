"""Faults of sensors: detected by contradictory readings, or tolerated."""

import pytest

from linkwork.rig.suites.standard.sizes import DETECTED_BY_MOTION, sensor_of, struck, tolerance, unit_of
from linkwork.rig.under_test import RigUnderTest

pytestmark = pytest.mark.rig(controller=True, needs=["inject:sensor"])


def test_detects_a_sensor_that_jumps(rig: RigUnderTest) -> None:
    """A sensor whose reading jumps by five path tolerances in one tick is detected."""
    sensor = sensor_of(rig)
    step = 5.0 * tolerance(rig, sensor)
    record = struck(rig, {"sensor": "bias", "of": sensor.joint, f"by_{unit_of(sensor)}": step})
    record.fault(*DETECTED_BY_MOTION).within(seconds=0.1)


def test_bears_a_small_bias(rig: RigUnderTest) -> None:
    """With a sensor bias of a fifth of the path tolerance, the machine stays within the tolerance."""
    sensor = sensor_of(rig)
    step = 0.2 * tolerance(rig, sensor)
    record = struck(rig, {"sensor": "bias", "of": sensor.joint, f"by_{unit_of(sensor)}": step})
    record.detected_or_tolerated(*DETECTED_BY_MOTION, because="the error is within the path tolerance")


def test_bears_a_slow_drift(rig: RigUnderTest) -> None:
    """With a sensor drift below the path tolerance, the machine stays within the tolerance."""
    sensor = sensor_of(rig)
    rate = 0.3 * tolerance(rig, sensor) / rig.motions.fast_s
    record = struck(rig, {"sensor": "drift", "of": sensor.joint, f"rate_{unit_of(sensor)}_s": rate})
    record.detected_or_tolerated(*DETECTED_BY_MOTION, because="the error is within the path tolerance")


def test_detects_a_frozen_sensor(rig: RigUnderTest) -> None:
    """A sensor whose reading does not change while its joint moves is detected during the motion."""
    record = struck(rig, {"sensor": "freeze", "of": sensor_of(rig).joint})
    record.fault(*DETECTED_BY_MOTION).within(seconds=rig.motions.fast_s)


def test_bears_noise(rig: RigUnderTest) -> None:
    """Noise of a hundredth of the path tolerance is tolerated."""
    sensor = sensor_of(rig)
    std = 0.01 * tolerance(rig, sensor)
    record = struck(rig, {"sensor": "noise", "of": sensor.joint, f"std_{unit_of(sensor)}": std})
    record.detected_or_tolerated(*DETECTED_BY_MOTION, because="noise this small moves the machine little")


def test_bears_coarse_steps(rig: RigUnderTest) -> None:
    """An encoder resolution of a hundredth of the path tolerance is tolerated."""
    sensor = sensor_of(rig)
    step = 0.01 * tolerance(rig, sensor)
    record = struck(rig, {"sensor": "quantise", "of": sensor.joint, f"step_{unit_of(sensor)}": step})
    record.detected_or_tolerated(
        *DETECTED_BY_MOTION, because="resolution errors this small move the machine little"
    )


def test_detects_a_reading_that_is_no_number(rig: RigUnderTest) -> None:
    """A reading that is not finite is detected in the tick that reads it, and is not used."""
    record = struck(rig, {"sensor": "nan", "of": sensor_of(rig).joint, "for_ticks": 5})
    record.fault("MEASUREMENT_NOT_FINITE").within(ticks=0)


def test_detects_swapped_sensors(rig: RigUnderTest) -> None:
    """Two sensors that are connected to each other's input are detected."""
    first = sensor_of(rig)
    here = rig.positions
    others = [
        other.joint
        for other in rig.machine.sensors[1:]
        if other.is_angle == first.is_angle
        and abs(here[other.joint] - here[first.joint]) > 5.0 * tolerance(rig, first)
    ]
    if not others:
        pytest.skip(f"no other sensor of {rig.name} reads something else than {first.joint}")
    record = struck(rig, {"sensor": "swap", "of": first.joint, "other": others[0]})
    record.fault(*DETECTED_BY_MOTION).within(seconds=0.1)


def test_bears_a_wrong_scale(rig: RigUnderTest) -> None:
    """With a sensor scale error below the path tolerance, the machine stays within the tolerance."""
    sensor = sensor_of(rig)
    largest = max(abs(rig.positions[sensor.joint]), 0.3 if sensor.is_angle else 0.05)
    factor = 1.0 + 0.2 * tolerance(rig, sensor) / largest
    record = struck(rig, {"sensor": "scale", "of": sensor.joint, "factor": factor})
    record.detected_or_tolerated(*DETECTED_BY_MOTION, because="the error is within the path tolerance")


@pytest.mark.rig(extra_sensors=True)
def test_names_the_sensor_that_contradicts_the_others(rig: RigUnderTest) -> None:
    """With more sensors than degrees of freedom, a sensor that jumps is detected at once and not followed."""
    sensor = rig.machine.sensors[-1]
    record = struck(rig, {"sensor": "bias", "of": sensor.joint, f"by_{unit_of(sensor)}": 0.1})
    record.fault("SENSOR_DISAGREES", "SENSORS_DISAGREE", "CLOSURE_RESIDUAL").within(seconds=0.05)
