"""strider parse: parse one page, or many, as the parser service does.

Exit code 1: a page could not be parsed; its outcome says why.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from strider.cli.options import AllowPrivate, Contact

app = typer.Typer(add_completion=False)


@app.command()
def parse(  # noqa: PLR0917  # options, which are given by name
    page: Annotated[
        str, typer.Argument(help="A file (- for standard input, .gz as well), or a URL.", metavar="FILE|URL")
    ] = "",
    url: Annotated[str, typer.Option("--url", help="URL of the page in a file.")] = "",
    as_json: Annotated[bool, typer.Option("--json", help="Print all fields as one JSON object.")] = False,
    listed: Annotated[
        Path | None,
        typer.Option(
            "--list", help='Many: lines such as {"file": "a.html", "url": "https://…"}; - for stdin.'
        ),
    ] = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="File to write; default: standard output.")
    ] = None,
    workers: Annotated[int, typer.Option(min=0, max=256, help="Processes for --list; 0: one per core.")] = 0,
    content_type: Annotated[
        str, typer.Option("--content-type", help="Content-Type header of the page in a file.")
    ] = "",
    contact: Contact = "",
    allow_private: AllowPrivate = False,
) -> None:
    """Print everything that the parser extracts from a page."""
    # --help waits for no service's libraries.
    from strider.cli.parse.command import ParseOptions, run_parse  # noqa: PLC0415

    options = ParseOptions(
        page=page,
        url=url,
        content_type=content_type,
        as_json=as_json,
        listed=listed,
        output=None if output == Path("-") else output,
        workers=workers,
        contact=contact,
        allow_private=allow_private,
    )
    raise typer.Exit(run_parse(options))
