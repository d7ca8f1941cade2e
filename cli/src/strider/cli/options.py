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

Contact = Annotated[str, typer.Option(help="URL or mail address of whom sites may write to.")]
UserAgent = Annotated[str, typer.Option(help="User-Agent to send instead of ours.")]
AllowPrivate = Annotated[
    bool, typer.Option("--allow-private", help="Ask loopback and private addresses too.")
]
Headers = Annotated[
    list[str] | None, typer.Option("--header", "-H", help="'Name: value' to send; may be repeated.")
]
