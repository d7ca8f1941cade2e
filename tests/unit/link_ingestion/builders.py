"""Pages, seeds and rules as tests need them: only what a case is about is said."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from strider.contracts.generated.events import CrawlSpecDeclared, PageParsed, PageValidated, Verdict
from strider.contracts.specs.crawl_specs import spec_id
from strider.link_ingestion.core import LinkAdmission, LinkFilters, SpecRules, admit_links, compile_rules
from strider.urls import origin_of, url_hash, url_key_of

PAGE_URL = "https://www.a.test/dir/page"


def hash_of(url: str) -> str:
    return url_hash(url_key_of(url))


def a_spec(**changes: Any) -> CrawlSpecDeclared:
    spec = CrawlSpecDeclared(crawl_spec_id="", **changes)
    return CrawlSpecDeclared(**{**changes, "crawl_spec_id": spec_id(spec)})


def some_rules(**changes: Any) -> SpecRules:
    return compile_rules(a_spec(**changes))


def a_page(*links: str, **changes: Any) -> PageParsed:
    url = changes.pop("url", PAGE_URL)
    fields: dict[str, Any] = {
        "url": url,
        "url_key": hash_of(url),
        "origin": origin_of(url),
        "group": origin_of(url).partition("//")[2].partition(":")[0],
        "job_id": "adhoc",
        "execution_id": "adhoc-20260202-0123456789ab",
        "crawl_spec_id": a_spec().crawl_spec_id,
        "fetch_sequence": 7,
        "outcome": "parsed",
        "parser": "strider",
        "parser_version": "1",
        "fetched_at_ms": 1_770_000_000_000,
        "link_urls": links,
        "links_found": len(links),
    }
    return PageParsed(**(fields | changes))


def validated(page: PageParsed) -> PageValidated:
    return PageValidated(page, Verdict("valid", "1", 1_770_000_000_500))


def admitted(
    page: PageParsed,
    rules: SpecRules | None = None,
    *,
    allow_private: bool = False,
    listed: int = 200,
    feeds: bool = False,
) -> LinkAdmission:
    grounds = LinkFilters(allow_private=allow_private)
    return admit_links(page, grounds.filter_for(page.url, rules or some_rules()), listed=listed, feeds=feeds)


def taken(admission: LinkAdmission) -> list[str]:
    """URLs against which no word stands."""
    return [
        url
        for each in admission.candidates
        for url, doubt in zip(each.urls, each.objections, strict=True)
        if not doubt
    ]


def doubted(admission: LinkAdmission) -> dict[str, str]:
    return {
        url: str(doubt)
        for each in admission.candidates
        for url, doubt in zip(each.urls, each.objections, strict=True)
        if doubt
    }


def refused(admission: LinkAdmission) -> dict[str, str]:
    told = admission.refusals
    return {url: str(reason) for url, reason in zip(told.urls, told.reasons, strict=True)}


def numbered(count: int, host: str = "www.a.test") -> Sequence[str]:
    return tuple(f"https://{host}/n/{number}" for number in range(count))
