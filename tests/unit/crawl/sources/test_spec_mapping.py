"""The crawl spec of a source: job before source before default, each field of a source where it belongs."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import Any

import pytest

from strider.contracts.generated.enums import RequestKind
from strider.contracts.generated.events import CrawlSpecDeclared, SourceSaved
from strider.contracts.specs.crawl_specs import spec_id
from strider.crawl.sources.spec_mapping import (
    DEFAULTS,
    SOURCE_SETTINGS,
    InvalidSetting,
    job_settings,
    setting_origins,
    spec_of_source,
    start_urls,
)

SOURCE = SourceSaved("s", "Example", "https://www.example.org/")

OTHER: dict[str, Any] = {
    "scope": "domain",
    "domains": ("example.net", "shop.example.com"),
    "include": ("*/news/*",),
    "exclude": ("*/tags/*",),
    "max_depth": 5,
    "max_pages": 70,
    "priority": 0,
    "delay_seconds": 2.5,
    "max_concurrent_requests": 4,
    "extraction": "records",
    "parser": "amazon",
    "crawl_frequency_seconds": 200_000,
    "adaptive_scheduling": False,
    "change_basis": "raw",
    "feed_poll_seconds": 600,
    "headers": {"X-One": "1"},
    "insecure_tls": True,
}
"""A value other than the default, for each field of a source that a crawl spec follows from."""


def changed(before: CrawlSpecDeclared, after: CrawlSpecDeclared) -> set[str]:
    names = {field.name for field in fields(CrawlSpecDeclared)} - {"crawl_spec_id"}
    return {name for name in names if getattr(before, name) != getattr(after, name)}


@pytest.mark.parametrize("field", sorted(OTHER))
def test_every_setting_of_a_source_changes_the_fields_of_the_spec_that_are_declared_for_it(
    field: str,
) -> None:
    before, after = spec_of_source(SOURCE), spec_of_source(replace(SOURCE, **{field: OTHER[field]}))

    assert changed(before, after) == {name for name, own in SOURCE_SETTINGS.items() if field in own} - (
        {"insecure_tls_hosts"} if field == "domains" else set()
    )
    assert before.crawl_spec_id != after.crawl_spec_id == spec_id(after)


@pytest.mark.req("S1.15.6", part="the crawl spec of a source")
@pytest.mark.parametrize(("depth", "expected"), [(0, 3), (1, 1), (5, 5), (10, 10)])
def test_depth_zero_of_a_source_means_three(depth: int, expected: int) -> None:
    assert spec_of_source(replace(SOURCE, max_depth=depth)).max_depth == expected


def test_a_job_wins_over_its_source_and_the_source_over_the_default() -> None:
    source = replace(SOURCE, max_depth=5, delay_seconds=2.0, headers={"X-One": "1", "X-Two": "2"})
    defaults = replace(DEFAULTS, use_cookies=True, delay_seconds=9.0)

    spec = spec_of_source(source, {"max_depth": 2, "headers": {"X-Two": "22"}}, defaults)
    origins = {each.field: each.origin for each in setting_origins(source, {"max_depth": 2}, defaults)}

    assert (spec.max_depth, spec.delay_seconds, spec.use_cookies) == (2, 2.0, True)
    assert spec.headers == {"X-One": "1", "X-Two": "22"}
    assert [origins[name] for name in ("max_depth", "delay_seconds", "use_cookies")] == [
        "job",
        "source",
        "default",
    ]


def test_names_of_a_source_are_hosts_or_whole_domains() -> None:
    spec = spec_of_source(replace(SOURCE, domains=("Example.NET.", "shop.example.com"), insecure_tls=True))

    assert (spec.hosts, spec.domains) == (("shop.example.com",), ("example.net",))
    assert spec.insecure_tls_hosts == ("www.example.org", "shop.example.com", "example.net")


@pytest.mark.parametrize(
    ("settings", "field", "detail"),
    [
        ({"max_dept": 1}, "max_dept", "did you mean 'max_depth'"),
        ({"use_cookies": 3}, "use_cookies", "expected true or false"),
        ({"max_depth": 99}, "max_depth", "expected 0 to 10"),
        ({"max_tries": 9_999}, "max_tries", "expected 0 to 1000"),
        ({"scope": "all"}, "scope", "any, domain, host, listed"),
        ({"crawl_spec_id": "x"}, "crawl_spec_id", "unknown"),
        ({"schemes": ["ftp"]}, "schemes", "expected http or https"),
        ({"rendering": "always"}, "rendering", "no renderer yet"),
        ({"headers": {"Host": "x"}}, "headers", "Host is set by the crawler"),
        ({"hosts": ["A b"]}, "hosts", "expected the name of a host"),
        ({"include": [f"a{n}" for n in range(40)]}, "include", ""),
    ],
)
def test_a_wrong_setting_of_a_job_is_refused_by_name(
    settings: dict[str, Any], field: str, detail: str
) -> None:
    with pytest.raises(InvalidSetting) as refused:
        spec_of_source(SOURCE, settings)

    assert detail in refused.value.detail
    assert refused.value.field == field


def test_settings_of_a_job_take_null_for_what_is_not_set_and_zero_depth_for_three() -> None:
    assert job_settings({"max_depth": 0, "parser": None}) == {"max_depth": 3}


def test_a_run_starts_from_each_url_once() -> None:
    source = replace(
        SOURCE,
        start_urls=("https://www.example.org/", "https://www.example.org/b"),
        feed_urls=("https://www.example.org/feed",),
        sitemap_urls=("https://www.example.org/sitemap.xml",),
    )
    more = [
        ("https://www.example.org/feed", RequestKind.FEED),
        ("https://www.example.org/sitemap.xml", RequestKind.SITEMAP),
    ]

    assert start_urls(source) == [
        ("https://www.example.org/", RequestKind.PAGE),
        ("https://www.example.org/b", RequestKind.PAGE),
        *more,
    ]
    assert start_urls(source, url="https://www.example.org/c") == [
        ("https://www.example.org/c", RequestKind.PAGE),
        *more,
    ]
