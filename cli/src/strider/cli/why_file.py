"""The output of a crawl, asked about one URL: lines of JSON, or a table with the same columns."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from strider.urls import RefusedUrl, to_wire_url, url_hash, url_key_of

from .why_facts import Fact, line_fact


def read_output(path: Path, key: str, text: str) -> list[Fact]:
    """Find the lines about a URL, and those that redirect to it; raises OSError and ValueError.

    What has no key is found as it is written.
    """
    with path.open(encoding="utf-8", newline="") as file:
        lines = csv.DictReader(file) if path.suffix == ".csv" else _objects(file)
        return [line_fact(line) for line in lines if _is_about(line, key, text)]


def _objects(lines: Iterable[str]) -> Iterator[Mapping[str, Any]]:
    """Read one object a line; a last line that was cut off in the middle is none."""
    broken = 0
    for number, text in enumerate(lines, start=1):
        if broken:
            raise ValueError(f"line {broken} is no JSON object")
        try:
            line = json.loads(text)
        except ValueError:
            broken = number
            continue
        if not isinstance(line, dict):
            raise ValueError(f"line {number} is no JSON object")  # noqa: TRY004  # the file's fault
        yield line
    if broken == 1:
        raise ValueError("it is no output of a crawl: its line is no JSON object")


def _is_about(line: Mapping[str, Any], key: str, text: str) -> bool:
    if not key:
        return bool(text) and line.get("url") == text
    return any(_key(line.get(name)) == key for name in ("url", "final_url"))


def _key(url: object) -> str:
    found = to_wire_url(url) if isinstance(url, str) else RefusedUrl("bad_url")
    return "" if isinstance(found, RefusedUrl) else url_hash(url_key_of(found))
