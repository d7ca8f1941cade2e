"""Options of several commands, each declared once."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer


class ExtractionOption(StrEnum):
    """The extraction level of each page."""

    BASIC = "basic"
    MAIN = "main"
    RECORDS = "records"


Bootstrap = Annotated[
    str, typer.Option("--bootstrap", metavar="HOST:PORT", hidden=True, help="The same as strider --kafka.")
]
Dsn = Annotated[
    str, typer.Option("--dsn", metavar="DSN", hidden=True, help="The same as strider --postgres.")
]
ApiUrl = Annotated[
    str, typer.Option("--url", metavar="URL", help="The API; else STRIDER_API_URL, else the local stack's.")
]
ApiToken = Annotated[
    str,
    typer.Option("--token", metavar="TOKEN", help="Token of the API; else STRIDER_API_CLIENT_TOKEN."),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]
AsJsonLines = Annotated[bool, typer.Option("--json", help="Print one JSON object per line.")]
Yes = Annotated[
    bool, typer.Option("--yes", "-y", help="Do not ask for confirmation; required without a terminal.")
]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Print what would be done; change nothing.")]


Contact = Annotated[
    str,
    typer.Option(help="URL or mail address for site owners, part of the User-Agent."),
]
UserAgent = Annotated[str, typer.Option(help="User-Agent to send; default: ours with the contact.")]
AllowPrivate = Annotated[
    bool, typer.Option("--allow-private", help="Connect to loopback and private addresses too.")
]
Headers = Annotated[
    list[str] | None, typer.Option("--header", "-H", help="'Name: value' to send; repeatable.")
]
