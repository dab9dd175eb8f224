"""The cards with the machine in 3-D and with the plots, of live pages and of recordings."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from nicegui import ui
from nicegui.element import Element

from linkwork.console.page_elements import MachineView
from linkwork.console.page_parts import card
from linkwork.display_units import UNITS, ask_reader, present_choice

_UNITS_COOKIE: Final = "linkwork_units"
"""Of a browser, with the choice of units; lib/index.js reads it, too."""
_MOST_CURVES: Final = 4
_PLOTS_AFTER_S: Final = 0.05


def scene_card(layers: Mapping[str, tuple[str, bool]]) -> MachineView:
    """Build the view of the machine, with the layers that can be switched on and off in it."""
    with ui.element("section").classes("card scene-card").props('aria-label="Machine"'):
        view = MachineView(layers)
        with ui.element("div").classes("scene-tools"):
            with (
                ui.button("show …").props("no-caps flat dense"),
                ui.menu(),
                ui.element("div").classes("layers"),
            ):
                for layer, (text, on) in layers.items():
                    ui.checkbox(
                        text,
                        value=on,
                        on_change=lambda event, layer=layer: view.switch(layer, on=bool(event.value)),
                    ).props("dense")
            for text, name in (("all", ""), ("front", "front"), ("top", "top"), ("side", "side")):
                ui.button(text, on_click=lambda name=name: view.run_method("look", name)).props(
                    f'no-caps flat dense aria-label="view {text}"'
                )
            ui.button("clear path", on_click=lambda: view.run_method("forgetTrail")).props(
                "no-caps flat dense"
            )
    return view


def first_plots(described: Mapping[str, Any]) -> list[list[str]]:
    """Return the channels of the plots that stand there at first: goal coordinates, and efforts of motors."""
    goals = [f"coordinate/{name}" for name in described["goal_coordinates"]]
    efforts = [f"effort/{motor['name']}" for motor in described["motors"]]
    return [goals[:_MOST_CURVES], efforts[:_MOST_CURVES]]


def plots_card(
    plot: Callable[[Sequence[str]], Element], first: Callable[[], Sequence[Sequence[str]] | None]
) -> None:
    """Build a card with plots; further ones can be added, and each can be closed.

    first: returns the channels of the first plots, None while the machine is not known. They are added once
    the page stands: their library is its largest file, and the machine comes first.
    """

    def add(channels: Sequence[str]) -> None:
        with box:
            made = plot(channels)
            made.on("close", made.delete)

    def add_first() -> None:
        found = first()
        if found is not None:
            waiting.cancel()
            for channels in found:
                add(channels)

    with card("Plots", "plots"):
        box = ui.element("div").classes("plot-list")
        ui.button("add a plot", on_click=lambda: add(())).props("no-caps outline").style("align-self: start")
        waiting = ui.timer(_PLOTS_AFTER_S, add_first, immediate=False)


def units_button() -> None:
    """Build the button that changes the units of this browser's pages, which then load again."""
    choices = {choice: f"{units['rad'][1]}, {units['m'][1]}" for choice, units in UNITS.items()}
    present = present_choice()
    (other,) = choices.keys() - {present}
    cookie = f"{_UNITS_COOKIE}={other}; path=/; max-age=31536000; samesite=strict"
    button = ui.button(choices[present]).props(f'no-caps flat aria-label="show {choices[other]}"')
    button.on("click", js_handler=f"() => {{ document.cookie = {cookie!r}; location.reload(); }}")


def units_of_page() -> str | None:
    """Return the units that the browser of the present page has chosen, None outside of pages."""
    try:
        request = ui.context.client.request
    except RuntimeError:
        return None
    return request.cookies.get(_UNITS_COOKIE)


ask_reader(units_of_page)


def color_button() -> None:
    """Build the button that changes between dark and light; at first the system decides."""
    colors = ui.dark_mode(None)

    async def change() -> None:
        colors.set_value(not await ui.run_javascript("document.body.classList.contains('body--dark')"))

    ui.button("dark / light", on_click=change).props("no-caps flat")
