"""strider parse: what the parser sees on a page, or on many.

Says which options there are. Exit codes: 0 every page was read, 1 one was not (its outcome says why),
2 wrong usage or a file that cannot be read.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from .options import AllowPrivate, Contact

app = typer.Typer(add_completion=False)


@app.command()
def parse(  # noqa: PLR0917  # each is an option
    page: Annotated[
        str, typer.Argument(help="A file (- for standard input, .gz as well), or a URL.", metavar="FILE|URL")
    ] = "",
    url: Annotated[str, typer.Option("--url", help="Where a file's page comes from.")] = "",
    as_json: Annotated[bool, typer.Option("--json", help="Everything, as one JSON object.")] = False,
    listed: Annotated[
        Path | None,
        typer.Option(
            "--list", help='Many: lines such as {"file": "a.html", "url": "https://…"}; - for stdin.'
        ),
    ] = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="File to write; without it standard output.")
    ] = None,
    workers: Annotated[int, typer.Option(min=0, max=256, help="Processes for --list; 0: all cores.")] = 0,
    content_type: Annotated[
        str, typer.Option("--content-type", help="Content-Type that the page came with.")
    ] = "",
    contact: Contact = "",
    allow_private: AllowPrivate = False,
) -> None:
    """Show everything that the parser sees on a page."""
    # Only now: whoever asks for --help does not wait for the services.
    from .parsing.running import Asked, carry_out  # noqa: PLC0415

    asked = Asked(
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
    raise typer.Exit(carry_out(asked))
