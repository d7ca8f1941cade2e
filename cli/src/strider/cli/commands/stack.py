"""strider up, down, status, logs: the local stack of servers and services.

Prints what `strider.localstack` does. Exit code 1: the stack did not become ready, or does not run.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any, Final, TypeVar

import typer

from strider.cli.arguments import unknown_name
from strider.cli.exit_codes import CommandExit
from strider.cli.options import AsJson, Yes
from strider.cli.output import (
    confirm,
    fail,
    print_fields,
    print_json,
    print_styled,
    print_table,
    print_text,
    styled,
)
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
from strider.localstack.plan.endpoints import mask_secrets
from strider.localstack.plan.services import find_services, setting_digests
from strider.localstack.process.orphans import state_from_pid_files, surviving_state
from strider.localstack.stack_state import (
    FAILING,
    NOT_READY,
    READY,
    REFUSED,
    SERVERS,
    STARTING,
    STOPPED,
    WAITING,
    DesiredState,
    InvalidDesiredState,
    StackState,
    UnknownPart,
    parse_only,
    parse_scale,
    read_state,
)
from strider.runtime.settings.loader import SettingsError

T = TypeVar("T")

LOG_NAME_COLUMNS: Final = 12
"""Width of the name before a log line; lines of a followed log cannot be aligned as a table."""

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
REWRITE_SECONDS: Final = 3.0
"""Longest time in which a supervisor writes its state again."""
NO_ENDPOINTS: Final = dict.fromkeys((*SERVERS, "api"))
"""Endpoints of a stack that does not run."""
STATE_STYLES: Final = {READY: "green", NOT_READY: "yellow", FAILING: "bold red", REFUSED: "bold red"}


app = typer.Typer(context_settings={"help_option_names": ["-h", "--help"]})


ShowSecrets = Annotated[
    bool, typer.Option("--show-secrets", help="Print passwords in addresses instead of a mask.")
]


@app.command()
def up(  # noqa: PLR0917  # options, which are given by name
    only: Annotated[str, typer.Option(help="Only these servers and services, such as kafka,postgres.")] = "",
    scale: Annotated[
        list[str] | None,
        typer.Option(help="Run N copies of a service, such as fetcher=2; repeatable.", metavar="NAME=N"),
    ] = None,
    examples: Annotated[bool, typer.Option("--examples", help="Run the example services too.")] = False,
    timeout: Annotated[float, typer.Option(help="Seconds to wait until everything is ready.", min=1)] = 90.0,
    wait: Annotated[bool, typer.Option("--wait/--no-wait", help="Wait until everything is ready.")] = True,
    attach: Annotated[
        bool, typer.Option("--attach", help="Print the logs; Ctrl-C stops everything.")
    ] = False,
    show_secrets: ShowSecrets = False,
) -> None:
    """Start Kafka, PostgreSQL, Valkey and all services on this machine; safe to repeat."""
    home = _home()
    request = _parse_request(only, scale or [], examples=examples)
    raised = _run(lambda: start_stack(home, os.environ, options=request, report=_note))
    if wait or attach:
        _await_ready(home, raised, seconds=timeout, show_secrets=show_secrets)
    else:
        _note("starting; see: strider status")
    if not raised.has_contact and raised.desired.copies("fetcher", example=False):
        _note(
            "STRIDER_CONTACT (URL or mail address for site owners) is not set: only loopback is crawled, "
            "with STRIDER_ALLOW_PRIVATE=true"
        )
    if attach:
        _attach(home)


@app.command()
def down(
    wipe: Annotated[bool, typer.Option("--wipe", help="Delete data and logs too.")] = False,
    yes: Yes = False,
) -> None:
    """Stop what `strider up` started, and nothing else; data is kept."""
    if wipe:
        confirm(f"Delete all data and logs in {_home().root}? This cannot be undone.", is_confirmed=yes)
    _stop(wipe=wipe)


def _stop(*, wipe: bool = False) -> None:
    began = time.monotonic()
    ended = _run(lambda: stop_stack(_home(), wipe=wipe))
    if ended is None:
        _note("nothing is running" + (" (data and logs are deleted)" if wipe else ""))
        return
    names = ", ".join(each.name for each in ended)
    _note(
        f"stopped {names or 'the stack'} in {time.monotonic() - began:.1f} s"
        + (", data and logs deleted" * wipe)
    )


@app.command()
def status(as_json: AsJson = False, show_secrets: ShowSecrets = False) -> None:
    """Show the endpoints, and the state of every server and service."""
    home = _home()
    running = is_locked(home.supervisor_lock)
    state = _readable_state(home) if running else read_state(home.state)
    if not running:
        state = state_from_pid_files(home) if state is None else surviving_state(state)
    state = state and _shown_state(state, show_secrets=show_secrets)
    if as_json:
        print_json(_state_json(state, running=running), indent=1)
    elif state is None or (not running and not _survivors(state)):
        _note("nothing is running; start it with: strider up")
    else:
        _print_state(state, running=running)
    healthy = running and state is not None and state.state == READY
    raise typer.Exit(CommandExit.DONE if healthy else CommandExit.FAILED)


@app.command()
def logs(
    names: Annotated[list[str] | None, typer.Argument(help="Servers or services (default: all).")] = None,
    follow_on: Annotated[bool, typer.Option("-f", "--follow", help="Keep printing new lines.")] = False,
    count: Annotated[
        int, typer.Option("-n", "--lines", help="Number of last lines of each process.", min=0)
    ] = 20,
    raw: Annotated[bool, typer.Option("--raw", help="Print structured lines unchanged.")] = False,
) -> None:
    """Print the logs of the processes, each line with the name of its process."""
    home = _home()
    wanted = set(names or ())
    files = _log_files(home)
    if missing := wanted - files.keys():
        fail(unknown_name("log", min(missing), files), CommandExit.USAGE)
    if not (follow_on or files):
        fail("no logs: nothing was started here; start it with: strider up", CommandExit.FAILED)
    find = _finder(home, wanted)
    for line in last_lines(find(), count):
        _print_line(line, raw=raw)
    if follow_on:
        try:
            for line in follow(find):
                _print_line(line, raw=raw)
        except KeyboardInterrupt:
            raise typer.Exit(CommandExit.INTERRUPTED) from None


def _home() -> StackDirectory:
    return find_stack_directory(os.environ, Path.cwd())


def _parse_request(only: str, scale: list[str], *, examples: bool) -> StartOptions:
    services = {kind.name for kind in find_services()}
    try:
        names = parse_only(only, {*SERVERS, *services}) if only else None
        return StartOptions(only=names, examples=examples, scale=parse_scale(scale, services))
    except UnknownPart as unknown:
        fail(unknown_name("server or service", unknown.name, unknown.known), CommandExit.USAGE)
    except InvalidDesiredState as failure:
        fail(str(failure), CommandExit.USAGE)


def _run(work: Callable[[], T]) -> T:
    try:
        return work()
    except SettingsError as failure:
        fail(str(failure), CommandExit.USAGE)
    except SetupFailure as failure:
        fail(str(failure), CommandExit.UNAVAILABLE)
    except (StackBusy, StackNotReady, StackStopped) as failure:
        fail(str(failure), CommandExit.FAILED)


def _await_ready(home: StackDirectory, raised: StackStart, *, seconds: float, show_secrets: bool) -> None:
    began = time.monotonic()
    shown: dict[str, str] = {}

    def show(state: StackState) -> None:
        for each in state.processes:
            if shown.get(each.name) != each.state and each.state not in (WAITING, STARTING):
                _note(f"{time.monotonic() - began:.1f} s  {each.name}: {each.state} {each.reason}".rstrip())
            shown[each.name] = each.state

    quiet = raised.was_running and not raised.has_changed
    digests = setting_digests(os.environ, find_services())
    state = _run(
        lambda: wait_ready(
            home, desired=raised.desired, seconds=seconds, on_change=(lambda _: None) if quiet else show
        )
    )
    _print_state(_shown_state(state, show_secrets=show_secrets), running=True)
    differing = state.changed_settings(digests) if raised.was_running else ()
    _note("already up; nothing changed" if quiet else f"up in {time.monotonic() - began:.1f} s")
    for hint in difference_hints(raised.desired, differing):
        _note(hint)


def difference_hints(desired: DesiredState, differing: Sequence[str]) -> Iterator[str]:
    """Yield what runs otherwise than a command without options in this shell would start it."""
    if differing:
        yield (
            f"the stack was started with other settings ({', '.join(differing)}), which stay in effect; "
            "to apply those of this shell: strider down, then strider up"
        )
    if none := sorted(name for name, copies in desired.scale.items() if not copies):
        again = " ".join(f"--scale {name}=1" for name in none)
        yield f"scaled to no copies: {', '.join(none)}; to start them: strider up {again}"


def _attach(home: StackDirectory) -> None:
    find = _finder(home, set())
    try:
        for line in follow(find, is_over=lambda: not is_locked(home.supervisor_lock)):
            _print_line(line, raw=False)
    except KeyboardInterrupt:
        _note("stopping …")
        _stop()
        return
    fail("the stack has stopped", CommandExit.FAILED)


def _shown_state(state: StackState, *, show_secrets: bool) -> StackState:
    """Return a state with the secrets in its endpoints masked, unless they are to be shown."""
    if show_secrets:
        return state
    masked = {name: address and mask_secrets(address) for name, address in state.endpoints.items()}
    return replace(state, endpoints=masked)


def _print_state(state: StackState, *, running: bool) -> None:
    print_fields({name: address for name, address in state.endpoints.items() if address})
    print_text()
    rows = [
        (
            each.name,
            styled((each.state, STATE_STYLES.get(each.state, ""))),
            str(each.pid) if each.pid else "-",
            _age(each.since),
            str(each.restarts),
            each.reason,
        )
        for each in state.processes
    ]
    print_table(("name", "state", "pid", "since", "restarts", "reason"), rows, wrapped=("reason",))
    if not running:
        _note("the supervisor has died: `strider up` adopts its processes, `strider down` stops them")


def _state_json(state: StackState | None, *, running: bool) -> dict[str, Any]:
    if state is None:
        return {"state": STOPPED, "supervisor": None, "endpoints": NO_ENDPOINTS, "processes": []}
    whole = state.state if running else ("orphaned" if _survivors(state) else STOPPED)
    fields = asdict(state)
    fields["endpoints"] = NO_ENDPOINTS if whole == STOPPED else {**NO_ENDPOINTS, **fields["endpoints"]}
    keep = ("supervisor", "since", "message", "endpoints", "processes")
    return {"state": whole, **{name: fields[name] for name in keep}}


def _readable_state(home: StackDirectory) -> StackState | None:
    """Read the state of a running supervisor, which soon replaces a damaged file."""
    until = time.monotonic() + REWRITE_SECONDS
    while (state := read_state(home.state)) is None and time.monotonic() < until:
        time.sleep(POLL_SECONDS)
    return state


def _survivors(state: StackState) -> bool:
    """Whether a process still runs, in a state from which dead processes were removed."""
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


def _print_line(line: LogFileLine, *, raw: bool) -> None:
    colour = COLOURS[sum(line.name.encode()) % len(COLOURS)]
    text = line.text if raw else format_line(line.text)
    print_styled((line.name.ljust(LOG_NAME_COLUMNS), colour), f" {text}")


def _note(line: str) -> None:
    print_text(line, flush=True)
