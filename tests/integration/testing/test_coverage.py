"""`make cover` reports which lines the tests run."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
ROW = re.compile(r"(?m)^(\S+\.py) +(\d+) +(\d+) +(\d+)% +(\S.*)$")


@pytest.mark.req("S1.16.3")
def test_the_report_names_each_file_and_the_lines_that_no_test_runs(tmp_path: Path) -> None:
    """Of one short file of tests: what it runs whole is not listed, what it only imports is."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("PYTEST_", "COV_"))}
    done = subprocess.run(
        ["make", "--no-print-directory", "cover", "ONLY=tests/unit/jobs/test_slots.py"],
        cwd=ROOT,
        env=kept | {"COVERAGE_FILE": str(tmp_path / "coverage")},
        capture_output=True,
        text=True,
        check=False,
    )
    missed = {path: lines for path, _, _, _, lines in ROW.findall(done.stdout)}

    assert done.returncode == 0, done.stdout + done.stderr
    assert re.search(r"(?m)^TOTAL +\d+ +\d+ +\d+%$", done.stdout)
    assert re.fullmatch(r"\d+(-\d+)?(, \d+(-\d+)?)*", missed["libs/urls/src/strider/urls/wire_url.py"])
    assert "libs/jobs/src/strider/jobs/slots.py" not in missed
