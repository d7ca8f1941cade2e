"""python -m tests.bench: measures and prints every figure, or those of some parts, against its bar.

What is measured in its long form is written to docs/performance.md and docs/performance.json, part by part:
each says when, on which state and how fast the machine was, as an hour of the same quiet is rare. The short
form is written with --publish only.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path

from strider.testing.stack import RunningServer, start_kafka, temp_server_directory

from . import contracts, jobs, runtime, urls
from .fetcher import client as fetch
from .fetcher import service as fetch_service
from .frontier import rebuild, run_endings, shards
from .frontier import working_set as frontier
from .measure import Row
from .parser import endurance as parsing_endurance
from .parser import pages as parsing
from .parser import service as parsing_service
from .pipeline import crawlers
from .report import Part, keep, machine_speed, section


@dataclass(slots=True)
class Bench:
    """What the parts share: how long they look, and a broker, started for the first that needs one."""

    short: bool
    held: ExitStack = field(default_factory=ExitStack)
    _kafka: RunningServer | None = None
    _directory: Path | None = None

    @property
    def rounds(self) -> int:
        return 2 if self.short else 7

    @property
    def directory(self) -> Path:
        if self._directory is None:
            self._directory = self.held.enter_context(temp_server_directory())
        return self._directory

    @property
    def kafka(self) -> RunningServer:
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
    "runs": lambda bench: run_endings.measure(rounds=bench.rounds, short=bench.short),
    "jobs": lambda bench: jobs.measure(bench.directory, rounds=bench.rounds, short=bench.short),
    "pipeline": lambda bench: crawlers.measure(rounds=1 if bench.short else 3, short=bench.short),
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
        "--publish", action="store_true", help="write what the short form measures to docs/performance.*, too"
    )
    parser.add_argument(
        "--only",
        nargs="+",
        choices=PARTS,
        metavar="NAME",
        help=f"measure these parts alone: {' '.join(PARTS)}",
    )
    return parser.parse_args(words)


def main(words: Sequence[str] | None = None) -> int:
    """Measure. A missed target is printed and fails nothing: a busy machine misses bars as well."""
    wish = read_wish(sys.argv[1:] if words is None else words)
    is_kept = wish.publish or not wish.short
    bench = Bench(wish.short)
    with bench.held:
        for name in PARTS:
            if wish.only and name not in wish.only:
                continue
            speed = machine_speed()
            part = Part.measured(PARTS[name](bench), is_short=wish.short, speed=speed)
            print(section(name, part))
            if is_kept:
                keep(name, part, order=list(PARTS))
    return 0


if __name__ == "__main__":
    sys.exit(main())
