"""Dates as ISO 8601, as exactly as they were said, with what said so."""

from __future__ import annotations

import pytest

from strider.parser.core.dates import as_iso, find_dates


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("2026-11-18", "2026-11-18", id="day"),
        pytest.param("2026-11-18T10:20:30Z", "2026-11-18T10:20:30Z", id="UTC"),
        pytest.param("2026-11-18 10:20", "2026-11-18T10:20:00", id="without zone"),
        pytest.param("2026-11-18T10:20:30.123+0130", "2026-11-18T10:20:30+01:30", id="fraction and zone"),
        pytest.param("Wed, 18 Nov 2026 10:20:30 GMT", "2026-11-18T10:20:30+00:00", id="mail"),
        pytest.param("November 18, 2026", "2026-11-18", id="words"),
        pytest.param("18.11.2026", "2026-11-18", id="German"),
        pytest.param("2026-13-40", "", id="no such day"),
        pytest.param("0001-01-01T00:00:00Z", "", id="a zero"),
        pytest.param("yesterday", "", id="none"),
    ],
)
def test_iso(text: str, expected: str) -> None:
    assert as_iso(text) == expected


@pytest.mark.parametrize(
    ("metas", "data", "times", "expected"),
    [
        pytest.param(
            {"article:published_time": "2026-01-02"},
            '"datePublished": "2026-01-03"',
            ("2026-01-04",),
            ("2026-01-02", "meta:article:published_time"),
            id="meta element first",
        ),
        pytest.param(
            {"date": "soon"},
            '"datePublished":"2026-01-03"',
            (),
            ("2026-01-03", "json-ld:datePublished"),
            id="then structured data",
        ),
        pytest.param({}, "", ("", "2026-01-04"), ("2026-01-04", "time"), id="then time elements"),
        pytest.param({}, "", (), ("2026-01-05", "url"), id="then the URL"),
    ],
)
def test_the_most_trusted_voice_is_heard(
    metas: dict[str, str], data: str, times: tuple[str, ...], expected: tuple[str, str]
) -> None:
    published, modified = find_dates(metas, data, times, "https://site.test/2026/01/05/story")

    assert (published, modified) == (expected, ("", ""))
