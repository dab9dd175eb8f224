"""The simulated drive as the master of the library canopen sees it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import canopen
import pytest
from canopen.profiles.p402 import BaseNode402, State402

from linkwork.cia402.cia402_driver import Cia402
from linkwork.machine import load
from linkwork.plant.drivers.driver import OptionError
from tests.cia402.bench import bench, setup

EDS = """
[DeviceInfo]
VendorName=none
[MandatoryObjects]
SupportedObjects=0
[OptionalObjects]
SupportedObjects={count}
{listed}
[ManufacturerObjects]
SupportedObjects=0
"""
TYPES = {0x6040: 6, 0x6041: 6, 0x6060: 2, 0x6061: 2, 0x6064: 4, 0x6071: 3, 0x6076: 7, 0x6077: 3, 0x6502: 7,
         0x1017: 6}  # fmt: skip


def eds(folder: Path, *left_out: int) -> Path:
    """An EDS file of a drive, without some of the objects."""
    types = {index: kind for index, kind in TYPES.items() if index not in left_out}
    text = EDS.format(count=len(types), listed="\n".join(f"{at}=0x{i:04X}" for at, i in enumerate(types, 1)))
    for index, kind in types.items():
        default = "\nDefaultValue=2500" if index == 0x6076 else ""
        text += f"[{index:04X}]\nParameterName=o{index:x}\nObjectType=0x7\nDataType=0x{kind:04X}\n"
        text += f"AccessType=rw\nPDOMapping=1{default}\n"
    path = folder / "drive.eds"
    path.write_text(text)
    return path


@pytest.fixture
def node(tmp_path: Path) -> Iterator[BaseNode402]:
    machine = load("five_bar")
    made = setup(machine)
    network = canopen.Network()
    with bench(made, machine):
        network.connect(interface="virtual", channel=made.options["channel"])
        try:
            yield network.add_node(BaseNode402(1, str(eds(tmp_path))))
        finally:
            network.disconnect()


def test_canopen_reads_writes_and_enables_it(node: BaseNode402) -> None:
    assert node.sdo[0x6076].raw == 2500
    node.sdo[0x6060].raw = 10
    assert node.sdo[0x6061].raw == 10
    assert node.sdo[0x6502].raw >> 9 & 1
    with pytest.raises(canopen.SdoAbortedError, match="0x06010002"):
        node.sdo[0x6041].raw = 0
    passed = []
    for word in (0x06, 0x07, 0x0F, 0x07, 0x0F, 0x00):
        node.sdo[0x6040].raw = word
        masked = node.sdo[0x6041].raw
        passed.append(next(name for name, (mask, bits) in State402.SW_MASK.items() if masked & mask == bits))
    assert passed == ["READY TO SWITCH ON", "SWITCHED ON", "OPERATION ENABLED", "SWITCHED ON",
                      "OPERATION ENABLED", "SWITCH ON DISABLED"]  # fmt: skip


def test_an_eds_file_gives_the_rated_torque_and_is_checked(tmp_path: Path) -> None:
    machine = load("five_bar")
    rows = {name: {"node": at, "eds": str(eds(tmp_path))} for at, name in enumerate(("left", "right"), 1)}
    driver = Cia402(setup(machine, drives=rows))
    assert [drive.rated for drive in driver.drives] == [2.5, 2.5]
    eds(tmp_path, 0x6071)
    with pytest.raises(OptionError, match=r"left lacks objects that torque mode needs"):
        Cia402(setup(machine, drives=rows))
    (tmp_path / "drive.eds").write_text("[nonsense")
    with pytest.raises(OptionError, match="cannot be read"):
        Cia402(setup(machine, drives=rows))
