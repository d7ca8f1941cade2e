"""Seeds of strangers: what their bytes and headers say costs them a refusal, and no other seed anything."""

from __future__ import annotations

import pytest

from strider.contracts.generated.events import SeedSubmitted
from strider.contracts.generated.topics import LINK_INGESTION_DLQ, SEEDS_SUBMITTED
from strider.messaging.ports import Header
from tests.unit.link_ingestion.test_topology import play
from tests.unit.link_ingestion.world import World

FLOOD = 130
"""More than the dead-letter breaker takes in a row."""


def avro_seed(world: World, seed: SeedSubmitted, *replaced: tuple[bytes, bytes]) -> bytes:
    """Return a seed in Avro whose words no encoder of ours would write."""
    value = world.codec.encode(SEEDS_SUBMITTED, seed).value
    for word, other in replaced:
        assert len(word) == len(other), "Avro writes the length before a text"
        assert value.count(word) == 1, word
        value = value.replace(word, other)
    return value


@pytest.mark.fault("F22", part="words outside their list")
@pytest.mark.parametrize(
    ("seed", "word", "detail"),
    [
        pytest.param(
            SeedSubmitted(url="https://a.test/", scope="domain"),
            b"domain",
            "scope is 'bogus!', allowed: any, domain, host, listed",
            id="scope",
        ),
        pytest.param(
            SeedSubmitted(url="https://a.test/", extraction="records"),
            b"records",
            "extraction is 'bogus!!', allowed: basic, main, records",
            id="extraction",
        ),
        pytest.param(
            SeedSubmitted(url="https://a.test/", kind="sitemap"),
            b"sitemap",
            "kind is 'bogus!!', allowed: archive, feed, page, pagination, robots, sitemap",
            id="kind",
        ),
    ],
)
@pytest.mark.parametrize("is_signed", [False, True], ids=["raw", "signed"])
def test_words_of_avro_seeds_are_compared_with_their_list(
    seed: SeedSubmitted, word: bytes, detail: str, is_signed: bool
) -> None:
    """JSON is compared when it is decoded; a crawl spec with another word could not be published."""

    async def scenario(world: World) -> None:
        value = avro_seed(world, seed, (word, b"bogus!!"[: len(word)]))
        headers = tuple(world.signature_of(value)) if is_signed else ()
        for _ in range(FLOOD):
            world.put(SEEDS_SUBMITTED, value, headers=headers)
        world.put(SEEDS_SUBMITTED, b'{"url": "https://honest.test/"}')
        world.start()
        await world.drained()

    world = play(scenario)
    assert world.decided() == {"https://a.test/": "bad_seed"}
    assert world.details() == {detail}
    assert (world.discovered(), world.events(LINK_INGESTION_DLQ)) == (["https://honest.test/"], [])


@pytest.mark.fault("F22", part="headers without content")
def test_headers_without_content_stop_nothing() -> None:
    """Kafka allows them, and no client library of a service could tell."""
    names = ("schema-fp", "__value_schema_id", "owner-signature", "traceparent", "ce_id", "entry")
    headers: tuple[Header, ...] = tuple((name, None) for name in names if name != "owner-signature")

    async def scenario(world: World) -> None:
        for _ in range(FLOOD):
            world.put(SEEDS_SUBMITTED, b"\x00\x00\x00\x00\x07junk", headers=headers)
        world.put(SEEDS_SUBMITTED, b'{"url": "https://honest.test/"}', headers=headers)
        world.put(SEEDS_SUBMITTED, b'{"url": "https://b.test/"}', headers=((names[2], None),))
        world.start()
        await world.drained()

    world = play(scenario)
    assert {each.reason for each in world.events(LINK_INGESTION_DLQ)} == {"unknown_schema"}
    assert (world.discovered(), world.decided()) == (
        ["https://honest.test/"],
        {"https://b.test/": "bad_seed"},
    )


@pytest.mark.fault("F22", part="a header that marks a replay")
def test_a_replayed_seed_is_refused_by_the_name_of_the_header() -> None:
    """A replay is for the read models, and seeds are for none; but nothing may vanish without a reason."""
    replay: tuple[Header, ...] = (("replay-id", b"1"),)

    async def scenario(world: World) -> None:
        await world.say(SEEDS_SUBMITTED, SeedSubmitted(url="https://signed.test/"), headers=replay)
        world.put(SEEDS_SUBMITTED, b'{"url": "https://raw.test/"}', headers=replay)
        world.put(SEEDS_SUBMITTED, b'{"url": "https://broken.test/", ', headers=replay)
        world.start()
        await world.drained()

    world = play(scenario)
    assert world.discovered() == []
    assert world.decided() == dict.fromkeys(
        ("https://signed.test/", "https://raw.test/", "https://broken.test/"), "bad_seed"
    )
    assert {detail.partition(":")[0] for detail in world.details()} == {"replay-id", "bad_json"}
