"""Retry-After as servers send it."""

from __future__ import annotations

import pytest

from strider.fetcher.core import parse_retry_after

NOW_US = 784_111_777 * 1_000_000
"""Sun, 06 Nov 1994 08:49:37 GMT, the date of the RFC's examples."""


@pytest.mark.parametrize(
    ("value", "date", "seconds"),
    [
        pytest.param("120", "", 120.0, id="seconds"),
        pytest.param(" 0 ", "", 0.0, id="now"),
        pytest.param("999999999999999999999", "", 2_592_000.0, id="huge"),
        pytest.param("10, 20,5", "", 20.0, id="joined on the way"),
        pytest.param("10, soon", "", -1.0, id="half a list"),
        pytest.param("-5", "", -1.0, id="negative"),
        pytest.param("1.5", "", -1.0, id="fraction"),
        pytest.param("soon", "", -1.0, id="word"),
        pytest.param("", "", -1.0, id="absent"),
        pytest.param("١٢", "", -1.0, id="other-digits"),
        pytest.param("Sun, 06 Nov 1994 08:50:37 GMT", "", 60.0, id="date"),
        pytest.param(
            "Sun, 06 Nov 1994 08:50:37 GMT", "Sun, 06 Nov 1994 08:50:07 GMT", 30.0, id="their-clock"
        ),
        pytest.param("Sunday, 06-Nov-94 08:50:37 GMT", "", 60.0, id="rfc-850"),
        pytest.param("Sun Nov  6 08:50:37 1994", "", 60.0, id="asctime"),
        pytest.param("Sun, 06 Nov 1993 08:49:37 GMT", "", 0.0, id="past"),
        pytest.param("Sun, 31 Feb 1994 08:49:37 GMT", "", -1.0, id="no-such-day"),
        pytest.param("Sun, 06 Xyz 1994 08:49:37 GMT", "", -1.0, id="no-such-month"),
        pytest.param("Sun, 06 Nov 9994 08:49:37 GMT", "", 2_592_000.0, id="far"),
        pytest.param("Sun, 06 Nov 1994 08:49:60 GMT", "", 22.0, id="leap-second"),
    ],
)
def test_retry_after_is_parsed(value: str, date: str, seconds: float) -> None:
    assert parse_retry_after(value, date=date, now_us=NOW_US) == seconds
