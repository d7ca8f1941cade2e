"""Run checks side by side, each within a deadline, and collect their findings.

A check runs in a daemon thread, because a name server, a disk or a library may block for minutes: a check
that misses its deadline is reported as a fault, and is not waited for.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

DEADLINE_SECONDS: Final = 5.0
"""Default longest time of one check."""


class CheckStatus(StrEnum):
    """Status of a finding."""

    OK = "ok"
    WARNING = "warning"
    FAULT = "fault"


@dataclass(frozen=True, slots=True)
class CheckFinding:
    """One thing that was checked; the fields are those of the JSON output."""

    area: str
    """installation, configuration or reachability."""
    name: str
    status: CheckStatus
    detail: str
    remedy: str = ""
    """The remedy; empty where none is needed."""


@dataclass(frozen=True, slots=True)
class Check:
    """A named check, which returns its findings."""

    area: str
    name: str
    run: Callable[[], Sequence[CheckFinding]]

    def ok(self, detail: str) -> CheckFinding:
        """Return a finding without a problem."""
        return CheckFinding(self.area, self.name, CheckStatus.OK, detail)


@dataclass(frozen=True, slots=True)
class CheckReport:
    """Findings of all checks, in the order of the checks."""

    findings: tuple[CheckFinding, ...]
    has_hanging: bool = False
    """Whether a thread of a check still runs: the process must not wait for it at exit."""

    @property
    def is_healthy(self) -> bool:
        """Whether there is no fault."""
        return all(finding.status is not CheckStatus.FAULT for finding in self.findings)


REPORT_BUG: Final = "this is a bug in strider: please report it"


def run_checks(checks: Iterable[Check], *, deadline_seconds: float = DEADLINE_SECONDS) -> CheckReport:
    """Run all checks at the same time; none takes longer than the deadline."""
    results: dict[int, Sequence[CheckFinding]] = {}
    listed = tuple(checks)

    def run(number: int, check: Check) -> None:
        try:
            results[number] = check.run()
        except BaseException as failure:  # noqa: BLE001  # a check that fails is a finding itself
            detail = f"the check failed: {type(failure).__name__}: {failure}"
            results[number] = (CheckFinding(check.area, check.name, CheckStatus.FAULT, detail, REPORT_BUG),)

    threads = [
        threading.Thread(target=run, args=(number, check), name=f"doctor-{check.name}", daemon=True)
        for number, check in enumerate(listed)
    ]
    for thread in threads:
        thread.start()
    ends_at = time.monotonic() + deadline_seconds
    for thread in threads:
        thread.join(max(0.0, ends_at - time.monotonic()))
    found = dict(results)
    findings = [
        finding
        for number, check in enumerate(listed)
        for finding in found.get(number, (_late(check, deadline_seconds),))
    ]
    return CheckReport(tuple(findings), has_hanging=any(thread.is_alive() for thread in threads))


def _late(check: Check, seconds: float) -> CheckFinding:
    return CheckFinding(
        check.area,
        check.name,
        CheckStatus.FAULT,
        f"no result within {seconds:g} s",
        "check the network, the name server and the disks; a longer time: --timeout",
    )
