"""Options that several commands have, written once: the same name means the same everywhere."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer


class Extract(StrEnum):
    """How much of a page."""

    BASIC = "basic"
    MAIN = "main"
    RECORDS = "records"


Bootstrap = Annotated[
    str, typer.Option(help="Brokers, host:port; else KAFKA_BOOTSTRAP_SERVERS, else the local stack's.")
]
AsJson = Annotated[bool, typer.Option("--json", help="As JSON.")]
AsJsonLines = Annotated[bool, typer.Option("--json", help="One JSON object a line.")]


def _said(ctx: typer.Context, param: typer.CallbackParam, value: str) -> str:
    """Refuse what was said to be nothing: a variable of a script that is empty, and no wish."""
    source = ctx.get_parameter_source(param.name or "")
    if not value.strip() and source is not None and source.name == "COMMANDLINE":
        raise typer.BadParameter("is empty; leave it out, or name a URL or mail address")
    return value


Contact = Annotated[str, typer.Option(help="URL or mail address of whom sites may write to.", callback=_said)]
UserAgent = Annotated[str, typer.Option(help="User-Agent to send instead of ours.")]
AllowPrivate = Annotated[
    bool, typer.Option("--allow-private", help="Ask loopback and private addresses too.")
]
Headers = Annotated[
    list[str] | None, typer.Option("--header", "-H", help="'Name: value' to send; may be repeated.")
]
