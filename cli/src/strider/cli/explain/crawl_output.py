"""Facts about a URL from the output of `strider crawl` (JSON lines or CSV)."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from strider.urls import RefusedUrl, to_wire_url, url_hash, url_key_of

from .facts import UrlFact, output_fact


def read_output_facts(path: Path, key: str, text: str) -> list[UrlFact]:
    """Return facts from the lines about a URL, and from those that redirect to it.

    A text without a key is found as it is written. Raises OSError and ValueError.
    """
    with path.open(encoding="utf-8", newline="") as file:
        lines = csv.DictReader(file) if path.suffix == ".csv" else _json_lines(file)
        return [output_fact(line) for line in lines if _is_about(line, key, text)]


def _json_lines(lines: Iterable[str]) -> Iterator[Mapping[str, Any]]:
    """Parse one object per line; an incomplete last line is ignored."""
    broken = 0
    for number, text in enumerate(lines, start=1):
        if broken:
            raise ValueError(f"line {broken} is not a JSON object")
        try:
            line = json.loads(text)
        except ValueError:
            broken = number
            continue
        if not isinstance(line, dict):
            raise ValueError(f"line {number} is not a JSON object")  # noqa: TRY004  # of the file, not of the caller
        yield line
    if broken == 1:
        raise ValueError("not the output of a crawl: its line is not a JSON object")


def _is_about(line: Mapping[str, Any], key: str, text: str) -> bool:
    if not key:
        return bool(text) and line.get("url") == text
    return any(_key(line.get(name)) == key for name in ("url", "final_url"))


def _key(url: object) -> str:
    found = to_wire_url(url) if isinstance(url, str) else RefusedUrl("bad_url")
    return "" if isinstance(found, RefusedUrl) else url_hash(url_key_of(found))
