"""The view of settings that change how the machine is controlled: law at rest, gains, payload."""

from collections.abc import Mapping
from typing import Any, Final

from nicegui import ui
from nicegui.elements.mixins.disableable_element import DisableableElement

from linkwork.console.machine_feed import Known
from linkwork.console.page_parts import PageActions, card, given_number
from linkwork.display_units import shown_in
from linkwork.protocol.codes import Role

_GAINS: Final = {
    "bandwidth_rad_s": ("bandwidth, rad/s", "bandwidth"),
    "damping_ratio": ("damping ratio", "damping_ratio"),
}
"""By parameter: label, and the channel with the present value."""
_MOMENTS: Final = ("xx", "yy", "zz", "xy", "xz", "yz")


class TuningView:
    """Cards of the law at rest, the gains and the payload."""

    def __init__(self, actions: PageActions) -> None:
        self._actions = actions
        self._built: str | None = None
        self._operating: list[DisableableElement] = []
        self._gain_controls: list[DisableableElement] = []
        self._load_controls: list[DisableableElement] = []
        self._gains: dict[str, ui.number] = {}
        with card("Behavior at rest"):
            self._present_law = ui.label().classes("quiet")
            with ui.element("div").classes("bar"):
                self._law = ui.select([], label="law").props("dense")
                choose = ui.button("choose", on_click=lambda: actions.effect("law", name=self._law.value))
                self._operating += [self._law, choose.props("no-caps outline")]
        with card("Gains"):
            self._gain_text = ui.label().classes("quiet")
            with ui.element("div").classes("bar"):
                for name, (label, _) in _GAINS.items():
                    self._gains[name] = ui.number(label, format="%.4g").props("dense")
                set_gains = ui.button("set gains", on_click=self._set).props("no-caps outline")
            self._gain_controls = [*self._gains.values(), set_gains]
        with card("Payload"):
            self._payload_text = ui.label().classes("quiet")
            with ui.element("div").classes("bar"):
                self._point = ui.select([], label="point", on_change=self._say_bounds).props("dense")
                self._mass = ui.number("mass, kg", value=0.0, min=0.0, step=0.1).props("dense")
            with ui.expansion("centre of mass and moments of inertia").props("dense"):
                ui.label(
                    "From the point and about the centre of mass, in the axes of the point's body."
                ).classes("quiet")
                with ui.element("div").classes("bar"):
                    self._com = [
                        ui.number(f"{axis}, {shown_in('m')[1]}", value=0.0).props("dense") for axis in "xyz"
                    ]
                with ui.element("div").classes("bar"):
                    self._inertia = [
                        ui.number(f"{moment}, kg m²", value=0.0, format="%.6g").props("dense")
                        for moment in _MOMENTS
                    ]
            with ui.element("div").classes("bar"):
                carry = ui.button("set payload", on_click=self._carry).props("no-caps outline")
                none = ui.button("no payload", on_click=self._drop).props("no-caps outline")
            self._load_controls = [self._point, self._mass, carry, none, *self._com, *self._inertia]
        self._role_text = ui.label().classes("quiet")

    def refresh(self, known: Known, *, operates: bool) -> None:
        """Follow the machine; enable what the role of the console's key and the page allow."""
        content = known.content
        if content is None:
            return
        described = content.described
        if self._built != described["config"]:
            self._built = described["config"]
            self._build(described)
        able = operates and known.state is not None
        service = described["role"] == Role.SERVICE.word
        self._role_text.set_text(
            "" if service else f"Gains and payload need a key of role service; this is {described['role']}."
        )
        for element in self._operating:
            element.set_enabled(able)
        for element in self._gain_controls:
            element.set_enabled(able and service and self._free_gains(described))
        for element in self._load_controls:
            element.set_enabled(able and service and bool(described["settings"]["payloads"]))
        self._present_law.set_text("" if known.state is None else f"now: {known.state['law']}")
        self._say_gains(described, known.sample)

    @staticmethod
    def _free_gains(described: Mapping[str, Any]) -> bool:
        bounds: Mapping[str, list[float]] = described["settings"]["gains"]
        return any(low < high for low, high in bounds.values())

    def _build(self, described: Mapping[str, Any]) -> None:
        laws = [law for law in described["laws"] if law != described["law"]]
        self._law.set_options(laws, value=laws[0] if laws else None)
        for name, (low, high) in described["settings"]["gains"].items():
            self._gains[name].min, self._gains[name].max = low, high
            self._gains[name].set_value(None)
        points = list(described["settings"]["payloads"])
        self._point.set_options(points, value=points[0] if points else None)
        self._say_bounds()

    def _say_gains(self, described: Mapping[str, Any], sample: Mapping[str, Any] | None) -> None:
        if not self._free_gains(described):
            self._gain_text.set_text("fixed: the machine file has no controller.gain_bounds")
            return
        texts = []
        for name, (label, channel) in _GAINS.items():
            low, high = described["settings"]["gains"][name]
            present = None if sample is None else sample.get(channel)
            now = "" if present is None else f" {present:.4g}"
            if self._gains[name].value is None and present is not None:
                self._gains[name].set_value(present)
            texts.append(f"{label}: now{now}, from {low:g} to {high:g}")
        self._gain_text.set_text("; ".join(texts))

    def _say_bounds(self) -> None:
        content = self._actions.service.feed.known.content
        bounds = {} if content is None else content.described["settings"]["payloads"]
        if self._point.value not in bounds:
            self._payload_text.set_text("none: the machine file has no controller.payloads")
            return
        most = bounds[self._point.value]
        factor, unit = shown_in("m")
        self._payload_text.set_text(
            f"at most {most['mass_kg']:g} kg, {factor * most['com_m']:g} {unit} from the point,"
            f" {most['inertia_kg_m2']:g} kg m²"
        )

    async def _set(self) -> None:
        given = {name: float(field.value) for name, field in self._gains.items() if field.value is not None}
        await self._actions.effect("set_gain", **given)

    async def _carry(self) -> None:
        given: list[float] = []
        for field in (self._mass, *self._com, *self._inertia):
            number = given_number(field)
            if number is None:
                return
            given.append(number)
        mass, com_m, moments = given[0], [each / shown_in("m")[0] for each in given[1:4]], given[4:]
        await self._actions.effect(
            "payload", point=self._point.value, mass_kg=mass, com_m=com_m, inertia_kg_m2=moments
        )

    async def _drop(self) -> None:
        await self._actions.effect("payload", point=self._point.value, mass_kg=0.0)
