"""The words of the strider command: one per thing that a person does with a crawler.

This module only gathers the words; what each does stands in the file that WORDS names, which is read
when the word is said, so that no word waits for the libraries of another. What they have in common:
exit codes (0 done, 1 a finding or a failure, 2 wrong usage or settings, 3 something is not reachable
or missing) and no tracebacks for what is not a bug.
"""

from __future__ import annotations

from importlib import import_module
from importlib.metadata import version
from typing import Annotated, Any, Final

import typer
from typer.core import TyperGroup

from strider.runtime.settings.validation_messages import strip_prefixes, validation_message

from .streams import carry_out, open_streams

WORDS: Final = {
    "crawl": "crawl",
    "fetch": "fetch",
    "robots": "robots",
    "proxies": "proxies",
    "up": "stack",
    "down": "stack",
    "status": "stack",
    "logs": "stack",
    "seeds": "seeds",
    "sources": "sources",
    "crawls": "crawls",
    "hosts": "hosts",
    "explain": "explain",
    "frontier": "frontier",
    "topics": "topics",
    "schemas": "schemas",
    "migrate": "migrate",
    "why": "why",
    "parse": "parse",
    "parser": "parser",
}
"""Word → file of this package that says what it does."""


class Words(TyperGroup):
    """The words, each read from its file when it is needed."""

    def list_commands(self, ctx: Any) -> list[str]:  # noqa: ARG002  # the library's shape
        """Name them in the order of a first day."""
        return list(WORDS)

    def invoke(self, ctx: Any) -> Any:
        """Do what was said; what is wrong with an option is told without the words of who has checked it."""
        try:
            return super().invoke(ctx)
        except typer.BadParameter as wrong:
            # What typer checks a value with has said more than the sentence that typer takes over.
            problems: list[Any] = getattr(wrong.__cause__, "errors", list)()
            wrong.message = validation_message(problems[0]) if problems else strip_prefixes(wrong.message)
            raise

    def get_command(self, ctx: Any, cmd_name: str) -> Any:  # noqa: ARG002  # the library's shape
        """Read a word's file; None for a word that there is not."""
        if cmd_name not in WORDS:
            return None
        app: typer.Typer = import_module(f"strider.cli.{WORDS[cmd_name]}").app
        command: Any = typer.main.get_group(app)
        if cmd_name in command.commands:
            return command.commands[cmd_name]
        command.name = cmd_name
        return command


app = typer.Typer(
    name="strider",
    cls=Words,
    help="A web crawler that walks on streams.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"strider {version('strider-cli')}")
        raise typer.Exit


@app.callback()
def root(
    _version: Annotated[
        bool, typer.Option("--version", help="Print the version.", callback=_print_version, is_eager=True)
    ] = False,
) -> None:
    """A web crawler that walks on streams."""


def run() -> None:
    """Run the command line; neither what a terminal cannot show nor a stream that fails is a traceback."""
    open_streams()
    carry_out(app)
