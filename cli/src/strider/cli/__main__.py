"""The strider command: one word per thing that a person does with a crawler.

This module only gathers the words. What each does stands in the file of its name; what they have in
common is said here once: exit codes (0 done, 1 a finding or a failure, 2 wrong usage or settings,
3 something is not reachable or missing) and no tracebacks for what is not a bug.
"""

from __future__ import annotations

from importlib.metadata import version
from typing import Annotated

import typer

from . import migrate, schemas, stack, topics

app = typer.Typer(
    name="strider",
    help="A web crawler that walks on streams.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.add_typer(topics.app, name="topics", help="Create, compare and read topics.")
app.add_typer(schemas.app, name="schemas", help="Check and show the event schemas.")
app.add_typer(migrate.app, name="migrate", help="Move the database schema up and down.")
stack.register(app)


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


def main() -> None:
    """Run the command line."""
    app()


if __name__ == "__main__":
    main()
