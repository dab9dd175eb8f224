"""Command lines, read into classes of options (`linkwork/options.py`) and shown as help.

What a command does is named as "module:function" and imported when it is called: help, completion and
mistakes need its class of options alone.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from enum import Enum
from importlib import import_module
from inspect import cleandoc
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal, get_args, get_origin

import click

from linkwork.options import OPTIONS, Parameter, parameters


class CommandLineError(Exception):
    """A command line that cannot be read; the text says why."""


def imported(place: str) -> Any:
    """Return what "module:name" names in linkwork."""
    module, _, name = place.partition(":")
    return getattr(import_module(f"linkwork.{module}"), name)


def _show_help(ctx: click.Context, _: click.Parameter, asked: bool) -> None:
    if asked:
        click.echo(ctx.get_help())
        ctx.exit()


_HELP = click.Option(
    ["--help"], is_flag=True, is_eager=True, expose_value=False, callback=_show_help,
    help="Show this message and exit.",
)  # fmt: skip
"""As click's own, which looks for a translation: that takes longer than reading the command line."""


class OptionsCommand(click.Command):
    """A command whose parameters are those of its class of options.

    what: function of the options, as "module:name" in linkwork; it returns the exit status, or None for 0.
    about: the help, in place of the class's docstring. given: values of fields that are no parameters.
    before: called before the function is imported, as a check of packages that it needs.
    """

    def __init__(
        self, name: str, options: type, what: str, about: str = "", epilog: str = "",
        given: Mapping[str, Any] = MappingProxyType({}), before: Callable[[], None] | None = None,
    ) -> None:  # fmt: skip
        self.options, self.what, self.given, self.before = options, what, given, before
        params: list[click.Parameter] = [
            _option(each) if each.flags else _argument(each) for each in parameters(options)
        ]
        super().__init__(name, params=params, help=about or cleandoc(options.__doc__ or ""), epilog=epilog)

    def get_help_option(self, ctx: click.Context) -> click.Option:  # noqa: ARG002
        """Return the option --help."""
        return _HELP

    def invoke(self, ctx: click.Context) -> int:
        """Run the command; return the exit status."""
        found = {each.name: ctx.params[each.name] for each in parameters(self.options)}
        for each in parameters(self.options):
            if _is_enum(each.kind) and found[each.name] is not None:
                found[each.name] = each.kind(found[each.name])
        if self.before is not None:
            self.before()
        return int(imported(self.what)(self.options(**found, **self.given)) or 0)

    def get_help(self, ctx: click.Context) -> str:
        """Return the help with a panel for arguments, and for each kind of options."""
        return help_text(self, ctx)


def call(command: click.Command, words: Sequence[str], program: str) -> int:
    """Read a command line and run the command; return the exit status. Raises CommandLineError."""
    try:
        with command.make_context(program, list(words)) as ctx:
            return int(command.invoke(ctx) or 0)
    except click.exceptions.Exit as ended:  # --help and the like
        return ended.exit_code
    except click.ClickException as error:
        where = getattr(error, "ctx", None)
        usage = "" if where is None else f"{where.get_usage()}\n"
        raise CommandLineError(usage + error.format_message()) from None


def main(commands: Mapping[str, tuple[str, str]], program: str) -> None:
    """Read the process's command line and run a command.

    commands: class of options and function by name; "": those of a line that begins with no other name.
    """
    words = sys.argv[1:]
    options, what = commands[words.pop(0) if words and words[0] in commands else ""]
    try:
        status = call(OptionsCommand(program, imported(options), what), words, program)
    except CommandLineError as error:
        sys.stderr.write(f"{error}\n")
        status = 2
    sys.exit(status)


def _option(each: Parameter) -> click.Option:
    flags = {"is_flag": True} if each.kind is bool else {"type": _type(each)}
    described = each.described
    default = None if each.required else _word(each.default)
    return click.Option(
        [each.name, *each.flags], required=each.required, default=default, multiple=each.count == 0,
        nargs=max(each.count, 1), metavar=described.metavar or None, hidden=described.hidden,
        help=described.about, **flags,
    )  # fmt: skip


def _argument(each: Parameter) -> click.Argument:
    default: dict[str, Any] = {} if each.required or each.count == 0 else {"default": _word(each.default)}
    return click.Argument(
        [each.name], type=_type(each), required=each.required, nargs=each.count or -1,
        metavar=each.described.metavar, **default,
    )  # fmt: skip


def _type(each: Parameter) -> click.ParamType[Any] | type:
    if get_origin(each.kind) is Literal:
        return click.Choice(get_args(each.kind))
    if _is_enum(each.kind):
        return click.Choice([one.value for one in each.kind])
    if each.kind is Path:
        return click.Path(path_type=Path)
    least, most = each.described.least, each.described.most
    return each.kind if least is most is None else _Bounded(each.kind, least, most)


def _word(value: Any) -> Any:
    """Return a default as it is written on a command line."""
    return value.value if isinstance(value, Enum) else value


def _is_enum(kind: Any) -> bool:
    return isinstance(kind, type) and issubclass(kind, Enum)


class _Bounded(click.ParamType):  # type: ignore[type-arg]  # generic in newer click alone
    """A number with bounds, inclusive. NaN is beyond every bound."""

    def __init__(self, kind: type[int] | type[float], least: float | None, most: float | None) -> None:
        self.kind = click.types.convert_type(kind)
        self.name = self.kind.name
        low = [] if least is None else [f"greater than or equal to {least:g}"]
        high = [] if most is None else [f"less than or equal to {most:g}"]
        self.allowed = " and ".join(low + high)
        self.least = -float("inf") if least is None else least
        self.most = float("inf") if most is None else most

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        number = self.kind.convert(value, param, ctx)
        if not self.least <= number <= self.most:
            self.fail(f"{value} must be {self.allowed}", param, ctx)
        return number


class CommandGroup(click.Group):
    """Commands by name, each imported when it is asked for.

    load: makes the command with a name. panels: names of the commands by panel of the help. own: what the
    group does when no command is named; None: it shows its help. params: further options.
    """

    def __init__(
        self, name: str, about: str, panels: Mapping[str, Sequence[str]],
        load: Callable[[str], click.Command], own: OptionsCommand | None = None, epilog: str = "",
        params: Sequence[click.Parameter] = (),
    ) -> None:  # fmt: skip
        params = [*(own.params if own else ()), *params]
        super().__init__(
            name, help=about, invoke_without_command=True, no_args_is_help=False, params=params, epilog=epilog
        )
        self.subcommand_metavar = "COMMAND [ARGS]..."
        self.panels, self.load, self.own = panels, load, own
        self.callback = self._alone

    def _alone(self, **_: Any) -> int:
        ctx = click.get_current_context()
        if ctx.invoked_subcommand is not None:
            return 0
        if self.own is not None:
            return self.own.invoke(ctx)
        sys.stdout.write(self.get_help(ctx) + "\n")
        return 2

    def get_help_option(self, ctx: click.Context) -> click.Option:  # noqa: ARG002
        """Return the option --help."""
        return _HELP

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        """Return the names in the order of the help."""
        return [name for names in self.panels.values() for name in names]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import and return a command; None where there is none of this name."""
        return self.load(cmd_name) if cmd_name in self.list_commands(ctx) else None

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Return the named command. Raises click.UsageError with the nearest names and all names."""
        known = self.list_commands(ctx)
        if args[0] not in known and not ctx.resilient_parsing and not args[0].startswith("-"):
            from difflib import get_close_matches

            near = " or ".join(repr(name) for name in get_close_matches(args[0], known))
            meant = f" Did you mean {near}?" if near else ""
            raise click.UsageError(f"No such command {args[0]!r}.{meant} There are: {', '.join(known)}", ctx)
        return super().resolve_command(ctx, args)

    def get_help(self, ctx: click.Context) -> str:
        """Return the help with a panel for each kind of command."""
        return help_text(self, ctx)


def help_text(command: click.Command, ctx: click.Context, width: int | None = None) -> str:
    """Return a command's help in panels, as wide as the terminal.

    width: columns of a text without colours, for a file or a page.
    """
    from io import StringIO

    from rich.console import Console
    from rich.padding import Padding
    from rich.panel import Panel
    from rich.table import Table
    from rich.text import Text

    coloured = width is None and sys.stdout.isatty()
    out = Console(file=StringIO(), force_terminal=coloured, highlight=False, width=width)

    def panel(title: str, rows: list[tuple[str, ...]]) -> None:
        """Print rows: a mark, the name, its kind, what it is about; the columns that all rows leave empty
        are left out.
        """
        grid = Table.grid(padding=(0, 2, 0, 0), expand=True)
        columns = [column for column in range(4) if any(row[column] for row in rows)]
        for column in columns:
            styles = ("red", "bold cyan", "yellow", "")
            widest = out.width // 3 if column == 2 else None
            ratio = 1 if column == 3 else None
            grid.add_column(style=styles[column], ratio=ratio, max_width=widest, overflow="fold")
        for row in rows:
            grid.add_row(*(Text(row[column]) for column in columns))
        out.print(Panel(grid, title=title, title_align="left", border_style="dim"))

    out.print(Padding(Text(command.get_usage(ctx)), 1))
    for paragraph in paragraphs(command):
        out.print(Padding(Text(paragraph), (0, 1, 1, 1)))
    for title, rows in parameter_rows(command, ctx).items():
        panel(title, rows)
    if isinstance(command, CommandGroup):
        for title, names in command.panels.items():
            if names:
                each = ((name, command.load(name)) for name in names)
                panel(title, [("", name, "", paragraphs(one)[0]) for name, one in each])
    if command.epilog:
        out.print(Padding(Text(command.epilog), 1))
    lines = out.file.getvalue().splitlines()  # type: ignore[attr-defined]
    return "\n".join(line.rstrip() for line in lines).rstrip() + "\n"


def paragraphs(command: click.Command) -> list[str]:
    """Return the paragraphs of a command's help, each as one line."""
    return [" ".join(each.split()) for each in (command.help or "").split("\n\n")]


def parameter_rows(command: click.Command, ctx: click.Context) -> dict[str, list[tuple[str, ...]]]:
    """Return mark, name, kind and description of each parameter by panel."""
    found: dict[str, list[tuple[str, ...]]] = {"Arguments": [], OPTIONS: []}
    derived = command.own if isinstance(command, CommandGroup) else command
    described = parameters(derived.options) if isinstance(derived, OptionsCommand) else ()
    for each in described:
        if not each.described.hidden:
            found.setdefault(each.described.panel, []).append(_row(each))
    names = {each.name for each in described}
    for param in command.get_params(ctx):
        if isinstance(param, click.Option) and param.name not in names:
            found[OPTIONS].append(("", ", ".join(param.opts), "", param.help or ""))
    return {title: rows for title, rows in found.items() if rows}


def _row(each: Parameter) -> tuple[str, str, str, str]:
    described = each.described
    notes = []
    if described.least is not None or described.most is not None:
        low = "" if described.least is None else f"{described.least:g} ≤ "
        high = "" if described.most is None else f" ≤ {described.most:g}"
        notes.append(f"[{low}value{high}]")
    shown = described.default_text or _default_text(each)
    notes += ["[required]"] if each.required else [f"[default: {shown}]"] if shown else []
    about = " ".join((described.about, *notes)).strip()
    mark = "*" if each.required else ""
    if not each.flags:
        return mark, described.metavar, "", about
    return mark, ", ".join(each.flags), "" if each.kind is bool else kind_text(each), about


def _default_text(each: Parameter) -> str:
    value = each.default
    if each.required or value is None or value is False or value == () or value == "" or value == Path():
        return ""
    if value is True:
        return each.flags[0].partition("/")[0].lstrip("-")
    if isinstance(value, tuple):
        return " ".join(map(str, value))
    if isinstance(value, float):
        return f"{value:g}"
    return str(_word(value))


def kind_text(each: Parameter) -> str:
    """Return the placeholder of an option's value: its own, its choices or its type."""
    if each.described.metavar:
        return each.described.metavar
    kind = _type(each)
    if isinstance(kind, click.Choice):
        return f"<{'|'.join(kind.choices)}>"
    return {Path: "PATH", int: "INTEGER", float: "NUMBER"}.get(each.kind, "TEXT")
