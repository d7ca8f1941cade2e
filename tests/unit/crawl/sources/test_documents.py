"""Documents of sources: every fault is named by its field, and nothing unknown passes."""

from __future__ import annotations

from dataclasses import fields as dataclass_fields
from dataclasses import replace
from typing import Any

import pytest

from strider.contracts.generated.events import SourceSaved
from strider.crawl.sources.documents import (
    FIELDS,
    WRITTEN_HERE,
    InvalidSource,
    changed_source,
    document_of,
    new_source,
    replaced_source,
    warnings_about,
)

MINIMAL = {"name": "Example", "url": "https://example.org"}
SAVED = SourceSaved(
    "id-1", "Example", "https://example.org/", max_depth=2, created_at_ms=5, updated_by="ann", version=3
)


def faults(document: dict[str, Any], *, allow_private: bool = False) -> dict[str, str]:
    with pytest.raises(InvalidSource) as refused:
        new_source({**MINIMAL, **document}, allow_private=allow_private)
    return {fault.field: fault.detail for fault in refused.value.faults}


def test_a_name_and_a_url_are_enough() -> None:
    source = new_source(MINIMAL, allow_private=False)

    assert (source.name, source.url, source.enabled) == ("Example", "https://example.org/", True)
    assert new_source(document_of(source), allow_private=False) == source


@pytest.mark.parametrize(
    ("field", "value", "detail"),
    [
        ("url", "nope", "bad_url"),
        ("url", "ftp://example.org/", "no URL that can be crawled"),
        ("url", "http://127.0.0.1/", "private_address"),
        ("url", "http://169.254.169.254/", "policy_blocked"),
        ("url", 3, "the number 3, expected a text"),
        ("name", "  ", "is empty"),
        ("name", "a\nb", "control character"),
        ("name", "x" * 201, "the limit is 200"),
        ("start_urls", ["https://a.test/", "nope"], "nope"),
        ("start_urls", [f"https://a.test/{n}" for n in range(1_001)], "the limit is 1000"),
        ("domains", ["a b"], "not the name of a host"),
        ("enabled", "yes", "expected true or false"),
        ("max_depth", -1, "expected 0 to 10"),
        ("feed_poll_seconds", -1, "expected 0 to"),
        ("max_depth", 11, "expected 0 to 10"),
        ("scope", "all", "any, domain, host, listed"),
        ("include", ["("] * 40, "the limit is 32"),
        ("priority", 4, "expected 0 to 3"),
        ("delay_seconds", -1, "expected 0 to 86400"),
        ("max_concurrent_requests", 0, "expected 1 to 10000"),
        ("interval_minutes", -1, "expected 0 to"),
        ("interval_minutes", 10**12, "out of range"),
        ("crawl_frequency_seconds", 0, "expected 1 to"),
        ("headers", {"Host": "a"}, "set by the crawler"),
        ("headers", {"X-One": 1}, "not a text"),
        ("metadata", {"a": "b" * 20_000}, "the limit is 16384"),
        ("metadata", {"a": "b" * 10_000_000}, "the limit is"),
        ("metadata", "text", "expected an object"),
        ("nmae", "x", "did you mean name?"),
        ("id", "x", "cannot be set"),
        ("version", 3, "cannot be set"),
        ("x" * 5_000, 1, "no such field"),
    ],
)
def test_each_fault_is_named_by_its_field(field: str, value: Any, detail: str) -> None:
    found = faults({field: value})

    ((name, told),) = found.items()
    assert field.startswith(name.rstrip("…"))
    assert detail in told
    assert len(told) < 1_000


def test_all_faults_are_reported_at_once() -> None:
    assert set(faults({"url": None, "max_depth": 99, "nme": 1})) == {"url", "max_depth", "nme"}


def test_a_source_fits_into_a_message() -> None:
    """Each field for itself is small enough."""
    lists = {
        name: [f"https://a.test/{number}/{'x' * 40}" for number in range(1_000)]
        for name in ("start_urls", "feed_urls", "sitemap_urls")
    }
    domains = [f"{number:030}.test" for number in range(600)]

    found = faults({**lists, "domains": domains})

    assert "all fields together may have 196608" in found["start_urls"]


def test_private_addresses_pass_where_they_are_allowed() -> None:
    document = {**MINIMAL, "url": "http://127.0.0.1:8080/"}

    assert new_source(document, allow_private=True).url == "http://127.0.0.1:8080/"


def test_a_change_keeps_what_it_does_not_name_and_null_is_the_default() -> None:
    changed = changed_source(SAVED, {"enabled": False, "max_depth": None}, allow_private=False)

    assert changed == replace(SAVED, enabled=False, max_depth=0)
    with pytest.raises(InvalidSource, match="name: is required"):
        changed_source(SAVED, {"name": None}, allow_private=False)


def test_a_replacement_keeps_only_what_the_crawler_wrote() -> None:
    replaced = replaced_source(SAVED, MINIMAL, allow_private=False)

    assert replaced == replace(SAVED, max_depth=0)
    assert {name for name in WRITTEN_HERE if getattr(replaced, name)} >= {"source_id", "version"}


@pytest.mark.req("S1.15.6", part="warning about a deep source")
@pytest.mark.parametrize(("depth", "warned"), [(0, False), (5, False), (6, True), (10, True)])
def test_a_depth_above_five_is_warned_about(depth: int, warned: bool) -> None:
    found = warnings_about(new_source({**MINIMAL, "max_depth": depth}, allow_private=False))

    assert [text.startswith("max_depth: ") for text in found] == [True] * warned


def test_every_field_of_the_event_is_in_a_document_or_written_here() -> None:
    names = {field.name for field in dataclass_fields(SourceSaved)}

    assert set(FIELDS) | WRITTEN_HERE == names
