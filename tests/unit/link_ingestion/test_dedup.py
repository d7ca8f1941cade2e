"""One question for a batch of pages, and the way of each link by its answers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pytest

from strider.contracts.generated.events import PageParsed
from strider.contracts.ids import key_fingerprint
from strider.contracts.partitioning import shard_of_host
from strider.link_ingestion.core import AdmittedPage, LinkBatches, LinkCounts, LinkDeduplicator, SpecRules

from .builders import a_page, admitted, hash_of, refused, some_rules

SHARDS = 12
HOME = "https://www.a.test"
SHARD = shard_of_host("www.a.test", SHARDS)


def visit(page: PageParsed, rules: SpecRules | None = None) -> AdmittedPage:
    rules = rules or some_rules()
    return AdmittedPage(page, rules, admitted(page, rules))


def sift(
    *visits: AdmittedPage, known: Sequence[str] = ()
) -> tuple[Mapping[tuple[int, str], Sequence[int]], list[str]]:
    """Let pages through a sieve whose seen-set knows some URLs; gives the question, and what was taken."""
    fingerprints = {key_fingerprint(hash_of(url)) for url in known}
    sieve, parcels = LinkDeduplicator(SHARDS), LinkBatches(SHARDS, spoken_at_ms=5)
    for each in visits:
        sieve.add(each)
    question = sieve.seen_query()
    sieve.apply({place: [one in fingerprints for one in asked] for place, asked in question.items()}, parcels)
    return question, [url for event in parcels.events() for url in event.urls]


@pytest.mark.req("S3.11.2")
def test_known_links_go_no_further() -> None:
    """They are most of all links; so they must never touch the bus."""
    page = visit(a_page(f"{HOME}/1", f"{HOME}/2"))

    assert sift(page, known=[f"{HOME}/1"])[1] == [f"{HOME}/2"]
    assert page.counts() == LinkCounts(found=2, accepted=1, seen=1)


def test_the_question_is_grouped_by_shard_and_seen_set() -> None:
    """One call a shard, however many pages; specs of the job `adhoc` are kept apart."""
    rules = some_rules(scope="any")
    pages = [
        visit(a_page(f"{HOME}/1", "https://other.test/", job_id="j1"), rules),
        visit(a_page(f"{HOME}/2", job_id="j1", url=f"{HOME}/x"), rules),
        visit(a_page(f"{HOME}/1", crawl_spec_id="c" * 64), rules),
    ]

    def fingerprint(url: str) -> int:
        return key_fingerprint(hash_of(url))

    assert sift(*pages)[0] == {
        (SHARD, "j1"): [fingerprint(f"{HOME}/1"), fingerprint(f"{HOME}/2")],
        (shard_of_host("other.test", SHARDS), "j1"): [fingerprint("https://other.test/")],
        (SHARD, "adhoc." + "c" * 16): [fingerprint(f"{HOME}/1")],
    }


def test_links_that_two_pages_of_a_batch_share_are_published_once() -> None:
    """Pages of one site share their navigation, and come together."""
    pages = [visit(a_page(f"{HOME}/nav", f"{HOME}/{number}", url=f"{HOME}/p{number}")) for number in range(3)]

    assert sorted(sift(*pages)[1]) == sorted([f"{HOME}/nav", *(f"{HOME}/{number}" for number in range(3))])
    assert [page.counts().seen for page in pages] == [0, 1, 1]


def test_runs_do_not_share_what_is_new() -> None:
    """The scheduler may refuse one run's link because that run is over."""
    pages = [visit(a_page(f"{HOME}/nav", execution_id=run)) for run in ("run-1", "run-2")]

    assert sift(*pages)[1] == [f"{HOME}/nav", f"{HOME}/nav"]


def test_a_word_against_a_link_counts_only_where_it_is_new() -> None:
    """Every leaf of a site links to its home page; that was not refused for its depth."""
    page = visit(a_page(HOME + "/", f"{HOME}/deep", depth=3))

    assert sift(page, known=[HOME + "/"])[1] == []
    assert page.counts() == LinkCounts(found=2, accepted=0, seen=1, refused=1)
    assert refused(page.admission) == {f"{HOME}/deep": "too_deep"}
    assert page.admission.refusals.details == ["depth 4, the limit is 3"]


@pytest.mark.parametrize("deep_first", [True, False], ids=["deep first", "deep last"])
def test_a_page_that_may_not_follow_a_link_keeps_no_other_from_it(*, deep_first: bool) -> None:
    """The same link from a page at the limit and from one above it: the second way counts."""
    pages = [visit(a_page(f"{HOME}/b", depth=3, url=f"{HOME}/leaf")), visit(a_page(f"{HOME}/b", depth=1))]

    assert sift(*(pages if deep_first else reversed(pages)))[1] == [f"{HOME}/b"]


def test_too_many_links_are_reported_with_the_limit() -> None:
    """So that a person knows which setting to change."""
    page = visit(a_page(f"{HOME}/1", f"{HOME}/2"), some_rules(max_links_per_page=1))
    sift(page)

    assert page.admission.refusals.details == ["the limit is 1"]


def test_no_links_are_no_question() -> None:
    """Redis is not asked about nothing."""
    assert sift(visit(a_page("https://other.test/"))) == ({}, [])
