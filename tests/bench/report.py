"""What was measured, as a page for people and one for programs: each part is kept until it is measured again.

A part says when it was measured, on which state of the code, and how fast the machine was just then: figures
of different sections compare by that, and those within one section as they are.
"""

from __future__ import annotations

import json
import os
import platform
import statistics
import subprocess
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from .measure import Row

ROOT: Final = Path(__file__).parents[2]
DOCS: Final = ROOT / "docs"
HEAD: Final = """# Performance

Written by `make bench`; do not edit. CPU time of the measured process, medians of interleaved rounds in one
run. Ratios and bars hold on any machine of this kind; single figures are those of a machine that changes its
speed by a half from one hour to the next. How fast it was stands with each part: the time of a fixed piece of
Python.
"""
_LOOPS: Final = 200_000
_TRIES: Final = 7


@dataclass(frozen=True, slots=True)
class Part:
    """What one part came to."""

    form: str
    at: str
    state: str
    machine: str
    speed_ms: float
    """Of a fixed piece of Python, just before; zero where it was not noted."""
    rows: tuple[Row, ...]

    @classmethod
    def measured(cls, rows: Iterable[Row], *, is_short: bool, speed: float) -> Part:
        """Note rows that were measured just now."""
        form = "short form: small sites, few rounds" if is_short else "long form"
        now = f"{datetime.now(UTC):%Y-%m-%d %H:%M} UTC"
        return cls(form, now, _state(), _machine(), round(speed * 1e3, 2), tuple(rows))

    @classmethod
    def from_json(cls, told: Mapping[str, Any]) -> Part:
        """Read what was kept."""
        rows = ({name: value for name, value in row.items() if name != "holds"} for row in told["rows"])
        return cls(**{**told, "rows": tuple(Row(**row) for row in rows)})

    def to_json(self) -> dict[str, Any]:
        """Write it down; whether a row holds is written as well."""
        return {**asdict(self), "rows": [{**asdict(row), "holds": row.holds} for row in self.rows]}


def machine_speed() -> float:
    """Give the seconds that a fixed piece of Python takes: a dictionary, texts and numbers."""

    def once() -> float:
        begin, kept = time.process_time(), dict[str, int]()
        for number in range(_LOOPS):
            kept[str(number & 1023)] = number * 3
        return time.process_time() - begin

    return statistics.median(once() for _ in range(_TRIES))


def section(name: str, part: Part) -> str:
    """Write one part for people."""
    about = f"{part.form[0].upper()}{part.form[1:]}, {part.at}, state {part.state}; {part.machine}; "
    speed = f"fixed piece of Python: {part.speed_ms:.1f} ms." if part.speed_ms else "its speed was not noted."
    head = f"\n## {name}\n\n{about}{speed}\n\n| what | measured | bar | holds |\n|---|---|---|---|\n"
    return head + "\n".join(map(_line, part.rows)) + "\n"


def keep(name: str, part: Part, *, order: Sequence[str], folder: Path = DOCS) -> None:
    """Put a part in the place of what was known of it, and write both pages."""
    file = folder / "performance.json"
    known: dict[str, Any] = json.loads(file.read_text(encoding="utf-8")) if file.exists() else {}
    known[name] = part.to_json()
    parts = {each: known[each] for each in order if each in known}
    text = json.dumps(parts, indent=2, ensure_ascii=False)
    file.write_text(f"{text}\n", encoding="utf-8")
    sections = "".join(section(each, Part.from_json(told)) for each, told in parts.items())
    (folder / "performance.md").write_text(HEAD + sections, encoding="utf-8")


def _line(row: Row) -> str:
    bar = "–" if row.bar is None else f"{'≥' if row.more_is_better else '≤'} {row.bar:g} {row.unit}"
    holds = {None: "", True: "yes", False: "**no**"}[row.holds]
    detail = f" ({row.detail})" if row.detail else ""
    return f"| {row.name} | {row.measured:.3g} {row.unit}{detail} | {bar} | {holds} |"


def _machine() -> str:
    kind = f"{platform.system()} {platform.machine()}"
    return f"{os.cpu_count()} cores, {kind}, Python {platform.python_version()}"


def _state() -> str:
    """Name the commit; with a mark where files of it were changed since."""
    words = ("git", "describe", "--always", "--dirty=+", "--exclude=*")
    try:
        done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, timeout=10, check=False)
    except OSError:
        return "unknown"
    return done.stdout.strip() or "unknown"
