"""The last line of `strider doctor`: counts that agree with their nouns."""

from __future__ import annotations

import pytest

from strider.cli.commands.doctor import print_report
from strider.cli.doctor.checks import CheckFinding, CheckReport, CheckStatus


def test_the_total_counts_checks(capsys: pytest.CaptureFixture[str]) -> None:
    statuses = (CheckStatus.FAULT, CheckStatus.OK, CheckStatus.WARNING, CheckStatus.WARNING)
    print_report(CheckReport(tuple(CheckFinding("area", "name", status, "detail") for status in statuses)))

    assert capsys.readouterr().out.splitlines()[-1] == "1 fault, 2 warnings, 4 checks"
