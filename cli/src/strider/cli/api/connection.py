"""The API of a command: its address, its token, and the ends of a command that it causes.

Address and token come from the options of the command, else from the profile or the environment, else from
the local stack that runs here.
"""

from __future__ import annotations

import getpass
import os
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final

import typer

from strider.cli.api.job_views import commands_text
from strider.cli.connections import POSTGRES, STACK_HINT, Server, at_source, find_address
from strider.cli.exit_codes import CommandExit
from strider.cli.output import fail

if TYPE_CHECKING:
    # The HTTP library takes a tenth of a second to import; --help waits for none.
    from strider.client import RequestProblem, StriderClient, TransitionProblem

URL_VARIABLE: Final = "STRIDER_API_URL"
TOKEN_VARIABLE: Final = "STRIDER_API_CLIENT_TOKEN"  # noqa: S105  # the name of a variable
TOKEN_SECONDS: Final = 300
"""Lifetime of a token of the local stack; a command that takes longer makes another one."""
API: Final = Server("The API", "--url", URL_VARIABLE, "api", ("http", "https"))


@contextmanager
def open_api(
    url: str = "", token: str = "", *, options: Mapping[str, str] | None = None
) -> Iterator[StriderClient]:
    """Open the API; what it refuses ends the command with one line.

    `options` has the option of the command for each field of a request, for the message about a refused one.
    """
    from strider.client import (  # noqa: PLC0415  # as above
        ApiProblem,
        ApiUnreachable,
        AuthenticationProblem,
        ClientError,
        ClientOptions,
        RequestProblem,
        StriderClient,
        TransitionProblem,
    )

    address, secret, is_own_stack = _address_and_token(url, token)
    access = ClientOptions(address, secret, renew=local_stack_token if is_own_stack else None)
    try:
        with StriderClient("", options=access) as client:
            yield client
    except ApiUnreachable as failure:
        fail(f"{failure}; is it running? Check with: strider doctor", CommandExit.UNAVAILABLE)
    except AuthenticationProblem as failure:
        fail(f"the API refuses the token: {failure}; give --token or set {TOKEN_VARIABLE}", CommandExit.USAGE)
    except RequestProblem as failure:
        fail(_refusal_text(failure, options or {}), CommandExit.USAGE)
    except TransitionProblem as failure:
        fail(_transition_text(failure), CommandExit.FAILED)
    except ApiProblem as failure:
        fail(str(failure), CommandExit.FAILED)
    except ClientError as failure:
        fail(at_source(f"{'--url' if url else URL_VARIABLE}: {failure}"), CommandExit.USAGE)
    except KeyboardInterrupt:
        raise typer.Exit(CommandExit.INTERRUPTED) from None


def uses_api(url: str, dsn: str) -> bool:
    """Whether a command that can do without the API goes through it; what is named is before the stack."""
    if dsn:
        return False
    if url or os.environ.get(URL_VARIABLE):
        return True
    return not os.environ.get(POSTGRES.variable) and bool(find_address(API))


def _address_and_token(url: str, token: str) -> tuple[str, str, bool]:
    """Return address and token, and whether the token is that of the local stack, and can be renewed."""
    own_address = find_address(API)
    address = url or os.environ.get(URL_VARIABLE, "") or own_address
    if not address:
        fail(
            f"no address of the API is known: give --url, set {URL_VARIABLE}, or {STACK_HINT}",
            CommandExit.USAGE,
        )
    given = token or os.environ.get(TOKEN_VARIABLE, "")
    if given or address != own_address:
        return address, given, False
    return address, local_stack_token(), True


def local_stack_token() -> str:
    """Return a token for the API of the local stack; empty where its secret cannot be read."""
    from strider.localstack.directories import find_stack_directory  # noqa: PLC0415  # as above
    from strider.localstack.plan.stack_keys import JWT_SECRET  # noqa: PLC0415
    from strider.runtime.access_tokens import Caller, Role, issue_token  # noqa: PLC0415

    secret = JWT_SECRET.read(find_stack_directory(os.environ, Path.cwd()))
    if not secret:
        return ""
    caller = Caller(getpass.getuser(), Role.ADMIN)
    return issue_token(secret, caller, now_seconds=time.time(), lifetime_seconds=TOKEN_SECONDS)


def _transition_text(failure: TransitionProblem) -> str:
    """Return why an action is refused, with the commands that are possible instead."""
    if not failure.allowed:
        return str(failure)
    reason = str(failure).partition(";")[0]
    return f"{reason}; possible now: {commands_text(failure.allowed)}"


def _refusal_text(failure: RequestProblem, options: Mapping[str, str]) -> str:
    """Return why a request was refused, each field under the option that sets it."""
    if not failure.faults:
        return str(failure)
    return "; ".join(f"{options.get(fault.field, fault.field)}: {fault.detail}" for fault in failure.faults)
