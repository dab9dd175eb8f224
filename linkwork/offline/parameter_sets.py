"""Parameters of a machine's plant for many values of the same settings, without building the whole again."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from linkwork.machine.building.idle_motions import with_idle_damping
from linkwork.machine.building.mechanism_builder import body_of, elements_of, joint_of
from linkwork.machine.building.overrides import apply_settings, put, settable, settings_of
from linkwork.machine.checks.schema_validation import validate
from linkwork.machine.description import Machine
from linkwork.machine.loading import checked_file, plant_mechanism_with
from linkwork.machine.sections.file import MachineFile
from linkwork.machine.sections.joint_types import mark_kinds
from linkwork.multibody.dynamics.tree_dynamics import dynamics
from linkwork.multibody.mechanism import Mechanism
from linkwork.multibody.workspace import Model, Workspace

_SECTIONS: Final = ("bodies", "joints", "motors", "springs", "forces")
"""Sections whose entries are made one by one."""
_REGULAR: Final = 1e-9
"""Least eigenvalue of the scaled mass matrix of which no further check is needed."""


class ParameterSets:
    """Arrays p (read-only) of a loaded machine's plant mechanism, for values of these settings.

    names: as in `--plant-set` ("bodies.crank.mass_kg"). Each model equals that of `plant_mechanism_with` bit
    for bit. After the first one, only the entries of the file that the settings name are checked and made
    again; values that this way refuses, and settings of contacts and gravity, build the whole mechanism.
    """

    def __init__(self, machine: Machine, names: Sequence[str]) -> None:
        """Keep the names; nothing is built yet."""
        self._machine, self._names = machine, tuple(names)
        self._entries: _Entries | None = None
        self._begun = False

    def model(self, values: Sequence[float]) -> Model:
        """Return `Mechanism.model` for one value of each setting, in the unit of its key.

        Raises MachineError for values that the machine file does not allow, and ValueError for those that
        change the mechanism's topology.
        """
        if self._entries is not None:
            found = self._entries.model(values)
            if found is not None:
                return found
        settings = [f"{name}={value!r}" for name, value in zip(self._names, values, strict=True)]
        mechanism = plant_mechanism_with(self._machine, settings)
        if not mechanism.model.alike(self._machine.plant_mechanism.model):
            raise ValueError(f"{', '.join(settings)}: a batch cannot change what the machine consists of")
        if not self._begun:
            self._begun, self._entries = True, _entries(self._machine, self._names, settings, mechanism)
        return mechanism.model


def _entries(
    machine: Machine, names: Sequence[str], settings: Sequence[str], mechanism: Mechanism
) -> _Entries | None:
    """Return what makes single entries again, from the mechanism with the first values; else None."""
    file, document = checked_file(machine), machine.document
    known = settable(file)
    places = [known[name] for name in names]
    if file.closed_form is not None or any(place[0] not in _SECTIONS for place in places):
        return None
    data = apply_settings(file, settings_of(file, [*machine.plant_set, *settings]), document)
    changed = validate(MachineFile, data, document)
    return None if isinstance(changed, list) else _Entries(machine, mechanism, changed, data, places)


class _Entries:
    """Makes the bodies, joints and force elements again that certain places of the file concern."""

    def __init__(
        self,
        machine: Machine,
        mechanism: Mechanism,
        file: MachineFile,
        data: dict[str, Any],
        places: Sequence[Sequence[str | int]],
    ) -> None:
        self._machine, self._mechanism = machine, mechanism
        self._file, self._data, self._places = file, data, [tuple(place) for place in places]
        self._rows = list(dict.fromkeys((str(place[0]), str(place[1])) for place in places))
        self._work: Workspace = mechanism.workspace()

    def model(self, values: Sequence[float]) -> Model | None:
        """Return the model; None where the whole mechanism must be built, to accept or refuse the values."""
        for place, value in zip(self._places, values, strict=True):
            put(self._data, place, value)
        try:
            found = self._mechanism.model_with(**self._parts(self._changed_file()))
        except ValueError:  # of the section, of the model, or of the topology
            return None
        return found if self._moves_mass(found) else None

    def _changed_file(self) -> MachineFile:
        sections: dict[str, dict[str, Any]] = {}
        for section, name in self._rows:
            kept = getattr(self._file, section)
            data = self._data[section][name]
            if section == "joints":
                data = mark_kinds({"joints": {name: data}})["joints"][name]
            rows = sections.setdefault(section, dict(kept))
            rows[name] = type(kept[name]).model_validate(data)
        return self._file.model_copy(update=sections)

    def _parts(self, file: MachineFile) -> dict[str, Any]:
        """Return the parts of the mechanism that differ: arguments of `Mechanism.build`."""
        mechanism, idle = self._mechanism, self._machine.assembly.idle
        own = {section: [name for other, name in self._rows if other == section] for section in _SECTIONS}
        moved = {*own["joints"], *(name.partition(".")[0] for name in own["motors"])}
        parts: dict[str, Any] = {}
        if own["bodies"]:
            parts["bodies"] = [
                body_of(file, body.name) if body.name in own["bodies"] else body for body in mechanism.bodies
            ]
        if moved:
            parts["joints"] = [
                with_idle_damping(joint_of(file, joint.name), idle) if joint.name in moved else joint
                for joint in mechanism.joints
            ]
        if own["springs"] or own["forces"]:
            parts["elements"] = elements_of(file, plant=True)
        return parts

    def _moves_mass(self, model: Model) -> bool:
        """Whether the mass matrix at the initial pose is regular beyond doubt."""
        work = self._work
        work.q[:] = self._machine.initial_q
        dynamics(model, work)
        mass = np.array(work.M)
        diagonal = np.diag(mass)
        if not (diagonal > 0.0).all():
            return False
        size = np.sqrt(diagonal)
        return bool(np.linalg.eigvalsh(mass / size / size[:, None])[0] > _REGULAR)
