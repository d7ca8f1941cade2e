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


@pytest.mark.fault("F22", part="a JSON seed with a mistake in one field")
def test_a_seed_that_cannot_be_decoded_is_refused_by_the_name_of_its_field() -> None:
    """Also beyond ten a second, where messages that fail for one reason share a dead letter."""
    faults = [
        (b'"maxdepth": 2', "unknown_field: 'maxdepth'; did you mean 'max_depth'?"),
        (b'"max_depth": 11', "bad_value: max_depth is 11, expected 0 to 10"),
        (b'"job_id": [1]', "wrong_type: job_id is a list, expected a text"),
        (b'"headers": {"A\\u0000": "b"}', "bad_value: headers contains a NUL character"),
        (
            b'"headers": {"Authorization": ["s"]}',
            "wrong_type: headers.Authorization is a list, expected a text",
        ),
        (b'"\\ud800": 1', "unknown_field: '\\ud800'; allowed: "),
    ]
    flood = [(b'"field%d": 1' % number, f"unknown_field: 'field{number}'; ") for number in range(FLOOD)]

    async def scenario(world: World) -> None:
        for number, (field, _) in enumerate([*faults, *flood]):
            world.put(SEEDS_SUBMITTED, b'{"url": "https://h%d.test/", %b}' % (number, field))
        world.start()
        await world.drained()

    world = play(scenario)
    assert len(world.events(LINK_INGESTION_DLQ)) < FLOOD
    details = {int(url[9:-6]): detail for url, detail in world.decided_details().items()}
    assert sorted(details) == [*range(len(faults) + FLOOD)]
    for number, (_, expected) in enumerate([*faults, *flood]):
        assert details[number].startswith(expected), details[number]
        assert "; it is kept as the dead letter of seeds-submitted[" in details[number]
        assert len(details[number]) <= 500


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
