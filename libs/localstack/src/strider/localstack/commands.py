"""What `strider up`, `down` and `status` do, without a word printed.

A command decides under a lock and leaves a wish; the supervisor does the work. So two commands at
once, a command that is interrupted, and a supervisor that was killed are all the same case.
"""

from __future__ import annotations

import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final

from .directories import Home, hold, holder, is_held
from .errors import NotReady, StackFailure
from .plan.connections import common_settings
from .plan.desired_state import PARTS, Wish, merge, read_wish, write_wish
from .plan.endpoints import check_reachable, named_by_environment
from .process.child import Child, tail
from .process.identity import is_alive
from .process.orphans import end_orphans, find_orphans, forget
from .process.os_user import choose_account
from .servers.binaries import find_java, find_postgres, find_valkey
from .servers.cache import cache_directory
from .servers.kafka_jars import ensure_jars
from .stack_state import (
    FAILED,
    FAILING,
    READY,
    REFUSED,
    SETTLED,
    STOPPED,
    ProcessStatus,
    StackState,
    read_state,
    write_state,
)

LOOK_SECONDS: Final = 0.1
COMMAND_WAIT_SECONDS: Final = 150.0
"""The command before us may be fetching 45 MB."""
COMING_UP_SECONDS: Final = 45.0
"""Until a new supervisor holds its lock; beside much else even Python starts slowly."""
GOING_DOWN_SECONDS: Final = 60.0
"""More than the graces of all services and then of all servers."""


class StackStopped(StackFailure):
    """The stack was stopped, or gave up, while a command waited for it."""


@dataclass(frozen=True, slots=True)
class Asked:
    """What the command line of `up` said."""

    only: tuple[str, ...] | None = None
    examples: bool = False
    scale: Mapping[str, int] | None = None


@dataclass(frozen=True, slots=True)
class Raised:
    """What `up` found and did."""

    was_running: bool
    has_changed: bool
    wish: Wish
    has_contact: bool = True
    """Whether the services can tell sites whom to write to; without that only loopback is crawled."""


def bring_up(
    home: Home, environment: Mapping[str, str], *, asked: Asked, say: Callable[[str], None]
) -> Raised:
    """See that a supervisor lives and follows the wish; does not wait for readiness."""
    home.open()
    with hold(home.command_lock, wait_seconds=COMMAND_WAIT_SECONDS):
        running = is_held(home.supervisor_lock)
        kept = read_wish(home.wish)
        # What a stack was asked for ends when it is stopped in order, and outlives a killed supervisor.
        old = kept if running or not has_ended(read_state(home.state)) else None
        base = old or Wish(number=kept.number + 1 if kept else 1, only=asked.only)
        wish = merge(base, only=asked.only, examples=asked.examples, scale=asked.scale or {})
        settings = common_settings(environment)
        prepare(wish, environment, say=say)
        if old is None or wish != old:
            write_wish(home.wish, wish)
        if running:
            _nudge(home)
        else:
            _start_supervisor(home, environment)
    return Raised(running, wish != old, wish, has_contact=running or bool(settings.crawl.contact))


def prepare(wish: Wish, environment: Mapping[str, str], *, say: Callable[[str], None]) -> None:
    """Find or fetch all that the servers need, so that what is missing is said here and at once."""
    named = named_by_environment(environment)
    check_reachable(named, environment)
    wanted = [name for name in PARTS if wish.wants_part(name) and name not in named]
    if "postgres" in wanted:
        find_postgres()
        choose_account()
    if "redis" in wanted:
        find_valkey()
    if "kafka" in wanted:
        find_java()
        ensure_jars(cache_directory(environment), environment=environment, say=say)


def wait_ready(
    home: Home, *, wish: Wish, seconds: float, changed: Callable[[StackState], None]
) -> StackState:
    """Wait until everything that is wished for answers; NotReady names what does not."""
    until = time.monotonic() + seconds
    last: StackState | None = None
    while True:
        # Asked in this order: what a supervisor wrote before it ended is read after its end is seen.
        alive = is_held(home.supervisor_lock)
        state = read_state(home.state)
        if state is not None and state != last and _speaks_for_now(state, wish):
            last = state
            changed(state)
        if last is not None and last.state == READY:
            return last
        if last is not None and any(each.state in (FAILING, REFUSED) for each in last.processes):
            raise NotReady("the stack", _unsettled(last))
        if not alive:
            raise StackStopped(_why_over(home, state))
        if time.monotonic() >= until:
            raise NotReady("the stack", f"after {seconds:.0f} s, {_unsettled(last)}")
        time.sleep(LOOK_SECONDS)


def take_down(home: Home, *, wipe: bool = False) -> tuple[ProcessStatus, ...] | None:
    """End what this stack started; what was ended, or None where nothing ran."""
    if not home.root.exists():
        return None
    home.open()
    with hold(home.command_lock, wait_seconds=COMMAND_WAIT_SECONDS):
        before = read_state(home.state)
        ended = _end_supervisor(home)
        orphans = find_orphans(home, read_state(home.state))
        end_orphans(orphans)
        forget(home)
        _write_ended(home)
        if wipe:
            _wipe(home)
    if not ended and not orphans:
        return None
    lines = before.processes if before else ()
    return tuple(each for each in lines if each.pid and (ended or each.name in orphans))


def has_ended(state: StackState | None) -> bool:
    """Whether the last life of the stack ended in order, or there was none."""
    return state is None or state.state in (STOPPED, FAILED)


def _speaks_for_now(state: StackState, wish: Wish) -> bool:
    """Whether it is neither a killed supervisor's last word nor the answer to an older wish."""
    return state.supervisor is not None and is_alive(state.supervisor) and state.wish >= wish.number


def _start_supervisor(home: Home, environment: Mapping[str, str]) -> None:
    log = home.log("supervisor")
    with log.open("ab") as file:
        started = subprocess.Popen(  # noqa: S603  # this Python and a module of ours
            (sys.executable, "-P", "-m", "strider.localstack", "--home", str(home.root)),
            cwd=home.root,
            env=dict(environment),
            stdin=subprocess.DEVNULL,
            stdout=file,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    until = time.monotonic() + COMING_UP_SECONDS
    while not is_held(home.supervisor_lock):
        if started.poll() is not None or time.monotonic() >= until:
            raise StackStopped(f"the supervisor did not come up: {tail(log) or 'it said nothing'}")
        time.sleep(LOOK_SECONDS)


def _nudge(home: Home) -> None:
    """Ask for another try of what has given up."""
    state = read_state(home.state)
    if state and state.supervisor and any(each.state not in SETTLED for each in state.processes):
        Child(state.supervisor).signal(signal.SIGHUP)


def _end_supervisor(home: Home) -> bool:
    if not is_held(home.supervisor_lock):
        return False
    until = time.monotonic() + GOING_DOWN_SECONDS
    while is_held(home.supervisor_lock):
        if (identity := holder(home.supervisor_lock)) is not None:
            supervisor = Child(identity)
            supervisor.signal(signal.SIGTERM if time.monotonic() < until else signal.SIGKILL)
            supervisor.wait(max(until - time.monotonic(), LOOK_SECONDS))
        elif time.monotonic() >= until:
            raise NotReady("the supervisor", f"holds {home.supervisor_lock} and cannot be told from others")
        # A supervisor that has only just begun has not said its name yet.
        time.sleep(LOOK_SECONDS)
    return True


def _write_ended(home: Home) -> None:
    """Write what a killed supervisor could not: that its life is over, and its wish with it."""
    state = read_state(home.state)
    if state is None or has_ended(state):
        return
    since = datetime.now(UTC).isoformat(timespec="milliseconds")
    # All has ended by now, and a full disk does not change that; `status` sees by itself who lives.
    with suppress(OSError):
        write_state(home.state, StackState(STOPPED, since, ports=state.ports, wish=state.wish))


def _wipe(home: Home) -> None:
    """Remove data, logs and state, also where the data was placed elsewhere and is only linked to."""
    for place in (home.root / "data").iterdir():
        if place.is_symlink():
            shutil.rmtree(place.resolve(), ignore_errors=True)
    for folder in ("data", "logs"):
        shutil.rmtree(home.root / folder, ignore_errors=True)
    home.state.unlink(missing_ok=True)
    home.wish.unlink(missing_ok=True)


def _why_over(home: Home, state: StackState | None) -> str:
    if state and state.message:
        return state.message
    if state and state.state == STOPPED:
        return "the stack was stopped meanwhile"
    return f"the supervisor ended: {tail(home.log('supervisor')) or 'it said nothing'}"


def _unsettled(state: StackState | None) -> str:
    lines = [each for each in state.processes if each.state not in SETTLED] if state else []
    told = (f"{each.name} is {each.state}" + (f" ({each.reason})" if each.reason else "") for each in lines)
    return "; ".join(told) or "nothing was heard of it"
