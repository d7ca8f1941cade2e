"""Generated files are current, and the check can tell when they are not."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_generated_files_are_current() -> None:
    run = subprocess.run(
        [sys.executable, "tools/generated.py", "--check"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )

    assert run.returncode == 0, run.stdout + run.stderr


def test_a_file_that_is_not_current_is_named() -> None:
    """A check that cannot fail checks nothing."""
    program = (
        "import generated; readme = generated.ROOT / 'README.md'; "
        "generated.RENDERERS = (lambda: {readme: 'as it would be now'},); "
        "raise SystemExit(generated.main())"
    )
    run = subprocess.run(
        [sys.executable, "-c", program, "--check"],
        cwd=ROOT / "tools",
        capture_output=True,
        text=True,
        check=False,
    )

    assert run.returncode == 1
    assert run.stdout.startswith("README.md is not current; run: make contracts")


def test_a_page_without_its_place_is_refused() -> None:
    """A table that silently vanishes from the README would never be missed."""
    run = subprocess.run(
        [sys.executable, "-c", "import generated; generated.between('no place', 'topics', 'x')"],
        cwd=ROOT / "tools",
        capture_output=True,
        text=True,
        check=False,
    )

    assert run.returncode == 1
    assert "no place for topics" in run.stderr


def test_a_faulty_declaration_is_one_line() -> None:
    """The file and the fault, without a traceback."""
    program = (
        "import generated; from strider.contracts.codegen import DeclarationError\n"
        "def fault(): raise DeclarationError('schemas/topics/x.yaml', 'writers', 'must not be empty')\n"
        "generated.RENDERERS = (fault,)\n"
        "raise SystemExit(generated.main())"
    )
    run = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT / "tools", capture_output=True, text=True, check=False
    )

    assert (run.returncode, run.stderr) == (2, "schemas/topics/x.yaml: writers: must not be empty\n")
