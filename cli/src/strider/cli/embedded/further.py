"""What lines tell besides where more is extracted than every line tells: fields of `strider parse`. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from strider.cli.parsing.showing import told_of
from strider.contracts.generated.enums import ExtractionLevel
from strider.contracts.generated.events import PageParsed

_MAIN: Final[Mapping[str, Any]] = {
    "main_text": "",
    "author": "",
    "published_at": "",
    "modified_at": "",
    "language": "",
    "kind": "",
    "word_count": 0,
    "simhash": "",
    "pagination": {},
}
_RECORDS: Final[Mapping[str, Any]] = {"products": [], "structured": [], "records": None}

FURTHER: Final[Mapping[str, Mapping[str, Any]]] = {
    ExtractionLevel.BASIC.value: {},
    ExtractionLevel.MAIN.value: _MAIN,
    ExtractionLevel.RECORDS.value: {**_MAIN, **_RECORDS},
}
"""By how much is extracted: the fields, with what they are where nothing is known."""


def further_of(page: PageParsed, level: str, texts: bytes = b"") -> dict[str, Any]:
    """Give the further fields of a page; `texts` are those that were too long to travel."""
    names = FURTHER[level]
    if not names:
        return {}
    told = told_of(page, texts)
    return {name: told[name] for name in names}
