"""Small parts that several views of the page share."""

import json
import tempfile
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from html import escape
from pathlib import Path
from typing import Any, Final

from nicegui import events, ui
from nicegui.element import Element

from linkwork.console.console_service import ConsoleService, NotOperating
from linkwork.machine.problems import MachineError
from linkwork.protocol.errors import EndpointError, NobodyThere, RequestError
from linkwork.trajectories.trajectory_file import read_trajectory_file

_MOST_FILE_BYTES: Final = 8 << 20


def connect_page(page: str, *, recorded: bool = False) -> None:
    """Style the page, and open its connection. recorded: there is no machine, and nothing to stop."""
    ui.add_head_html('<link rel="stylesheet" href="/console/console.css">')
    ui.add_body_html(
        "<script type='module'>import { link } from 'linkwork-console'; "
        f"link.connect({json.dumps(page)}, {json.dumps(recorded)});</script>"
    )


def connection_banner(lost: str, ended: str) -> None:
    """Say that the connection to the console is lost, or that the console was ended, while it is so."""
    for text, when in ((lost, "when-lost"), (ended, "when-ended")):
        with ui.element("div").classes(f"banner {when}").props("role=alert"):
            ui.label(text)


@contextmanager
def card(title: str, more: str = "") -> Iterator[Element]:
    """Put elements into a titled card."""
    with ui.element("section").classes(f"card {more}") as made:
        made.props["aria-label"] = title
        with ui.element("h2"):
            ui.label(title)
        yield made


def chosen_file(label: str, read: Callable[[events.UploadEventArguments], Awaitable[None]]) -> None:
    """A button that chooses a trajectory file; `read` gets it."""

    async def uploaded(event: events.UploadEventArguments) -> None:
        upload.reset()
        await read(event)

    def refused() -> None:
        most = _MOST_FILE_BYTES >> 20
        ui.notify(
            f"this file was not read: choose a .yaml, .yml or .csv file of at most {most} MiB; "
            "`linkwork send` takes larger ones",
            type="negative",
            multi_line=True,
            timeout=8000,
        )

    upload = ui.upload(
        auto_upload=True, max_file_size=_MOST_FILE_BYTES, on_upload=uploaded, on_rejected=refused
    )
    upload.props('accept=".yaml,.yml,.csv"').classes("unseen")
    button = ui.button(label).props("no-caps outline").style("align-self: start")
    button.on("click", js_handler=f"() => getElement({upload.id}).pickFiles()")


def given_number(field: ui.number) -> float | None:
    """Return the number in a field; None, and say so, where it is empty."""
    if field.value is None:
        ui.notify(f"“{field.props['label']}” is empty: give a number", type="warning")
        return None
    return float(field.value)


def given_share(field: ui.number) -> float | None:
    """Return the share in a field of percent; None, and say so, where it is empty."""
    percent = given_number(field)
    return None if percent is None else percent / 100.0


def trajectory_in(name: str, content: bytes) -> dict[str, Any]:
    """Return the trajectory in a file of this name, as plain data. Raises ValueError."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"trajectory{Path(name).suffix.lower()}"
        path.write_bytes(content)
        try:
            trajectory = read_trajectory_file(path).trajectory
        except MachineError as error:
            raise ValueError(str(error).replace(str(path), name)) from None
    return trajectory.model_dump(exclude_none=True, by_alias=True)


def html_table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a table with headings, as HTML."""
    titles = "".join(f"<th scope='col'>{escape(text)}</th>" for text in head)
    lines = ["<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>" for row in rows]
    return f"<table class='values'><thead><tr>{titles}</tr></thead><tbody>{''.join(lines)}</tbody></table>"


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
        self.needed = ""
        """Request that the controller asked for in its last refusal."""

    def tell(self, message: dict[str, Any]) -> None:
        """Send a message to the elements of the page."""
        self.service.tell(message, self.page)

    async def ask(self, method: str, **params: Any) -> Any:
        """Send a request; return its answer, None where it was refused."""
        given = {name: value for name, value in params.items() if value is not None}
        try:
            answer = await self.service.ask(self.page, method, given)
        except RequestError as error:
            self.needed = str(error.data.get("needs", "")) or self.needed
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
