"""The way in, from topic to topic: order of words, failures, repeats, and what a batch costs."""

from __future__ import annotations

import json
from collections.abc import Callable, Coroutine
from typing import Any

import pytest

from strider.contracts.generated.events import (
    CrawlSpecDeclared,
    PageRejected,
    SeedSubmitted,
)
from strider.contracts.generated.topics import (
    CRAWL_SPECS,
    LINK_INGESTION_DLQ,
    LINKS_DISCOVERED,
    PAGES_REJECTED,
    PAGES_SETTLED,
    PAGES_VALIDATED,
    SEEDS_SUBMITTED,
    URLS_DECIDED,
)
from strider.contracts.ids import key_fingerprint, seen_scope
from strider.contracts.multipart_pages import MORE_PARTS_HEADERS, closing_headers
from strider.contracts.partitioning import shard_of_host
from strider.contracts.specs.crawl_specs import spec_from_seed
from strider.frontier.models import RefusedFingerprint
from strider.link_ingestion.topology import PAGES_GROUP, SEEDS_GROUP
from strider.messaging.inprocess import simulate

from .builders import a_page, a_spec, hash_of, numbered, validated
from .world import SHARDS, World

HOME = "https://www.a.test"
LARGE = json.dumps({"metadata": {"x": "x" * 70_000}, "url": "https://a.test/x"}).encode()
Scenario = Callable[[World], Coroutine[Any, Any, None]]


def play(scenario: Scenario, **world: Any) -> World:
    """Run a scenario in virtual time, and stop what still runs."""

    async def play() -> World:
        made = World(**world)
        await scenario(made)
        await made.stop()
        return made

    return simulate(play())


async def know(world: World, *urls: str) -> None:
    """Let the frontier know URLs of the default spec, as its owner does."""
    scope = seen_scope("adhoc", a_spec().crawl_spec_id)
    for shard in range(SHARDS):
        await world.frontier.take_over(shard, 1)
        await world.frontier.begin_rebuild(shard, 1)
        await world.frontier.finish_rebuild(shard, 1, groups=(), sequence=0)
        seen = [
            RefusedFingerprint(scope, key_fingerprint(hash_of(url)))
            for url in urls
            if shard_of_host(url.split("/")[2], SHARDS) == shard
        ]
        await world.frontier.accept(shard, 1, [], refused=seen)


async def declare(world: World, *specs: CrawlSpecDeclared) -> None:
    await world.say(CRAWL_SPECS, *specs)


@pytest.mark.req("S3.11.1", "S3.11.2", "S3.11.4")
def test_a_pages_new_links_go_to_their_shards_and_the_page_is_settled() -> None:
    """The whole way: refused ones get a decision, known ones are counted, new ones are published."""
    page = a_page(f"{HOME}/known", f"{HOME}/new", "https://other.test/", f"{HOME}/x.jpg", text_hash="t")

    async def scenario(world: World) -> None:
        await declare(world, a_spec())
        await know(world, f"{HOME}/known")
        await world.say(PAGES_VALIDATED, validated(page))
        world.start()
        await world.drained()

    world = play(scenario)
    run = page.job_id, page.execution_id
    assert world.noted == {
        ("Links found", *run, "new"): 1,
        ("Links found", *run, "known"): 1,
        ("Links found", *run, "refused"): 2,
    }
    (links,) = world.events(LINKS_DISCOVERED)
    (record,) = world.records(LINKS_DISCOVERED)
    assert (links.urls, links.from_urls, links.from_vias, links.depths) == (
        (f"{HOME}/new",),
        (page.url,),
        ("link",),
        (1,),
    )
    assert record.partition == links.shard == shard_of_host("www.a.test", SHARDS)
    assert world.decided() == {"https://other.test/": "out_of_scope", f"{HOME}/x.jpg": "refused_file_type"}
    (settled,) = world.events(PAGES_SETTLED)
    assert (settled.verdict, settled.fetch_sequence, settled.text_hash) == ("valid", 7, "t")
    assert (settled.links_found, settled.links_taken, settled.links_seen, settled.links_refused) == (
        4,
        1,
        1,
        2,
    )


def test_a_batch_costs_one_question_and_a_message_a_shard() -> None:
    """O(shards), not O(links) and not O(pages)."""
    pages = [a_page(*numbered(50, f"h{n}.test"), url=f"https://h{n}.test/", depth=0) for n in range(30)]

    async def scenario(world: World) -> None:
        await declare(world, a_spec())
        await world.say(PAGES_VALIDATED, *(validated(page) for page in pages))
        world.start()
        await world.drained()

    world = play(scenario)
    shards = {shard_of_host(f"h{n}.test", SHARDS) for n in range(30)}
    links = world.events(LINKS_DISCOVERED)
    assert world.seen.asked <= 2
    assert sum(len(event.urls) for event in links) == 30 * 50
    assert len(links) <= len(shards) * (1 + 30 * 50 // 500 // len(shards) + 1) * world.seen.asked
    assert len(world.events(PAGES_SETTLED)) == 30
    assert world.events(URLS_DECIDED) == []


def test_links_are_acknowledged_before_their_page_is_settled() -> None:
    """Otherwise "nothing is open" could be said while links are on their way, and the crawl would end."""
    page = a_page(f"{HOME}/new")

    async def scenario(world: World) -> None:
        await declare(world, a_spec())
        world.broker.topics.pop(LINKS_DISCOVERED.name)
        await world.say(PAGES_VALIDATED, validated(page))
        world.start()
        await world.until(lambda: world.seen.asked)
        await world.clock.sleep(30)
        assert world.events(PAGES_SETTLED) == []
        assert world.committed(PAGES_VALIDATED, PAGES_GROUP) == 0
        world.broker.declare_topic(LINKS_DISCOVERED, shards=SHARDS)
        await world.drained()

    world = play(scenario)
    assert world.discovered() == [f"{HOME}/new"]
    assert len(world.events(PAGES_SETTLED)) == 1


def test_a_seen_set_out_of_reach_is_waited_for() -> None:
    """No page is settled unasked, and none is lost."""

    async def scenario(world: World) -> None:
        await declare(world, a_spec())
        world.seen.is_away = True
        await world.say(PAGES_VALIDATED, validated(a_page(f"{HOME}/new")))
        world.start()
        await world.clock.sleep(60)
        assert (world.events(PAGES_SETTLED), world.events(LINK_INGESTION_DLQ)) == ([], [])
        world.seen.is_away = False
        await world.drained()

    assert play(scenario).discovered() == [f"{HOME}/new"]


def test_a_shard_that_is_not_ready_knows_nothing() -> None:
    """While it is rebuilt more links than needed travel; the scheduler decides again."""

    async def scenario(world: World) -> None:
        await declare(world, a_spec())
        await world.say(PAGES_VALIDATED, validated(a_page(f"{HOME}/a")))
        world.start()
        await world.drained()

    assert play(scenario).discovered() == [f"{HOME}/a"]


def test_a_page_of_an_undeclared_spec_is_settled_and_its_links_are_refused() -> None:
    """Its entry must close; how far its links may lead is not known."""

    async def scenario(world: World) -> None:
        await world.say(PAGES_VALIDATED, validated(a_page(f"{HOME}/a", crawl_spec_id="f" * 64)))
        world.start()
        await world.drained()

    world = play(scenario)
    assert world.decided() == {f"{HOME}/a": "unknown_spec"}
    assert [each.verdict for each in world.events(PAGES_SETTLED)] == ["valid"]
    assert world.discovered() == []


def test_without_the_topic_of_specs_pages_wait() -> None:
    """Absent is only what was looked for."""

    async def scenario(world: World) -> None:
        await world.say(PAGES_VALIDATED, validated(a_page(f"{HOME}/a")))
        world.start()
        await world.clock.sleep(60)
        assert world.events(PAGES_SETTLED) == []
        world.broker.declare_topic(CRAWL_SPECS, shards=SHARDS)
        await declare(world, a_spec())
        await world.drained()

    assert play(scenario, has_specs_topic=False).discovered() == [f"{HOME}/a"]


def test_rejected_pages_are_settled_at_once() -> None:
    """They have no links to follow; their reason goes to who decides what comes next."""

    def rejected(number: int) -> PageRejected:
        return PageRejected(
            url_key=f"{number:064x}",
            group=f"h{number}.test",
            job_id="j",
            execution_id="e",
            fetch_sequence=number,
            validation_status="rejected",
            rejection_reason="captcha",
            rejection_kind="hard",
            rejected_by="validator",
            rejected_at_ms=5,
        )

    async def scenario(world: World) -> None:
        await world.say(PAGES_REJECTED, *(rejected(number) for number in range(5)))
        world.start()
        await world.drained()

    world = play(scenario)
    settled = world.events(PAGES_SETTLED)
    assert sorted(each.fetch_sequence for each in settled) == list(range(5))
    assert {(each.verdict, each.reason) for each in settled} == {("rejected", "captcha")}
    assert [record.partition for record in world.records(PAGES_SETTLED)] == sorted(
        shard_of_host(f"h{number}.test", SHARDS) for number in range(5)
    )


def test_a_page_that_cannot_be_read_is_settled_from_its_headers() -> None:
    """Its entry must not stay open for ever; its neighbours are handled."""
    page = a_page(f"{HOME}/a")
    shard = shard_of_host("www.a.test", SHARDS)

    async def scenario(world: World) -> None:
        await declare(world, a_spec())
        headers = PAGES_VALIDATED.headers_of(validated(page))
        world.put(PAGES_VALIDATED, b"\xc3\x01no page", partition=shard, headers=headers)
        await world.say(PAGES_VALIDATED, validated(a_page(f"{HOME}/b", url=f"{HOME}/good")))
        world.start()
        await world.drained()

    world = play(scenario)
    assert {each.url_key: each.verdict for each in world.events(PAGES_SETTLED)} == {
        page.url_key: "given_up",
        hash_of(f"{HOME}/good"): "valid",
    }
    assert len(world.events(LINK_INGESTION_DLQ)) == 1


def test_only_the_last_part_of_a_sitemap_settles_it() -> None:
    """Before that, links are still to come."""
    parts = [
        a_page(document_kind="sitemap", entry_urls=(f"{HOME}/{n}",), part=n, is_last_part=n == 3)
        for n in (1, 2, 3)
    ]

    async def scenario(world: World) -> None:
        await declare(world, a_spec())
        await world.say(PAGES_VALIDATED, *(validated(part) for part in parts))
        world.start()
        await world.drained()

    world = play(scenario)
    assert len(world.events(PAGES_SETTLED)) == 1
    assert world.discovered() == [f"{HOME}/1", f"{HOME}/2", f"{HOME}/3"]


def test_a_part_that_cannot_be_read_leaves_the_settlement_to_the_last_one() -> None:
    """Links of parts behind it are still to come."""
    last = a_page(document_kind="sitemap", entry_urls=(f"{HOME}/2",), part=2)
    shard = shard_of_host("www.a.test", SHARDS)

    async def scenario(world: World) -> None:
        await declare(world, a_spec())
        headers = (*PAGES_VALIDATED.headers_of(validated(last)), *MORE_PARTS_HEADERS)
        world.put(PAGES_VALIDATED, b"\xc3\x01no page", partition=shard, headers=headers)
        await world.say(PAGES_VALIDATED, validated(last))
        world.start()
        await world.drained()

    world = play(scenario)
    assert [each.verdict for each in world.events(PAGES_SETTLED)] == ["valid"]
    assert len(world.events(LINK_INGESTION_DLQ)) == 1


def test_replayed_messages_change_nothing() -> None:
    """A replay is for the read models; what it crawled was crawled."""
    replay = (("replay-id", b"r1"),)

    async def scenario(world: World) -> None:
        await world.say(PAGES_VALIDATED, validated(a_page(f"{HOME}/a")), headers=replay)
        world.start()
        await world.drained()

    world = play(scenario)
    assert (world.discovered(), world.events(PAGES_SETTLED), world.events(CRAWL_SPECS)) == ([], [], [])


@pytest.mark.req("S3.4.7")
@pytest.mark.req("S3.4.10", part="a seed becomes a link with high priority")
def test_a_json_seed_becomes_a_link_at_depth_0() -> None:
    """Public intake: one URL, any client; the spec is there before the link."""

    async def scenario(world: World) -> None:
        world.put(SEEDS_SUBMITTED, json.dumps({"url": "https://a.test/x", "max_depth": 2}).encode())
        world.start()
        await world.drained()

    world = play(scenario)
    spec = spec_from_seed(SeedSubmitted(url="https://a.test/x", max_depth=2))
    (seed,) = world.records(SEEDS_SUBMITTED)
    (links,) = world.events(LINKS_DISCOVERED)
    assert world.events(CRAWL_SPECS) == [spec]
    assert (links.urls, links.depths, links.priorities, links.from_vias) == (
        ("https://a.test/x",),
        (0,),
        (3,),
        ("seed",),
    )
    assert (links.from_job_ids, links.from_crawl_spec_ids) == (("adhoc",), (spec.crawl_spec_id,))
    assert (links.seed_topics, links.seed_partitions, links.seed_offsets) == (
        ("seeds-submitted",),
        (seed.partition,),
        (seed.offset,),
    )
    assert world.records(LINKS_DISCOVERED)[0].partition == shard_of_host("a.test", SHARDS)


@pytest.mark.parametrize(
    ("sent", "url", "key", "why"),
    [
        pytest.param(LARGE, "https://a.test/x", hash_of("https://a.test/x"), "too_large", id="too-large"),
        pytest.param(
            b'{"url": "https://A.test/x#y", "max_deph": 2}',
            *("https://a.test/x", hash_of("https://a.test/x"), "unknown_field"),
            id="misspelt",
        ),
        pytest.param(
            b'{"url": "https://a.test/\\ud800"}', r"https://a.test/\ud800", "", "bad_value", id="no-url"
        ),
        pytest.param(
            b'{"url": "https://a.test/x", ',
            *("https://a.test/x", hash_of("https://a.test/x"), "bad_json"),
            id="no-json",
        ),
        pytest.param(b"what?", "", "", "bad_magic", id="nothing"),
    ],
)
def test_an_unreadable_seed_is_a_decision_about_its_url(sent: bytes, url: str, key: str, why: str) -> None:
    """It is a dead letter as well; but people ask by URL, and a large one stands in no letter."""

    async def scenario(world: World) -> None:
        world.put(SEEDS_SUBMITTED, sent)
        world.start()
        await world.drained()

    world = play(scenario)
    (letter,) = world.events(LINK_INGESTION_DLQ)
    told = [
        (*each, event.details[0].partition(":")[0])
        for event in world.events(URLS_DECIDED)
        for each in zip(event.urls, event.url_keys, event.reasons, strict=True)
    ]
    assert letter.reason == why
    assert told == ([(url, key, "bad_seed", why)] if url else [])


def test_a_spec_is_acknowledged_before_the_first_link_that_names_it() -> None:
    """Every reader of the link must find the spec, whatever crashes when."""

    async def scenario(world: World) -> None:
        world.put(SEEDS_SUBMITTED, b'{"url": "https://a.test/", "crawl_spec_id": null}')
        world.start()
        await world.clock.sleep(60)
        assert world.events(LINKS_DISCOVERED) == []
        world.broker.declare_topic(CRAWL_SPECS, shards=SHARDS)
        await world.drained()

    world = play(scenario, has_specs_topic=False)
    assert world.discovered() == ["https://a.test/"]
    assert len(world.events(CRAWL_SPECS)) == 1


def test_a_thousand_seeds_with_the_same_options_are_one_spec_and_few_messages() -> None:
    """A list of URLs is sent line by line."""

    async def scenario(world: World) -> None:
        seeds = [SeedSubmitted(url=f"https://h{n % 7}.test/{n}", max_depth=1) for n in range(1000)]
        await world.say(SEEDS_SUBMITTED, *seeds)
        world.start()
        await world.drained()

    world = play(scenario)
    assert len(world.discovered()) == 1000
    assert len(world.events(CRAWL_SPECS)) == 1
    assert len(world.events(LINKS_DISCOVERED)) <= 4 * SHARDS


def test_an_invalid_seed_is_a_decision_and_no_dead_letter() -> None:
    """Bytes that are no seed are one; a flood of typing mistakes must not trip the breaker."""

    async def scenario(world: World) -> None:
        for url in ("example.com", "ftp://a.test/", "http://localhost/", "https://good.test/"):
            await world.say(SEEDS_SUBMITTED, SeedSubmitted(url=url, job_id="j1"))
        await world.say(SEEDS_SUBMITTED, SeedSubmitted(url="https://a.test/", include=("re:(",)))
        world.put(SEEDS_SUBMITTED, b'{"url": 7}')
        world.start()
        await world.drained()

    world = play(scenario)
    assert world.decided() == {
        "example.com": "bad_url",
        "ftp://a.test/": "refused_scheme",
        "http://localhost/": "policy_blocked",
        "https://a.test/": "bad_seed",
    }
    assert world.discovered() == ["https://good.test/"]
    assert [letter.reason for letter in world.events(LINK_INGESTION_DLQ)] == ["wrong_type"]
    told = world.events(URLS_DECIDED)
    assert {each.decided_by for each in told} == {"link-ingestion"}
    assert {each.page_url for each in told} == {""}


def test_refused_seeds_in_great_number_fit_their_topic() -> None:
    """Two hundred of the longest texts that are recorded: no message may be too large to be sent."""

    async def scenario(world: World) -> None:
        seeds = [SeedSubmitted(url="ü" * 2000, job_id="ü" * 200, execution_id="ü" * 200) for _ in range(200)]
        await world.say(SEEDS_SUBMITTED, *seeds)
        world.start()
        await world.drained()

    world = play(scenario)
    assert sum(len(each.urls) for each in world.events(URLS_DECIDED)) == 200
    assert world.events(LINK_INGESTION_DLQ) == []


def test_a_declared_spec_is_found_for_a_seed_that_names_it() -> None:
    """Jobs declare once, and their seeds name it."""
    spec = a_spec(max_depth=9)

    async def scenario(world: World) -> None:
        await declare(world, spec)
        await world.say(
            SEEDS_SUBMITTED, SeedSubmitted(url="https://a.test/", crawl_spec_id=spec.crawl_spec_id)
        )
        await world.say(SEEDS_SUBMITTED, SeedSubmitted(url="https://b.test/", crawl_spec_id="absent"))
        world.start()
        await world.drained()

    world = play(scenario)
    (links,) = world.events(LINKS_DISCOVERED)
    assert links.from_crawl_spec_ids == (spec.crawl_spec_id,)
    assert world.decided() == {"https://b.test/": "unknown_spec"}


def test_seeds_are_handled_while_pages_wait() -> None:
    """Two consumers: neither stops the other."""

    async def scenario(world: World) -> None:
        world.seen.is_away = True
        await declare(world, a_spec())
        await world.say(PAGES_VALIDATED, validated(a_page(f"{HOME}/a")))
        await world.say(SEEDS_SUBMITTED, SeedSubmitted(url="https://a.test/"))
        world.start()
        await world.until(lambda: world.committed(SEEDS_SUBMITTED, SEEDS_GROUP) == 1)
        assert world.discovered() == ["https://a.test/"]
        world.seen.is_away = False
        await world.drained()

    play(scenario)


def test_a_stop_in_the_middle_loses_no_link() -> None:
    """What was not committed comes again, and is settled by the next process."""
    pages = [a_page(f"{HOME}/{n}", url=f"{HOME}/p{n}", fetch_sequence=n) for n in range(20)]

    async def scenario(world: World) -> None:
        await declare(world, a_spec())
        world.seen.is_away = True
        await world.say(PAGES_VALIDATED, *(validated(page) for page in pages))
        world.start()
        await world.until(lambda: world.seen.asked)
        await world.stop()
        world.seen.is_away = False
        world.start()
        await world.drained()

    world = play(scenario)
    assert world.discovered() == sorted(f"{HOME}/{n}" for n in range(20))
    assert sorted(each.fetch_sequence for each in world.events(PAGES_SETTLED)) == list(range(20))


def test_refusals_are_listed_up_to_the_setting() -> None:
    """`LINK_INGESTION_REFUSALS_LISTED`; the number of the rest is recorded."""

    async def scenario(world: World) -> None:
        await declare(world, a_spec())
        await world.say(PAGES_VALIDATED, validated(a_page(*numbered(9, "other.test"))))
        world.start()
        await world.drained()

    (told,) = play(scenario, refusals_listed=4).events(URLS_DECIDED)
    assert (len(told.urls), told.not_listed, told.page_url) == (4, 5, a_page().url)
    assert (told.url_key, told.depths, told.crawl_spec_id) == (
        a_page().url_key,
        (1, 1, 1, 1),
        a_spec().crawl_spec_id,
    )


def test_an_event_that_only_closes_an_entry_has_the_full_reason() -> None:
    async def scenario(world: World) -> None:
        page = a_page(outcome="crashed", error_message="handler_crashed")
        await world.say(PAGES_VALIDATED, validated(page), headers=closing_headers("handler_crashed"))
        world.start()
        await world.drained()

    (settled,) = play(scenario).events(PAGES_SETTLED)
    assert (settled.reason, settled.detail) == ("handler_crashed", "handler_crashed")
