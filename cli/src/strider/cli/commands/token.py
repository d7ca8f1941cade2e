"""strider token: print a token for the API.

Signs it with AUTH_JWT_SECRET, else with the secret of the local stack. Connects to nothing.
"""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Annotated, Final

import typer

from strider.cli.exit_codes import CommandExit
from strider.cli.options import AsJson
from strider.cli.output import fail, print_json, print_text
from strider.runtime.access_tokens import Caller, Role, is_subject, issue_token
from strider.runtime.settings.loader import SettingsError
from strider.runtime.settings.types import parse_duration

MAX_LIFETIME_SECONDS: Final = 366 * 86_400

app = typer.Typer(add_completion=False)


@app.command()
def token(
    role: Annotated[Role, typer.Option(help="What the token allows; an admin may do all.")] = Role.USER,
    lifetime: Annotated[
        str, typer.Option("--for", metavar="DURATION", help="How long it is valid: 30m, 1h, 7d.")
    ] = "1h",
    subject: Annotated[
        str, typer.Option(metavar="NAME", help="Name of the caller, for logs and idempotency keys.")
    ] = "",
    as_json: AsJson = False,
) -> None:
    """Print a token for the API: Authorization: Bearer $(strider token)."""
    from strider.cli.frontier.client import current_user  # noqa: PLC0415  # --help is fast

    caller = Caller(subject or current_user(), role)
    if not is_subject(caller.subject):
        fail("--subject: must be a name of 1 to 200 printable characters", CommandExit.USAGE)
    seconds, now = _seconds(lifetime), time.time()
    text = issue_token(_secret(), caller, now_seconds=now, lifetime_seconds=seconds)
    if as_json:
        print_json({"token": text, "sub": caller.subject, "role": role, "expires_in_seconds": seconds})
    else:
        print_text(text)


def _seconds(lifetime: str) -> float:
    try:
        seconds = float(parse_duration(lifetime))
    except ValueError as failure:
        fail(f"--for: {failure}", CommandExit.USAGE)
    if not 1 <= seconds <= MAX_LIFETIME_SECONDS:
        fail("--for: must be between 1s and 366d", CommandExit.USAGE)
    return seconds


def _secret() -> str:
    """Return the secret of the environment, else that of the local stack."""
    from strider.localstack.directories import find_stack_directory  # noqa: PLC0415  # as above
    from strider.localstack.plan.stack_keys import JWT_SECRET, configured_keys  # noqa: PLC0415

    try:
        named = configured_keys(os.environ)[JWT_SECRET.variable]
    except SettingsError as failure:
        fail(str(failure), CommandExit.USAGE)
    secret = named or JWT_SECRET.read(find_stack_directory(os.environ, Path.cwd()))
    if not secret:
        fail(f"no secret to sign with: set {JWT_SECRET.variable}, or run: strider up", CommandExit.USAGE)
    return secret
