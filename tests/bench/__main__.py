"""python -m tests.bench [--short] [--publish]: measures and prints every figure against its bar.

The long form writes docs/performance.md and docs/performance.json, the short one does so with --publish.
"""

from __future__ import annotations

import json
import os
import platform
import sys
from dataclasses import asdict
from pathlib import Path

from strider.testing.stack import own_directory, start_kafka

from . import contracts, fetch, frontier, parsing, rebuild, ring, runtime, shards, urls
from .measure import Row

DOCS = Path(__file__).parents[2] / "docs"

HEAD = """# Performance

Written by `make bench`; do not edit. CPU time of the measured process, medians of interleaved rounds in one
run. Ratios and bars hold on any machine of this kind; single figures are this machine's.

Machine: {machine}. {form}

| what | measured | bar | holds |
|---|---|---|---|
"""


def _machine() -> str:
    kind = f"{platform.system()} {platform.machine()}"
    return f"{os.cpu_count()} cores, {kind}, Python {platform.python_version()}"


def _line(row: Row) -> str:
    bar = "–" if row.bar is None else f"{'≥' if row.more_is_better else '≤'} {row.bar:g} {row.unit}"
    holds = {None: "", True: "yes", False: "**no**"}[row.holds]
    detail = f" ({row.detail})" if row.detail else ""
    return f"| {row.name} | {row.measured:.3g} {row.unit}{detail} | {bar} | {holds} |"


def main() -> int:
    """Measure everything. A missed bar is told and fails nothing: a busy machine misses bars as well."""
    short = "--short" in sys.argv[1:]
    form = "Short form: small sites, one round." if short else "Long form."
    rounds = 3 if short else 7
    rows = contracts.measure(rounds=rounds) + urls.measure(rounds=rounds)
    rows += parsing.measure(rounds=rounds)
    with own_directory() as directory:
        kafka = start_kafka(directory / "kafka", starts_fast=False)
        try:
            rows += rebuild.measure(
                kafka.address, directory, rounds=rounds, count=20_000 if short else 200_000
            )
            rows += runtime.measure(kafka.address, rounds=rounds, count=5_000 if short else 20_000)
            rows += shards.measure(kafka, rounds=rounds, short=short)
        finally:
            kafka.close()
    rows += fetch.measure(short=short)
    rows += frontier.measure(rounds=rounds, short=short)
    rows += ring.measure(rounds=1 if short else 3, short=short)
    page = HEAD.format(machine=_machine(), form=form) + "\n".join(map(_line, rows)) + "\n"
    print(page)
    if not short or "--publish" in sys.argv[1:]:
        (DOCS / "performance.md").write_text(page, encoding="utf-8")
        figures = {
            "machine": _machine(),
            "form": form,
            "rows": [{**asdict(row), "holds": row.holds} for row in rows],
        }
        (DOCS / "performance.json").write_text(
            json.dumps(figures, indent=2, ensure_ascii=False) + "\n", encoding="utf-8"
        )
    return 0


if __name__ == "__main__":
    sys.exit(main())
