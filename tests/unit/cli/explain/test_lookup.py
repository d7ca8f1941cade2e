"""Dead-lettered seeds are found by the URL in their bytes."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from strider.cli.explain.facts import lost_seed_fact
from strider.cli.explain.lookup import UrlTopicReader, is_about
from strider.cli.explain.subject import parse_subject
from strider.contracts import UnknownSchema
from strider.contracts.avro.codec import Codec
from strider.contracts.avro.schema_store import SchemaStore
from strider.contracts.generated.events import DeadLetter
from strider.contracts.generated.topics import FRONTIER, HOSTS, LINK_INGESTION_DLQ
from strider.messaging.inprocess import EventLoopClock, InProcessBroker, InProcessBus, simulate
from strider.messaging.ports import OutgoingMessage

URL = "https://www.example.org/a"
AVRO = b"\xc3\x01fingerpr" + bytes([2 * len(URL)]) + URL.encode()
AT = datetime(2026, 11, 18, 12, 0, 1, tzinfo=UTC)
AT_MS = int(AT.timestamp() * 1000)


def a_letter(**fields: Any) -> DeadLetter:
    standard: dict[str, Any] = {
        "service": "link-ingestion",
        "group": "link-ingestion-seeds",
        "topic": "seeds-submitted",
        "partition": 1,
        "offset": 2,
        "reason": "bad_json",
        "category": "decode",
        "occurred_at_ms": AT_MS,
    }
    return DeadLetter(**(standard | fields))


@pytest.mark.parametrize(
    ("raw", "url"),
    [
        pytest.param(f'{{"url": "{URL}", "max_dpeth": 2}}'.encode(), URL, id="json"),
        pytest.param(b'{"url":"HTTPS://WWW.EXAMPLE.ORG:443/a#top","scope":"x"}', URL, id="written-otherwise"),
        pytest.param(rb'{"url":"https:\/\/www.example.org\/a"', URL, id="slashes-escaped"),
        pytest.param(b"\xc3\x01\x04" + URL.encode() + b"\x00\x02", URL, id="in-some-framing"),
        pytest.param(AVRO + b"\x00\x02https://b.test/", URL, id="avro"),
        pytest.param(b"\0\0\0\0\7" + AVRO[10:] + b"more", URL, id="a-registrys-framing"),
        pytest.param(b'{"url": "https://a.test/caf\\u00e9"}', "https://a.test/caf%C3%A9", id="escaped"),
        pytest.param(b'{"url": "https://a.test/\\u0000x"}', "https://a.test/%00x", id="nul-in-the-path"),
        pytest.param(b'{"url": "https://a.test/\\ud800"}', r"https://a.test/\ud800", id="half-a-pair"),
        pytest.param(b'{"url": "https://a\\u0000.test/"}', r"https://a\u0000.test/", id="nul-in-the-host"),
        pytest.param(b'{"url": "https://a.test/\xff"}', "https://a.test/\udcff", id="no-utf-8"),
        pytest.param(
            b'{"metadata": {"x": "%s"}, "url": "%s"}' % (b"x" * 70_000, URL.encode()), URL, id="large"
        ),
        pytest.param(b"url=www.example.org", "www.example.org", id="no-url-at-all"),
        pytest.param(b'{"url": "ftp://a.test/x", "scope": 1}', "ftp://a.test/x", id="no-url-of-ours"),
    ],
)
def test_an_unreadable_seed_is_found(raw: bytes, url: str) -> None:
    """Such a seed has no key: its bytes are all there is."""
    assert is_about(a_letter(value=raw), parse_subject(url))
    assert is_about(a_letter(value=raw, topic="seeds-owned"), parse_subject(url))


@pytest.mark.parametrize(
    ("fields", "url"),
    [
        pytest.param({"value": f'{{"url": "{URL}/b"}}'.encode()}, URL, id="a-longer-url"),
        pytest.param({"value": b"ftp://a.test/x/y"}, "ftp://a.test/x", id="a-longer-text"),
        pytest.param({"value": b'{"url": ""}'}, "", id="nothing"),
        pytest.param({"value": b'{"url": "https://a.test/\\u0000x"}'}, "https://a.test/", id="before-a-nul"),
        pytest.param(
            {"value": b'{"url": "https://a.test/\\ud800"}'}, "https://a.test/", id="before-half-a-pair"
        ),
        pytest.param(
            {"value": b'{"url": "https://a.test/\xff"}'}, "https://a.test/%EF%BF%BD", id="a-sign-for-it"
        ),
        pytest.param({"value": b'{"url": "https://a.test/\\ud800"}'}, "https://a.test/?", id="another-sign"),
        pytest.param(
            {"value": b'{"url": "https://b.test/", "referrer": "%s"}' % URL.encode()}, URL, id="beside"
        ),
        pytest.param({"value": None}, URL, id="a-tombstone"),
        pytest.param({"value": URL.encode(), "topic": "pages-validated"}, URL, id="no-seed"),
    ],
)
def test_a_dead_letter_about_another_url_is_not_shown(fields: dict[str, Any], url: str) -> None:
    assert not is_about(a_letter(**fields), parse_subject(url))


def test_an_unreadable_seed_is_reported() -> None:
    """With its sentence once, its position, and its bytes as text."""
    letter = a_letter(
        value=b"{\xff",
        reason="unknown_field",
        error_message="unknown_field: 'max_dpeth'; did you mean 'max_depth'?",
    )

    fact = lost_seed_fact(letter)

    assert (fact.at, fact.reported_by, fact.kind, fact.text, fact.details["value"]) == (
        AT,
        "link-ingestion",
        "dead_letter",
        (
            "could not decode it as a seed: unknown_field. A field is not known."
            " Error: 'max_dpeth'; did you mean 'max_depth'? (seeds-submitted[1]@2)"
        ),
        "{\\xff",
    )


class NoSchemas:
    """A source without schemas beyond those of this version."""

    async def find(self, *unknown: UnknownSchema) -> bool:
        """Find no schema."""
        return False


async def told_by_the_log(url: str, *letters: DeadLetter, job: str = "") -> list[str]:
    """Read a topic with these dead letters, and nothing else."""
    broker, codec = InProcessBroker(clock=EventLoopClock()), Codec(SchemaStore.bundled())
    for topic in (LINK_INGESTION_DLQ, FRONTIER, HOSTS):
        broker.create_topic(topic.name, 1)
    bus = InProcessBus(broker)
    producer = await bus.producer()
    for letter in letters:
        encoded = codec.encode(LINK_INGESTION_DLQ, letter)
        await (await producer.send(OutgoingMessage(LINK_INGESTION_DLQ.name, None, encoded.value)))
    await producer.close()
    return [
        fact.text for fact in await UrlTopicReader(bus, codec, NoSchemas()).facts(parse_subject(url), job)
    ]


def test_unreadable_seeds_are_looked_up_in_the_log() -> None:
    """Those that name the URL; none for a single job, which they cannot name."""
    mine = a_letter(value=f'{{"url": "{URL}"'.encode(), offset=7)
    other = a_letter(value=b'{"url": "https://b.test/"')
    no_url = a_letter(value=b"ftp://b.test/", reason="bad_magic", offset=9)

    async def scenario() -> None:
        keyed = await told_by_the_log(URL, mine, other, no_url)
        keyless = await told_by_the_log("ftp://b.test/", mine, other, no_url)

        assert [sentence[-22:] for sentence in keyed] == ["(seeds-submitted[1]@7)"]
        assert [sentence[-22:] for sentence in keyless] == ["(seeds-submitted[1]@9)"]
        assert await told_by_the_log(URL, mine, job="news") == []

    simulate(scenario())
