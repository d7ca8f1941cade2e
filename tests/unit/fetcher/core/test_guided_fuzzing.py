"""Guided fuzzing, short form: some thousand runs of each target; the long form takes a minute each."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.skipif(
    importlib.util.find_spec("atheris") is None, reason="there is no atheris for this machine or Python"
)


@pytest.mark.parametrize("target", ["robots", "head", "url", "cookies"])
@pytest.mark.parametrize(
    "limit",
    [
        pytest.param("-runs=2000", id="short"),
        pytest.param("-max_total_time=60", id="long", marks=pytest.mark.slow),
    ],
)
def test_guided_fuzzing_breaks_no_invariant(target: str, limit: str, tmp_path: Path) -> None:
    """The input that broke something is in the output, as a Python literal and in base64."""
    command = (sys.executable, "-m", "tests.unit.fetcher.core.guided_fuzzing", target, str(tmp_path), limit)
    ended = subprocess.run(
        (*command, "-max_len=400", "-seed=7", f"-artifact_prefix={tmp_path}/"),
        cwd=Path(__file__).parents[4],
        capture_output=True,
        text=True,
        timeout=200,
        check=False,
    )

    assert ended.returncode == 0, ended.stderr[-3000:]
    assert "Done" in ended.stderr
