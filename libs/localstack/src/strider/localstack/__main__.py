"""The supervisor's process, started by `strider up`.

Its command line is `python -m strider.localstack --home DIRECTORY`.

Takes over what an earlier supervisor left, then runs until SIGTERM.
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

from .directories import StackDirectory, hold_lock
from .errors import StackBusy, StackFailure
from .plan.services import find_services
from .plan.stack_plan import StackPlan
from .process.child import ChildProcess
from .process.orphans import end_orphans, find_orphans, remove_pid_files
from .stack_state import FAILED, DesiredState, StackState, read_desired_state, read_state, write_state
from .supervisor import StackSupervisor

EXIT_FAILED: Final = 3


def supervise(home: StackDirectory, environment: Mapping[str, str]) -> int:
    """Run as the supervisor of this stack; return the exit code."""
    home.create()
    with hold_lock(home.supervisor_lock):
        old = read_state(home.state)
        desired = read_desired_state(home.desired_state) or DesiredState()
        plan = StackPlan(home, environment, find_services(), dict(old.ports) if old else {})
        orphans = find_orphans(home, old)
        wanted = plan.wanted_servers(desired)
        adopted = {
            name: child for name, child in orphans.items() if name in wanted and plan.knows_ports(name)
        }
        end_orphans({name: child for name, child in orphans.items() if name not in adopted})
        try:
            asyncio.run(_run(home, plan, desired, adopted))
        except StackFailure as failure:
            _print_line(f"{failure}")
            failed = StackState(
                FAILED,
                _timestamp(),
                message=str(failure),
                ports=plan.ports,
                desired_number=desired.number,
            )
            write_state(home.state, failed)
            return EXIT_FAILED
        remove_pid_files(home)
    return 0


async def _run(
    home: StackDirectory, plan: StackPlan, desired: DesiredState, adopted: Mapping[str, ChildProcess]
) -> None:
    await StackSupervisor(home, plan, desired=desired).run(adopted)


def _print_line(line: str) -> None:
    # Its standard output is its log file.
    print(f"{_timestamp()} {line}", flush=True)


def _timestamp() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds")


def main() -> int:
    """Run the supervisor from the command line."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--home", type=Path, required=True)
    try:
        return supervise(StackDirectory(parser.parse_args().home), os.environ)
    except StackBusy as failure:
        _print_line(f"{failure}")
        return 0


if __name__ == "__main__":
    sys.exit(main())
