"""Writes docs/security.md: the table of hostile rows with what each costs, in the middle of the page."""

from __future__ import annotations

import json
from pathlib import Path

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "security.md"


def render_rows() -> str:
    """The table, from the rows in code and the figures of the latest measurement."""
    from strider.testing.hostile import ACCEPTED_CASES, FAILING_CASES  # noqa: PLC0415  # generated code comes first

    costs = {cost["path"]: cost for cost in json.loads((ROOT / "docs" / "security.json").read_text())}
    wanted = {path: f"`{row.outcome}` `{row.error}`" for path, row in FAILING_CASES.items()}
    for path, row in ACCEPTED_CASES.items():
        wanted[path] = "`fetched`" + (f", parsed: `{row.decodes_to}`" if row.decodes_to else "")
    lines = ["| the server | expected outcome | as expected | seconds | MiB |", "|---|---|---|---|---|"]
    for path, row in (FAILING_CASES | ACCEPTED_CASES).items():
        cost = costs.get(path, {"outcome": "", "error": "", "seconds": "", "memory_mib": ""})
        told = (cost["outcome"], cost["error"])
        expected = (row.outcome, row.error) if path in FAILING_CASES else ("fetched", "")
        mark = "yes" if told == expected else "NO"
        figures = f"{cost['seconds']} | {cost['memory_mib']}"
        lines.append(f"| {row.description} | {wanted[path]} | {mark} | {figures} |")
    return "\n".join(lines)
