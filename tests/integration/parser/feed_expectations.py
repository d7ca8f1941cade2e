"""What others expect of feeds: the expectations in `corpora/feeds` that concern links, titles and dates.

Turns each condition of an `Expect:` line into a question about what the parser said. Titles are compared as
plain text, and addresses resolved, because that is what the parser promises to give.
"""

from __future__ import annotations

import ast
import re
from calendar import timegm
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from strider.parser.core.content.plain_text import strip_markup
from strider.parser.core.html.metadata import resolve_url
from strider.parser.core.lists.timestamps import to_iso_utc

BASE = "https://page.invalid/"
_EXPECT = re.compile(rb"Expect:\s*(.*?)\s*(?:-->|\n)")
_CONDITION = re.compile(
    r"^(feed|entries\[\d\])(?:\.|\[')(title|link|links|updated|published|created|modified|date|title_detail)"
    r"(_parsed)?(?:'\])?(?:\[(\d)\])?(?:\['(href|value)'\])?\s*==\s*(.+)$"
)


@dataclass(frozen=True, slots=True)
class Expectation:
    """One expectation of a feed."""

    path: Path
    of: str
    name: str
    at: int
    value: Any

    def is_met(self, said: dict[str, Any]) -> bool:
        """Compare the expectation with a feed as structured data."""
        if self.of != "feed":
            entries = said["entries"]
            place = int(self.of[8:-1])
            if place >= len(entries):
                return False
            said = entries[place]
        match self.name:
            case "title":
                title = said.get("title", "")
                return title == strip_markup(self.value) or strip_markup(title) == strip_markup(self.value)
            case "link":
                wanted = {self.value, resolve_url(self.value, BASE)}
                known = {said.get("url", ""), *(link["href"] for link in said.get("links", ()))}
                return bool(wanted & known)
            case "links":
                known = [link["href"] for link in said.get("links", ())]
                return bool({self.value, resolve_url(self.value, BASE)} & set(known))
            case _:
                return self.value in {said.get("published_at"), said.get("updated_at")}


def expectations(folder: Path) -> Iterator[Expectation]:
    """Return the expectations about links, titles and dates."""
    for path in sorted(folder.rglob("*.xml")):
        content = path.read_bytes().replace(b"\0", b"")
        match = _EXPECT.search(content)
        if match is None or b"Content-Location" in content or b"127.0.0.1" in content:
            continue  # the others are about response headers

        for part in match[1].decode("utf-8", "replace").split(" and "):
            found = _of(path, part.strip())
            if found is not None:
                yield found


def _of(path: Path, text: str) -> Expectation | None:
    match = _CONDITION.match(text.removeprefix("not bozo").strip())
    if match is None:
        return None
    of, name, parsed, at, column, literal = match.groups()
    try:
        value = ast.literal_eval(literal)
    except (ValueError, SyntaxError):
        return None
    if column != {"links": "href", "title_detail": "value"}.get(name):
        return None
    if parsed:
        if not isinstance(value, tuple):
            return None
        name, value = "date", to_iso_utc(_iso(value))
    elif name in {"updated", "published", "created", "modified", "date"}:
        name, value = "date", to_iso_utc(value)
    if not isinstance(value, str) or (name == "date" and not value):
        return None
    return Expectation(path, of, "title" if name == "title_detail" else name, int(at or 0), value)


def _iso(moment: tuple[int, ...]) -> str:
    seconds = timegm(moment)
    return datetime.fromtimestamp(seconds, UTC).isoformat()
