"""Small parts that several views of the page share."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from nicegui import ui
from nicegui.element import Element

from linkwork.console.console_service import ConsoleService, NotOperating
from linkwork.protocol.errors import EndpointError, NobodyThere, RequestError


@contextmanager
def card(title: str, more: str = "") -> Iterator[Element]:
    """Put elements into a titled card."""
    with ui.element("section").classes(f"card {more}").props(f'aria-label="{title}"') as made:
        with ui.element("h2"):
            ui.label(title)
        yield made


class Rows:
    """A list of headings and texts; only changed texts are sent to the page."""

    def __init__(self) -> None:
        self._list = ui.element("dl").classes("rows")
        self._labels: dict[str, ui.label] = {}

    def show(self, rows: Mapping[str, str]) -> None:
        """Show these rows in their order; empty texts are left out."""
        rows = {heading: text for heading, text in rows.items() if text}
        if list(rows) != list(self._labels):
            self._list.clear()
            self._labels = {}
            with self._list:
                for heading in rows:
                    with ui.element("dt"):
                        ui.label(heading)
                    with ui.element("dd"):
                        self._labels[heading] = ui.label()
        for heading, text in rows.items():
            self._labels[heading].set_text(text)


class PageActions:
    """Requests in the name of one page, with their answers shown as notifications."""

    def __init__(self, service: ConsoleService, page: str) -> None:
        self.service, self.page = service, page

    async def ask(self, method: str, **params: Any) -> Any:
        """Send a request; return its answer, None where it was refused."""
        given = {name: value for name, value in params.items() if value is not None}
        try:
            answer = await self.service.ask(self.page, method, given)
        except RequestError as error:
            ui.notify(f"{error.name}: {error.message}", type="negative", multi_line=True, timeout=8000)
        except (NobodyThere, EndpointError, NotOperating) as error:
            ui.notify(str(error), type="negative", multi_line=True, timeout=8000)
        else:
            return answer
        return None

    async def effect(self, method: str, **params: Any) -> None:
        """Send a request, and show its effect."""
        answer = await self.ask(method, **params)
        if answer is not None:
            ui.notify(answer.get("text") or f"{method}: {answer.get('state', 'done')}", type="positive")
