"""The root command: connection options, and one module of `commands` per command.

A command's module is imported when the command is used, so that no command waits for the libraries of
another. The exit codes of all commands are in `exit_codes`; what is not a bug never prints a traceback.
"""

from __future__ import annotations

import os
from importlib import import_module
from importlib.metadata import version
from pathlib import Path
from typing import Annotated, Any, Final

import typer
from typer.core import TyperGroup

from .arguments import unknown_name
from .connections import KAFKA, POSTGRES, REDIS, override_environment
from .exit_codes import CommandExit
from .output import fail, print_text
from .profiles import ProfileError, find_profiles, load_profile
from .stdio import open_streams, run_command
from .usage import refuse_empty_values, reported_usage

COMMANDS: Final = {
    "crawl": "crawl",
    "fetch": "fetch",
    "robots": "robots",
    "parse": "parse",
    "parser": "parser",
    "proxies": "proxies",
    "doctor": "doctor",
    "up": "stack",
    "down": "stack",
    "status": "stack",
    "logs": "stack",
    "token": "token",
    "seeds": "seeds",
    "sources": "sources",
    "jobs": "jobs",
    "scheduler": "scheduler",
    "specs": "specs",
    "runs": "runs",
    "hosts": "hosts",
    "why": "why",
    "explain": "explain",
    "frontier": "frontier",
    "topics": "topics",
    "schemas": "schemas",
    "migrate": "migrate",
    "exit-codes": "exit_codes",
}
"""Command → module of `commands` that implements it, in the order of the help text."""

ALIASES: Final = {"crawls": "runs"}
"""Former name → command; it works and is not listed."""


class LazyCommands(TyperGroup):
    """The commands, each imported from its module when it is used."""

    def __init__(self, **attributes: Any) -> None:
        super().__init__(**attributes)
        refuse_empty_values(self)

    def list_commands(self, ctx: Any) -> list[str]:  # noqa: ARG002  # the library's signature
        """Return the commands in the order of the help text."""
        return list(COMMANDS)

    def get_params(self, ctx: Any) -> list[Any]:
        """Return the options; flags are shown without a type."""
        return _without_flag_types(super().get_params(ctx))

    def make_context(self, *args: Any, **options: Any) -> Any:
        """Parse the options of the root command; invalid ones are reported as those of commands are."""
        with reported_usage():
            return super().make_context(*args, **options)

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Return the command of the first argument; an unknown one is refused with a suggestion."""
        name = args[0]
        if name not in COMMANDS and name not in ALIASES and not name.startswith("-"):
            fail(unknown_name("command", name, COMMANDS), CommandExit.USAGE)
        return super().resolve_command(ctx, args)

    def invoke(self, ctx: Any) -> Any:
        """Run the command; invalid arguments are reported in one line."""
        with reported_usage():
            return super().invoke(ctx)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """Import a command; None for an unknown name."""
        name = ALIASES.get(cmd_name, cmd_name)
        if name not in COMMANDS:
            return None
        app: typer.Typer = import_module(f"strider.cli.commands.{COMMANDS[name]}").app
        command: Any = typer.main.get_group(app)
        command = command.commands.get(name, command)
        command.name = name
        _hide_flag_types(command, ctx)
        refuse_empty_values(command)
        return command


def _hide_flag_types(command: Any, ctx: Any) -> None:
    """Show no type behind the flags of a command and of its subcommands."""
    _without_flag_types([*command.params, command.get_help_option(ctx)])
    for inner in getattr(command, "commands", {}).values():
        _hide_flag_types(inner, ctx)


def _without_flag_types(params: list[Any]) -> list[Any]:
    for param in params:
        if getattr(param, "is_flag", False):
            param.metavar = ""
    return params


app = typer.Typer(
    name="strider",
    cls=LazyCommands,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _print_version(is_wanted: bool) -> None:
    if is_wanted:
        print_text(f"strider {version('strider-cli')}")
        raise typer.Exit


def _profile_variables(profile: str) -> dict[str, str]:
    try:
        return load_profile(profile, os.environ, Path.cwd())
    except ProfileError as failure:
        fail(str(failure), CommandExit.USAGE)


@app.callback()
def root(
    ctx: typer.Context,
    kafka: Annotated[
        str, typer.Option("--kafka", metavar="HOST:PORT", help="Kafka brokers; else KAFKA_BOOTSTRAP_SERVERS.")
    ] = "",
    postgres: Annotated[
        str, typer.Option("--postgres", metavar="DSN", help="PostgreSQL; else POSTGRES_DSN.")
    ] = "",
    redis: Annotated[
        str, typer.Option("--redis", metavar="URL", help="Redis or Valkey; else REDIS_URL.")
    ] = "",
    profile: Annotated[
        str, typer.Option("--profile", metavar="NAME", help="Variables of .strider/profiles.toml; see above.")
    ] = "",
    _version: Annotated[
        bool, typer.Option("--version", help="Print the version.", callback=_print_version, is_eager=True)
    ] = False,
) -> None:
    """Crawl the web: in one process, or with services on Kafka.

    Addresses come from the options before the command, else from the profile, else from the environment,
    else from the local stack that `strider up` has started.

    A profile is a table of variables in .strider/profiles.toml of this folder or of one above it, or in
    ~/.config/strider/profiles.toml: a line with the name in brackets, then lines such as
    KAFKA_BOOTSTRAP_SERVERS = "kafka.example:9092".

    Exit codes are the same for every command: strider exit-codes.
    """
    variables = _profile_variables(profile) if profile else {}
    place = find_profiles(os.environ, Path.cwd())
    sources = {name: f"{name} of profile {profile} in {place}" for name in variables}
    for server, value in ((KAFKA, kafka), (POSTGRES, postgres), (REDIS, redis)):
        if value:
            variables[server.variable] = value
            sources[server.variable] = server.option
    ctx.with_resource(override_environment(variables, sources))


def run() -> None:
    """Run the command line of this process."""
    open_streams()
    run_command(app)
