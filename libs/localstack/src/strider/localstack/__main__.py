"""The supervisor's process: `python -m strider.localstack --home DIRECTORY`. Nobody types that.

Takes over what an earlier supervisor left, then lives until it is told to end.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import sys
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from .directories import Home, hold
from .errors import Busy, StackFailure
from .plan.desired_state import Wish, read_wish
from .plan.services import find_services
from .plan.stack_plan import Composition
from .process.child import Child
from .process.orphans import end_orphans, find_orphans, forget
from .stack_state import FAILED, StackState, read_state, write_state
from .supervisor import Supervisor

EXIT_FAILED: Final = 3


def supervise(home: Home, environment: Mapping[str, str]) -> int:
    """Live as the supervisor of this stack; returns the exit code."""
    home.open()
    with hold(home.supervisor_lock):
        old = read_state(home.state)
        wish = read_wish(home.wish) or Wish()
        composition = Composition(home, environment, find_services(), dict(old.ports) if old else {})
        orphans = find_orphans(home, old)
        wanted = composition.wanted_parts(wish)
        adopted = {
            name: child
            for name, child in orphans.items()
            if name in wanted and composition.remembers_ports(name)
        }
        end_orphans({name: child for name, child in orphans.items() if name not in adopted})
        try:
            asyncio.run(_live(home, composition, wish, adopted))
        except StackFailure as failure:
            _say(f"{failure}")
            failed = StackState(
                FAILED, _moment(), message=str(failure), ports=composition.ports, wish=wish.number
            )
            write_state(home.state, failed)
            return EXIT_FAILED
        forget(home)
    return 0


async def _live(home: Home, composition: Composition, wish: Wish, adopted: Mapping[str, Child]) -> None:
    await Supervisor(home, composition, wish=wish).run(adopted)


def _say(line: str) -> None:
    # Its standard output is its log file.
    print(f"{_moment()} {line}", flush=True)


def _moment() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds")


def main() -> int:
    """Run from the command line of a process that nobody types."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--home", type=Path, required=True)
    try:
        return supervise(Home(parser.parse_args().home), os.environ)
    except Busy as failure:
        _say(f"{failure}")
        return 0


if __name__ == "__main__":
    sys.exit(main())
