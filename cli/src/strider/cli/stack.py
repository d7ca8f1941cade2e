"""strider up, down, status, logs: the real local stack from the command line.

Prints what `strider.localstack` decides and does. Exit codes: 0 done, 1 it did not come up or
nothing runs, 2 words that name nothing, 3 something is missing on this machine.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any, Final, NoReturn, TypeVar

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from strider.localstack.commands import (
    POLL_SECONDS,
    StackStart,
    StackStopped,
    StartOptions,
    start_stack,
    stop_stack,
    wait_ready,
)
from strider.localstack.directories import StackDirectory, find_stack_directory, is_locked
from strider.localstack.errors import SetupFailure, StackBusy, StackNotReady
from strider.localstack.logs import LogFileLine, follow, format_line, last_lines
from strider.localstack.plan.desired_state import SERVERS, InvalidDesiredState, parse_only, parse_scale
from strider.localstack.plan.services import find_services
from strider.localstack.process.orphans import state_from_pid_files, surviving_state
from strider.localstack.stack_state import (
    FAILING,
    NOT_READY,
    READY,
    REFUSED,
    STARTING,
    STOPPED,
    WAITING,
    StackState,
    read_state,
)
from strider.runtime.settings.loader import SettingsError

T = TypeVar("T")

EXIT_FAILED: Final = 1
EXIT_USAGE: Final = 2
EXIT_MISSING: Final = 3
COLOURS: Final = (
    "cyan",
    "green",
    "magenta",
    "yellow",
    "blue",
    "bright_cyan",
    "bright_green",
    "bright_magenta",
)
REWRITING_SECONDS: Final = 3.0
"""More than the turns of a supervisor take."""
NOWHERE: Final = dict.fromkeys((*SERVERS, "api"))
"""The endpoints of a stack that does not run."""
LOUD: Final = {READY: "green", NOT_READY: "yellow", FAILING: "bold red", REFUSED: "bold red"}


app = typer.Typer(context_settings={"help_option_names": ["-h", "--help"]})


@app.command()
def up(  # noqa: PLR0917  # typer reads the options from here
    only: Annotated[str, typer.Option(help="Only these parts and services: kafka,postgres")] = "",
    scale: Annotated[
        list[str] | None, typer.Option(help="Run N of a service: fetcher=2", metavar="NAME=N")
    ] = None,
    examples: Annotated[bool, typer.Option("--examples", help="Run the example services, too.")] = False,
    timeout: Annotated[float, typer.Option(help="Seconds to wait until all of it answers.", min=1)] = 90.0,
    wait: Annotated[bool, typer.Option(help="Wait until all of it answers.")] = True,
    attach: Annotated[
        bool, typer.Option("--attach", help="Stay, show the logs, stop all on Ctrl-C.")
    ] = False,
) -> None:
    """Start Kafka, PostgreSQL, Valkey and all services on this machine; safe to repeat."""
    home = _home()
    asked = _asked(only, scale or [], examples=examples)
    raised = _guarded(lambda: start_stack(home, os.environ, options=asked, report=_note))
    if wait or attach:
        _await_ready(home, raised, seconds=timeout)
    else:
        _note("starting; see: strider status")
    if not raised.has_contact and raised.desired.copies("fetcher", example=False):
        _note(
            "STRIDER_CONTACT is not set (whom may sites write to?): nothing but loopback is crawled, "
            "and that where STRIDER_ALLOW_PRIVATE=true"
        )
    if attach:
        _attach(home)


@app.command()
def down(
    wipe: Annotated[bool, typer.Option("--wipe", help="Remove data and logs as well.")] = False,
) -> None:
    """Stop what `strider up` started, and nothing else; data stays."""
    began = time.monotonic()
    ended = _guarded(lambda: stop_stack(_home(), wipe=wipe))
    if ended is None:
        _note("nothing is running" + (" (data and logs are removed)" if wipe else ""))
        return
    names = ", ".join(each.name for each in ended)
    _note(
        f"stopped {names or 'the stack'} in {time.monotonic() - began:.1f} s"
        + (", data and logs removed" * wipe)
    )


@app.command()
def status(
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON: endpoints and processes.")] = False,
) -> None:
    """Show where everything is, and how every part and service does."""
    home = _home()
    running = is_locked(home.supervisor_lock)
    state = _readable_state(home) if running else read_state(home.state)
    if not running:
        state = state_from_pid_files(home) if state is None else surviving_state(state)
    if as_json:
        print(json.dumps(_as_json(state, running=running), indent=1))
    elif state is None or (not running and not _survivors(state)):
        _note("nothing is running; start it by: strider up")
    else:
        _print_state(state, running=running)
    healthy = running and state is not None and state.state == READY
    raise typer.Exit(0 if healthy else EXIT_FAILED)


@app.command()
def logs(
    names: Annotated[
        list[str] | None, typer.Argument(help="Parts or services; all where none is named.")
    ] = None,
    follow_on: Annotated[bool, typer.Option("-f", "--follow", help="Go on with what is written.")] = False,
    count: Annotated[int, typer.Option("-n", "--lines", help="How many last lines of each.", min=0)] = 20,
    raw: Annotated[bool, typer.Option("--raw", help="Structured lines as they were written.")] = False,
) -> None:
    """Show what the processes write, each line with its writer's name."""
    home = _home()
    wanted = set(names or ())
    if missing := wanted - _log_files(home).keys():
        _fail(
            f"no log of {', '.join(sorted(missing))}; there are: {', '.join(_log_files(home)) or 'none'}",
            EXIT_USAGE,
        )
    console = _console()
    find = _finder(home, wanted)
    for line in last_lines(find(), count):
        _print_line(console, line, raw=raw)
    if follow_on:
        try:
            for line in follow(find):
                _print_line(console, line, raw=raw)
        except KeyboardInterrupt:
            raise typer.Exit(130) from None


def _home() -> StackDirectory:
    return find_stack_directory(os.environ, Path.cwd())


def _asked(only: str, scale: list[str], *, examples: bool) -> StartOptions:
    services = {kind.name for kind in find_services()}
    try:
        names = parse_only(only, {*SERVERS, *services}) if only else None
        return StartOptions(only=names, examples=examples, scale=parse_scale(scale, services))
    except InvalidDesiredState as failure:
        _fail(str(failure), EXIT_USAGE)


def _guarded(work: Callable[[], T]) -> T:
    try:
        return work()
    except SettingsError as failure:
        _fail(str(failure), EXIT_USAGE)
    except SetupFailure as failure:
        _fail(str(failure), EXIT_MISSING)
    except (StackBusy, StackNotReady, StackStopped) as failure:
        _fail(str(failure), EXIT_FAILED)


def _await_ready(home: StackDirectory, raised: StackStart, *, seconds: float) -> None:
    began = time.monotonic()
    shown: dict[str, str] = {}

    def show(state: StackState) -> None:
        for each in state.processes:
            if shown.get(each.name) != each.state and each.state not in (WAITING, STARTING):
                _note(f"{time.monotonic() - began:5.1f} s  {each.name}: {each.state} {each.reason}".rstrip())
            shown[each.name] = each.state

    quiet = raised.was_running and not raised.has_changed
    state = _guarded(
        lambda: wait_ready(
            home, desired=raised.desired, seconds=seconds, on_change=(lambda _: None) if quiet else show
        )
    )
    _print_state(state, running=True)
    _note("already up; nothing changed" if quiet else f"up in {time.monotonic() - began:.1f} s")


def _attach(home: StackDirectory) -> None:
    console = _console()
    find = _finder(home, set())
    try:
        for line in follow(find, is_over=lambda: not is_locked(home.supervisor_lock)):
            _print_line(console, line, raw=False)
    except KeyboardInterrupt:
        _note("stopping …")
        down()
        return
    _fail("the stack has ended", EXIT_FAILED)


def _print_state(state: StackState, *, running: bool) -> None:
    console = _console()
    for name, address in state.endpoints.items():
        if address:
            # On one line, whatever the width: addresses are there to be copied.
            console.print(Text.assemble((f"{name:<9} ", "bold"), address), soft_wrap=True)
    processes = Table(
        "name", "state", "pid", "since", "restarts", "why", box=None, header_style="bold", pad_edge=False
    )
    for each in state.processes:
        told = Text(each.state, style=LOUD.get(each.state, ""))
        pid = str(each.pid) if each.pid else "-"
        processes.add_row(each.name, told, pid, _age(each.since), str(each.restarts), Text(each.reason))
    console.print("", processes, sep="\n")
    if not running:
        _note("the supervisor is gone: `strider up` takes over what it left, `strider down` ends it")


def _as_json(state: StackState | None, *, running: bool) -> dict[str, Any]:
    if state is None:
        return {"state": STOPPED, "supervisor": None, "endpoints": NOWHERE, "processes": []}
    whole = state.state if running else ("orphaned" if _survivors(state) else STOPPED)
    told = asdict(state)
    told["endpoints"] = NOWHERE if whole == STOPPED else {**NOWHERE, **told["endpoints"]}
    keep = ("supervisor", "since", "message", "endpoints", "processes")
    return {"state": whole, **{name: told[name] for name in keep}}


def _readable_state(home: StackDirectory) -> StackState | None:
    """Read what a living supervisor says; a file that somebody else has spoilt it writes anew in a moment."""
    until = time.monotonic() + REWRITING_SECONDS
    while (state := read_state(home.state)) is None and time.monotonic() < until:
        time.sleep(POLL_SECONDS)
    return state


def _survivors(state: StackState) -> bool:
    """Whether anything runs, of a state in which no dead process has its number any more."""
    return any(each.pid for each in state.processes)


def _age(since: str) -> str:
    seconds = int((datetime.now(UTC) - datetime.fromisoformat(since)).total_seconds())
    for size, unit in ((86400, "d"), (3600, "h"), (60, "min")):
        if seconds >= size:
            return f"{seconds // size} {unit}"
    return f"{seconds} s"


def _log_files(home: StackDirectory) -> dict[str, Path]:
    return {path.stem: path for path in sorted((home.root / "logs").glob("*.log"))}


def _finder(home: StackDirectory, wanted: set[str]) -> Callable[[], Mapping[str, Path]]:
    return lambda: {name: path for name, path in _log_files(home).items() if not wanted or name in wanted}


def _print_line(console: Console, line: LogFileLine, *, raw: bool) -> None:
    colour = COLOURS[sum(line.name.encode()) % len(COLOURS)]
    text = line.text if raw else format_line(line.text)
    console.print(Text.assemble((f"{line.name:<12} ", colour), text), soft_wrap=True)


def _console() -> Console:
    return Console(highlight=False)


def _note(line: str) -> None:
    print(line, flush=True)


def _fail(line: str, code: int) -> NoReturn:
    print(f"strider: {line}", file=sys.stderr)
    raise typer.Exit(code)
