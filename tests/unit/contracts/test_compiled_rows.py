"""Compiled builders of rows."""

from __future__ import annotations

from types import SimpleNamespace
from typing import NamedTuple

import pytest

from strider.contracts.compiled_rows import RowValue, compile_row


class Pair(NamedTuple):
    first: object
    second: object


def test_values_come_from_fields_and_arguments() -> None:
    build = compile_row(Pair, ("page", "text"), (RowValue(("page.url",)), RowValue(("text",))))

    assert build(SimpleNamespace(url="u"), "t") == Pair("u", "t")
    assert type(build(SimpleNamespace(url="u"), "t")) is Pair


def test_equal_conversions_are_made_once() -> None:
    """One call yields the values of several columns, as host and domain of a URL."""
    calls: list[str] = []

    def halves(text: str) -> tuple[str, str]:
        calls.append(text)
        return text[:1], text[1:]

    build = compile_row(
        Pair, ("page",), (RowValue(("page.url",), halves, 0), RowValue(("page.url",), halves, 1))
    )

    assert build(SimpleNamespace(url="abc")) == Pair("a", "bc")
    assert calls == ["abc"]


def test_a_conversion_may_have_several_sources() -> None:
    build = compile_row(
        Pair, ("page",), (RowValue(("page.a", "page.b"), max), RowValue(("page.a", "page.b"), min))
    )

    assert build(SimpleNamespace(a=1, b=2)) == Pair(2, 1)


@pytest.mark.parametrize("path", ["other.url", "page.url)", "page.", "", "page.a b"])
def test_a_source_that_is_no_field_of_an_argument_is_refused(path: str) -> None:
    with pytest.raises(ValueError, match="is not below page"):
        compile_row(Pair, ("page",), (RowValue((path,)), RowValue(("page.b",))))
