"""python -m tests.bench: measures and prints every figure, or those of some parts, against its bar.

The long form of the whole writes docs/performance.md and docs/performance.json, the short one does so with
--publish. A page of some parts only would pass for the whole, so it is never written.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass, field
from pathlib import Path

from strider.testing.stack import RunningPart, own_directory, start_kafka

from . import (
    contracts,
    fetch,
    fetch_service,
    frontier,
    parsing,
    parsing_endurance,
    parsing_service,
    rebuild,
    ring,
    runtime,
    shards,
    urls,
)
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


@dataclass(slots=True)
class Bench:
    """What the parts share: how long they look, and a broker, started for the first that needs one."""

    short: bool
    held: ExitStack = field(default_factory=ExitStack)
    _kafka: RunningPart | None = None
    _directory: Path | None = None

    @property
    def rounds(self) -> int:
        return 3 if self.short else 7

    @property
    def directory(self) -> Path:
        if self._directory is None:
            self._directory = self.held.enter_context(own_directory())
        return self._directory

    @property
    def kafka(self) -> RunningPart:
        if self._kafka is None:
            self._kafka = start_kafka(self.directory / "kafka", starts_fast=False)
            self.held.callback(self._kafka.close)
        return self._kafka


def _rebuild(bench: Bench) -> list[Row]:
    count = 20_000 if bench.short else 200_000
    return rebuild.measure(bench.kafka.address, bench.directory, rounds=bench.rounds, count=count)


def _runtime(bench: Bench) -> list[Row]:
    return runtime.measure(bench.kafka.address, rounds=bench.rounds, count=5_000 if bench.short else 20_000)


def _fetch(bench: Bench) -> list[Row]:
    rows = fetch.measure(short=bench.short)
    return rows + fetch_service.measure(bench.kafka, bench.directory, rounds=bench.rounds, short=bench.short)


def _parser(bench: Bench) -> list[Row]:
    count = 500 if bench.short else 2_000
    rows = parsing_service.measure(bench.kafka.address, bench.directory, rounds=bench.rounds, count=count)
    return rows + parsing_endurance.measure(count=2_000 if bench.short else 100_000)


PARTS: Mapping[str, Callable[[Bench], list[Row]]] = {
    "contracts": lambda bench: contracts.measure(rounds=bench.rounds),
    "urls": lambda bench: urls.measure(rounds=bench.rounds),
    "parsing": lambda bench: parsing.measure(rounds=bench.rounds),
    "parser": _parser,
    "rebuild": _rebuild,
    "runtime": _runtime,
    "shards": lambda bench: shards.measure(bench.kafka, rounds=bench.rounds, short=bench.short),
    "fetch": _fetch,
    "frontier": lambda bench: frontier.measure(rounds=bench.rounds, short=bench.short),
    "ring": lambda bench: ring.measure(rounds=1 if bench.short else 3, short=bench.short),
}
"""Every part, in the order in which they are measured."""


def read_wish(words: Sequence[str]) -> argparse.Namespace:
    """Read the command line; words that mean nothing end it."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.bench", description="Measure figures against their bars."
    )
    parser.add_argument(
        "--short", action="store_true", help="small sites, few rounds: minutes instead of an hour"
    )
    parser.add_argument(
        "--publish", action="store_true", help="write docs/performance.* from the short form too"
    )
    parser.add_argument(
        "--only",
        nargs="+",
        choices=PARTS,
        metavar="NAME",
        help=f"measure these parts alone: {' '.join(PARTS)}",
    )
    wish = parser.parse_args(words)
    if wish.only and wish.publish:
        parser.error("--publish is for the whole: a page of some parts would pass for all of them")
    return wish


def _measure(names: Iterable[str], *, short: bool) -> Iterator[Row]:
    bench = Bench(short)
    with bench.held:
        for name in names:
            yield from PARTS[name](bench)


def _publish(page: str, rows: Sequence[Row], *, form: str) -> None:
    (DOCS / "performance.md").write_text(page, encoding="utf-8")
    figures = {
        "machine": _machine(),
        "form": form,
        "rows": [{**asdict(row), "holds": row.holds} for row in rows],
    }
    text = json.dumps(figures, indent=2, ensure_ascii=False)
    (DOCS / "performance.json").write_text(f"{text}\n", encoding="utf-8")


def main(words: Sequence[str] | None = None) -> int:
    """Measure everything. A missed bar is told and fails nothing: a busy machine misses bars as well."""
    wish = read_wish(sys.argv[1:] if words is None else words)
    form = "Short form: small sites, one round." if wish.short else "Long form."
    rows = list(_measure([name for name in PARTS if name in (wish.only or PARTS)], short=wish.short))
    page = HEAD.format(machine=_machine(), form=form) + "\n".join(map(_line, rows)) + "\n"
    print(page)
    if not wish.only and (wish.publish or not wish.short):
        _publish(page, rows, form=form)
    return 0


if __name__ == "__main__":
    sys.exit(main())
