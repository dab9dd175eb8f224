"""What changes which fingerprint."""

import pytest

from linkwork import machine

SENSORS = "  wrist: {velocity: true}\n  lift: {velocity: true}\n"
HASHES = ("interface_hash", "model_hash", "config_hash")


@pytest.mark.parametrize(
    ("old", "new", "changed"),
    [
        ("# Masses", "# Mass", ""),
        ("    mass_kg: 20\n    com_m: [0, 0.1, 0]\n", "    com_m: [0, 0.1, 0]\n    mass_kg: 20.0\n", ""),
        ("{xx: 0.27, yy: 0.05, zz: 0.27}", "[0.27, 0.05, 0.27, 0, 0, 0]", ""),
        ("  substeps: 1\n", "", ""),
        ("lift_m: 0}", "lift_m: -0.0}", ""),
        ("mass_kg: 20", "mass_kg: 21", "model config"),
        ("gravity_m_s2: [0, 0, -9.81]", "gravity_m_s2: [0, 0, -1.62]", "model config"),
        ("at_m: [0, 0.2, 0]", "at_m: [0, 0.21, 0]", "model config"),
        ("max_torque_N_m: 60", "max_torque_N_m: 60\n    rotor_inertia_kg_m2: 0.001", "model config"),
        ("max_torque_N_m: 60", "max_torque_N_m: 61", "config"),
        ("position_deg: [-170, 170]", "position_deg: [-171, 170]", "config"),
        ("shoulder_deg: 30", "shoulder_deg: 31", "config"),
        ("law: pidc", "law: servo", "config"),
        ("  lift: {velocity: true}", "  lift: {}", "interface config"),
        (SENSORS, "".join(reversed(SENSORS.splitlines(True))), "interface config"),
        ("  period_s: 0.001", "  period_s: 0.002", "interface config"),
    ],
)
def test_a_change_shows_in_the_right_hashes(old, new, changed, scara_text, write):
    assert old in scara_text
    before = machine.load(write(scara_text, "a.yaml"))
    after = machine.load(write(scara_text.replace(old, new, 1), "b.yaml"))
    unlike = {name for name in HASHES if getattr(before, name) != getattr(after, name)}
    assert unlike == {f"{word}_hash" for word in changed.split()}


def test_a_renamed_joint_changes_the_interface(scara_text, write):
    text = scara_text.replace("wrist:", "hand:").replace("wrist_deg", "hand_deg").replace("wrist,", "hand,")
    renamed = machine.load(write(text))
    assert renamed.interface_hash != machine.load("scara").interface_hash


def test_hashes_are_sha256_and_do_not_depend_on_the_path(scara_text, write):
    shipped, copied = machine.load("scara"), machine.load(write(scara_text))
    for name in (*HASHES, "plant_model_hash"):
        assert len(bytes.fromhex(getattr(shipped, name))) == 32
        assert getattr(shipped, name) == getattr(copied, name)


def test_settings_change_the_plant_alone():
    nominal, changed = machine.load("scara"), machine.load("scara", ["shoulder_link.mass_kg=+20%"])
    assert changed.model_hash == nominal.model_hash == nominal.plant_model_hash
    assert changed.plant_model_hash != nominal.plant_model_hash
    assert changed.interface_hash == nominal.interface_hash
    assert changed.config_hash != nominal.config_hash
    assert nominal.plant_mechanism is nominal.mechanism


def test_the_interface_is_plain_data():
    interface = machine.load("scara").interface()
    assert interface["joints"][3] == {"name": "lift", "unit": "m"}
    assert interface["motors"][0] == {"joint": "shoulder", "unit": "N m"}
    assert interface["sensors"][0] == {"joint": "shoulder", "unit": "rad", "velocity": True}
    assert interface["period_s"] == 0.001
