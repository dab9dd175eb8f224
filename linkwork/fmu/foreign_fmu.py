"""An FMU from outside, run by fmpy: variables by name, in SI units."""

import shutil
import tempfile
from ctypes import byref
from pathlib import Path
from typing import Any

import fmpy
from fmpy.fmi1 import FMICallException
from fmpy.fmi2 import FMU2Slave, fmi2CallbackFunctions, fmi2CallbackLoggerTYPE
from fmpy.fmi3 import FMU3Slave
from fmpy.logging import addLoggerProxy

from linkwork.machine.nearest_name import MOST_LISTED, listed, with_remedy

SI_POWERS = {"rad": {}, "rad/s": {"s": -1}, "m": {"m": 1}, "m/s": {"m": 1, "s": -1}, "s": {"s": 1}} | {
    "N m": {"kg": 1, "m": 2, "s": -2},
    "N": {"kg": 1, "m": 1, "s": -2},
}
"""Powers of base units; angles have none, as FMUs may leave rad out."""
_TYPES = (
    "Real",
    "Integer",
    "Boolean",
    "Float64",
    "Float32",
    *(f"{u}Int{n}" for u in ("", "U") for n in (8, 16, 32, 64)),
)
_LOGGED = 20
"""Messages of an FMU that are kept."""


class FmuFailed(ValueError):
    """An FMU cannot be loaded, connected or run; the text says which, why, and what is allowed."""


class ForeignFmu:
    """One instance for co-simulation (FMI 2.0 or 3.0), named by `name` in connections and messages.

    Parameters and start values are set before `begin`. Raises FmuFailed. `close` frees it.
    """

    def __init__(self, name: str, path: Path) -> None:
        """Unpack and instantiate it."""
        self.name, self._messages = name, list[str]()
        self._folder = tempfile.mkdtemp(prefix="linkwork-fmu-")
        try:
            self._open(path)
        except BaseException:
            shutil.rmtree(self._folder)
            raise

    def _open(self, path: Path) -> None:
        where = f"FMU {self.name} ({path})"
        if not path.is_file():
            raise FmuFailed(f"{where} is not a file")
        try:
            fmpy.extract(path, self._folder)
            about = fmpy.read_model_description(self._folder)
        except Exception as error:
            raise FmuFailed(f"{where} cannot be read: {error}") from None
        if about.coSimulation is None or about.fmiVersion == "1.0":
            raise FmuFailed(f"{where} is not for co-simulation by FMI 2.0 or 3.0, the only kind that is run")
        self._is_3 = not about.fmiVersion.startswith("2")
        self._variables = {each.name: each for each in about.modelVariables}
        self._units = {each.name: each.baseUnit for each in about.unitDefinitions}
        identifier = about.coSimulation.modelIdentifier
        platform = fmpy.platform_tuple if self._is_3 else fmpy.platform
        if not Path(self._folder, "binaries", platform, f"{identifier}.so").is_file():
            found = sorted(each.name for each in Path(self._folder).glob("binaries/*"))
            there = f"it has {', '.join(found)}" if found else "it has none"
            raise FmuFailed(f"{where} has no binary for {platform}; {there}")
        kind = FMU3Slave if self._is_3 else FMU2Slave
        try:
            self._unit = kind(
                guid=about.guid,
                unzipDirectory=self._folder,
                modelIdentifier=identifier,
                instanceName=self.name,
            )
            self._instantiate()
        except Exception as error:
            raise FmuFailed(f"{where} cannot be started: {self._said(error)}") from None

    def _instantiate(self) -> None:
        if self._is_3:
            self._unit.instantiate(logMessage=lambda *said: self._log(said[-1]))
            return
        self._callbacks = fmi2CallbackFunctions()  # the FMU keeps its address
        self._callbacks.logger = fmi2CallbackLoggerTYPE(lambda *said: self._log(said[4]))
        addLoggerProxy(byref(self._callbacks))
        self._unit.instantiate(callbacks=self._callbacks)

    def _log(self, text: bytes) -> None:
        self._messages = [*self._messages[1 - _LOGGED :], text.decode(errors="replace").strip()]

    def _said(self, error: Exception) -> str:
        return "; ".join([str(error), *self._messages[-1:]])

    def _call(self, what: str, *arguments: Any) -> Any:
        try:
            return getattr(self._unit, what)(*arguments)
        except FMICallException as error:
            raise FmuFailed(f"FMU {self.name}: {self._said(error)}") from None

    def variable(self, name: str, *causalities: str) -> Any:
        """Return a variable with one of these causalities. Raises FmuFailed for another."""
        allowed = [each for each, found in self._variables.items() if found.causality in causalities]
        if name not in allowed:
            known = listed(allowed, MOST_LISTED) or "none"
            text = f"FMU {self.name} has no {' or '.join(causalities)} {name!r}; available: {known}"
            raise FmuFailed(with_remedy(text, name, allowed))
        found = self._variables[name]
        if found.type not in _TYPES or getattr(found, "dimensions", None):
            raise FmuFailed(f"{self.name}.{name} is of type {found.type}; connections are single numbers")
        return found

    def scale(self, variable: Any, unit: str) -> tuple[float, float]:
        """Return factor and offset: SI value = factor × value + offset.

        unit: of what it is connected with (SI_POWERS); "" takes any. Raises FmuFailed where the variable has
        a unit of another kind.
        """
        base = self._units.get(variable.unit) if variable.unit else None
        if base is None:
            return 1.0, 0.0
        powers = {
            key: power for key in ("kg", "m", "s", "A", "K", "mol", "cd") if (power := getattr(base, key))
        }
        if unit and powers != SI_POWERS[unit]:
            where = f"{self.name}.{variable.name}"
            raise FmuFailed(f"{where} is in {variable.unit}, and cannot be connected with a value in {unit}")
        return float(base.factor), float(base.offset)

    def set(self, variable: Any, value: float) -> None:
        """Set a variable, in its own unit."""
        kind = variable.type
        typed = bool(value) if kind == "Boolean" else round(value) if "Int" in kind else value
        self._call(f"set{kind}", [variable.valueReference], [typed])

    def get(self, variable: Any) -> float:
        """Return a variable, in its own unit."""
        return float(self._call(f"get{variable.type}", [variable.valueReference])[0])

    def begin(self) -> None:
        """Enter the initialization at time 0."""
        if self._is_3:
            self._call("enterInitializationMode", None, 0.0)
        else:
            self._call("setupExperiment", None, 0.0)
            self._call("enterInitializationMode")

    def initialized(self) -> None:
        """End the initialization."""
        self._call("exitInitializationMode")

    def step(self, time_s: float, length_s: float) -> None:
        """Advance from a time by a step."""
        done = self._call("doStep", time_s, length_s)
        if self._is_3 and done is not None and (done[1] or done[2]):
            what = "asked to end the simulation" if done[1] else "returned early from a step"
            raise FmuFailed(f"FMU {self.name} {what} at {done[3]:g} s")

    def close(self) -> None:
        """Free the instance and its files."""
        self._unit.freeInstance()
        shutil.rmtree(self._folder)
