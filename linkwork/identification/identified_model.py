"""The linear model of a machine that is identified: a regressor, its identified columns, base parameters."""

from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np
from scipy.linalg import block_diag

from linkwork.identification.base_parameters import BaseParameter, BaseParameters, base_parameters_of
from linkwork.identification.friction_models import FrictionRegressor
from linkwork.identification.regressor import DynamicParameter, Regressor
from linkwork.machine import Machine


@dataclass(frozen=True, eq=False)
class IdentifiedModel:
    """Regressor, and base parameters of those of its columns that are identified."""

    machine: Machine
    regressor: Regressor
    columns: tuple[int, ...]
    base: BaseParameters

    @property
    def kept(self) -> list[int]:
        """Places among `columns` of the first parameter of each base parameter."""
        place = {each.name: k for k, each in enumerate(self.base.parameters)}
        return [place[each.first.name] for each in self.base.combinations]

    @property
    def used(self) -> list[int]:
        """Columns of the regressor of the first parameter of each base parameter."""
        return [self.columns[k] for k in self.kept]

    def with_friction(self, regressor: FrictionRegressor) -> "IdentifiedModel":
        """Return the machine's model with the further parameters of a regressor, each known alone."""
        columns, base = _identified_base(self.machine)
        added = regressor.added
        own = tuple(BaseParameter(each, (), each.value) for each in added)
        base = replace(
            base,
            parameters=(*base.parameters, *added),
            combinations=(*base.combinations, *own),
            matrix=block_diag(base.matrix, np.eye(len(added))) if added else base.matrix,
        )
        count = len(regressor.parameters)
        return IdentifiedModel(self.machine, regressor, (*columns, *range(count - len(added), count)), base)


def identified_model(machine: Machine) -> IdentifiedModel:
    """Return the model of what is identified, with the friction of the machine file. Raises NoStates."""
    return IdentifiedModel(machine, Regressor(machine.mechanism), *_identified_base(machine))


@lru_cache(maxsize=8)
def _identified_base(machine: Machine) -> tuple[tuple[int, ...], BaseParameters]:
    columns = identified_parameters(machine)
    return tuple(columns), base_parameters_of(machine, machine.mechanism, columns)


def identified_parameters(machine: Machine) -> list[int]:
    """Return the columns of the regressor that are identified.

    Bodies; friction of joints with one degree of freedom, passive ones too; armature and offset of motors;
    springs, of which progressive stiffness only where the file has it.
    """
    driven = {motor.joint for motor in machine.motors}
    single = {joint.name for joint in machine.mechanism.joints}

    def wanted(each: DynamicParameter) -> bool:
        if each.kind in ("viscous", "coulomb"):
            return each.owner in single
        if each.kind in ("armature", "offset"):
            return each.owner in driven
        return each.quantity != "progressive" or each.value != 0.0

    return [k for k, each in enumerate(Regressor(machine.mechanism).parameters) if wanted(each)]
