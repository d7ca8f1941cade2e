"""Checks run at the same time, and none can delay the command beyond its deadline."""

from __future__ import annotations

import threading
import time

from strider.cli.doctor.checks import Check, CheckFinding, CheckStatus, run_checks


def test_findings_come_in_the_order_of_the_checks() -> None:
    slow = Check("a", "slow", lambda: (time.sleep(0.05), [CheckFinding("a", "slow", CheckStatus.OK, "1")])[1])
    quick = Check("a", "quick", lambda: [CheckFinding("a", "quick", CheckStatus.WARNING, "2", "do it")])

    report = run_checks([slow, quick], deadline_seconds=5)

    assert [finding.name for finding in report.findings] == ["slow", "quick"]
    assert (report.is_healthy, report.has_hanging) == (True, False)


def test_a_check_that_hangs_is_a_fault_and_costs_its_deadline_only() -> None:
    never = threading.Event()
    hanging = Check("a", "hanging", lambda: [never.wait(60) and CheckFinding("a", "", CheckStatus.OK, "")])  # type: ignore[list-item]
    good = Check("a", "good", lambda: [CheckFinding("a", "good", CheckStatus.OK, "fine")])

    began = time.monotonic()
    report = run_checks([hanging, good], deadline_seconds=0.2)
    never.set()

    assert time.monotonic() - began < 5
    assert [(each.name, each.status) for each in report.findings] == [("hanging", "fault"), ("good", "ok")]
    assert "no result within 0.2 s" in report.findings[0].detail
    assert (report.is_healthy, report.has_hanging) == (False, True)


def test_a_check_that_raises_is_a_fault_and_no_traceback() -> None:
    def broken() -> list[CheckFinding]:
        raise ZeroDivisionError("oops")

    [finding] = run_checks([Check("a", "broken", broken)]).findings

    assert finding.status is CheckStatus.FAULT
    assert "ZeroDivisionError: oops" in finding.detail
