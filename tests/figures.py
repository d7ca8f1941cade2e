"""Figures that a test measures: printed, and kept for docs/reliability.md where a run asks for it."""

from __future__ import annotations

import json
import os
from datetime import UTC, datetime
from pathlib import Path

FILE_VARIABLE = "FIGURES_FILE"
"""Names the file that figures are appended to, a JSON object per line."""


def record_figure(figure: str) -> None:
    """Print a figure of the running test; append it to the file of `FIGURES_FILE` where that is set."""
    print(f"\n{figure}")  # noqa: T201  # the figures are what long tests are run for
    if name := os.environ.get(FILE_VARIABLE):
        test = os.environ["PYTEST_CURRENT_TEST"].partition(" ")[0].partition("[")[0]
        measured = datetime.now(UTC).date().isoformat()
        line = json.dumps({"test": test, "figure": figure, "measured": measured})
        with Path(name).open("a", encoding="utf-8") as file:
            file.write(f"{line}\n")
