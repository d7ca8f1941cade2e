"""Seeds: what is taken, under which names, and the sentence for what is not."""

from __future__ import annotations

from dataclasses import replace
from math import inf, nan
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from strider.contracts.generated.enums import DecisionReason
from strider.contracts.generated.events import SeedSubmitted
from strider.contracts.owner_signature import SenderRole
from strider.contracts.specs.crawl_specs import spec_from_seed
from strider.link_ingestion.core import (
    AcceptedSeed,
    LinkItem,
    LinkOrigin,
    RefusedSeed,
    SeedPosition,
    SeedRules,
    accept_seed,
)
from strider.politeness import ProtectHeaders, refuse_clear_values
from strider.storage.encryption import HeaderCipher
from strider.testing.owner import HEADERS_KEY
from tests.unit.link_ingestion.builders import a_spec, hash_of

NOON_MS = 1_770_000_000_000
PLACE = SeedPosition("seeds-submitted", 3, 41)
DECLARED = a_spec(max_depth=9)

LONG = "x" * 100_000


def sown(
    url: str = "https://a.test/x",
    *,
    sender: SenderRole = SenderRole.OWNER,
    allow_private: bool = False,
    protect_headers: ProtectHeaders = refuse_clear_values,
    **fields: Any,
) -> AcceptedSeed | RefusedSeed:
    return accept_seed(
        SeedSubmitted(url=url, **fields),
        PLACE,
        sender=sender,
        timestamp_ms=NOON_MS,
        known_specs={DECLARED.crawl_spec_id: DECLARED},
        rules=SeedRules(allow_private=allow_private, protect_headers=protect_headers),
    )


@pytest.mark.req("S0.4.5")
def test_a_url_alone_is_a_link_at_depth_0_of_the_standing_job() -> None:
    """The shortest seed that there is; where it stands in its log opens its entry again."""
    spec = spec_from_seed(SeedSubmitted(url="https://a.test/x"))

    assert sown("https://A.test:443/x?utm_source=y#z") == AcceptedSeed(
        item=LinkItem(
            url="https://a.test/x",
            url_key=hash_of("https://a.test/x"),
            depth=0,
            priority=3,
            is_start=True,
            seed=PLACE,
        ),
        origin=LinkOrigin(
            "seed", "", "", "adhoc", f"adhoc-20260202-{spec.crawl_spec_id[:12]}", spec.crawl_spec_id, 0
        ),
        host="a.test",
        spec=spec,
    )


def test_job_run_priority_and_metadata_of_a_seed_are_passed_on() -> None:
    """Job, run, priority, kind, freshness and the sender's own words."""
    answer = sown(
        job_id="j1",
        execution_id="run-9",
        priority=1,
        kind="sitemap",
        fresh=True,
        metadata={"ticket": "7"},
    )

    assert isinstance(answer, AcceptedSeed)
    assert (answer.origin.job_id, answer.origin.execution_id) == ("j1", "run-9")
    assert (answer.item.priority, answer.item.kind, answer.item.is_fresh, answer.item.attachment) == (
        1,
        "sitemap",
        True,
        {"ticket": "7"},
    )


def test_a_declared_spec_is_named_and_not_declared_again() -> None:
    """A job's scheduler has declared it; what else the seed says about crawling gives way to it."""
    answer = sown(crawl_spec_id=DECLARED.crawl_spec_id, max_depth=2)

    assert isinstance(answer, AcceptedSeed)
    assert (answer.spec, answer.origin.crawl_spec_id) == (None, DECLARED.crawl_spec_id)


def test_a_seed_is_held_to_no_scope() -> None:
    """Patterns and file types are about what is followed; the person has named this URL."""
    assert isinstance(sown("https://a.test/x.jpg", exclude=("*",), scope="listed"), AcceptedSeed)


@pytest.mark.parametrize(
    ("url", "reason", "detail"),
    [
        ("example.com/a", "bad_url", "without a scheme; did you mean https://example.com/a?"),
        ("http://[", "bad_url", ""),
        ("not a url at all", "bad_url", ""),
        ("http://a..b/", "bad_url", "bad_host"),
        ("ftp://a.test/", "refused_scheme", "other"),
        ("mailto:a@b.test", "refused_scheme", "no_page"),
        (f"https://a.test/{'x' * 3000}", "url_too_long", ""),
        ("http://localhost/", "policy_blocked", "private_address"),
        ("http://0x7f.1/", "policy_blocked", "private_address"),
        ("http://169.254.169.254/", "policy_blocked", "metadata_address"),
    ],
)
def test_a_bad_url_has_its_word(url: str, reason: str, detail: str) -> None:
    """A person reads this, and corrects the line."""
    answer = sown(url)

    assert isinstance(answer, RefusedSeed)
    assert (answer.reason, answer.detail) == (reason, detail)


@pytest.mark.parametrize(
    ("fields", "detail"),
    [
        ({"max_depth": -1}, "max_depth is -1, expected 0 to 10"),
        ({"max_depth": 11}, "max_depth is 11, expected 0 to 10"),
        ({"delay": 1e9}, "delay is 1000000000, expected 0 to 86400"),
        ({"delay": 1e12}, "delay is 1000000000000, expected 0 to 86400"),
        ({"delay": -1.0}, "delay is -1, expected 0 to 86400"),
        ({"delay": nan}, "delay is nan, expected 0 to 86400"),
        ({"delay": inf}, "delay is inf, expected 0 to 86400"),
        ({"priority": 9}, "priority is 9, expected 0 to 3"),
        ({"max_pages": -5}, "max_pages is -5, expected 0 to 1000000000000"),
        ({"job_id": "a b"}, "job_id contains a blank, a brace or a control character"),
        ({"job_id": "{1}"}, "job_id contains a blank, a brace or a control character"),
        ({"execution_id": "x" * 201}, "execution_id has 201 characters, the limit is 200"),
        ({"kind": "robots"}, "kind is 'robots', which seeds may not request"),
        ({"include": ("re:(",)}, "include: 're:(': missing ): ("),
        ({"exclude": ("",)}, "exclude: a pattern of 0 characters, expected 1 to 512"),
        ({"headers": {"Host": "b.test"}}, "headers: Host is set by the crawler and cannot be changed"),
        ({"headers": {"a b": "x"}}, "headers: 'a b' is not a valid header name"),
        (
            {"headers": {"X": "a\r\nHost: b"}},
            "headers: the value of X contains a character that is not allowed in headers",
        ),
        ({"headers": {"X": "a" * 9000}}, "headers: 9001 bytes, the limit is 8192"),
    ],
)
def test_an_invalid_seed_option_has_its_error(fields: dict[str, Any], detail: str) -> None:
    """Also from Avro, which JSON validation does not see; never a dead letter, and found again by its key."""
    answer = sown(**fields)

    assert isinstance(answer, RefusedSeed)
    assert (answer.url_key, answer.reason, answer.detail) == (hash_of("https://a.test/x"), "bad_seed", detail)


def test_a_flood_of_endless_urls_is_reported_in_bounded_size() -> None:
    """Ten thousand seeds of 100 KB each: every one has its reason, and none its length."""
    told = 0
    for number in range(10_000):
        answer = sown(f"https://a.test/{number}/" + LONG)
        assert isinstance(answer, RefusedSeed)
        assert answer.reason == "url_too_long"
        told += len(answer.url) + len(answer.detail)

    assert told <= 10_000 * 600


@pytest.mark.parametrize(
    ("fields", "says"),
    [
        ({"delay_seconds": 1e12}, "delay_seconds is 1000000000000, expected 0 to 86400"),
        ({"delay_seconds": -1.0}, "delay_seconds is -1, expected 0 to 86400"),
        ({"delay_seconds": nan}, "delay_seconds is nan, expected 0 to 86400"),
        ({"max_hops": -1}, "max_hops is -1, expected 0 to 100"),
        ({"host_patience_seconds": -5}, "host_patience_seconds is -5, expected 0 to 1000000000"),
        ({"max_in_flight_per_group": 0}, "max_in_flight_per_group is 0, expected 1 to 10000"),
    ],
)
@pytest.mark.parametrize("sender", SenderRole)
def test_a_crawl_spec_with_invalid_numbers_is_refused(
    fields: dict[str, Any], says: str, sender: SenderRole
) -> None:
    """Its delay would hold for every crawl of that host, for ever."""
    spec = a_spec(**fields)
    seed = SeedSubmitted(url="https://a.test/x", crawl_spec_id=spec.crawl_spec_id)
    known = {spec.crawl_spec_id: spec}

    answer = accept_seed(seed, PLACE, sender=sender, timestamp_ms=0, known_specs=known, rules=SeedRules())

    assert isinstance(answer, RefusedSeed)
    assert (answer.reason, answer.detail) == ("unknown_spec", f"the crawl spec cannot be used: {says}")


def test_an_undeclared_spec_is_a_refusal() -> None:
    """Crawling by other settings than those that were meant would be worse than not crawling."""
    assert sown(crawl_spec_id="feed", job_id="j1") == RefusedSeed(
        url="https://a.test/x",
        url_key=hash_of("https://a.test/x"),
        reason="unknown_spec",
        detail="no crawl spec feed was published on crawl-specs",
        job_id="j1",
        execution_id="",
    )


def test_private_seeds_are_welcome_where_they_are_allowed() -> None:
    """`STRIDER_ALLOW_PRIVATE`, for one's own network; never for a vault."""
    assert isinstance(sown("http://127.0.0.1:8000/", allow_private=True), AcceptedSeed)
    answer = sown("http://169.254.169.254/", allow_private=True)
    assert isinstance(answer, RefusedSeed)
    assert answer.url_key == hash_of("http://169.254.169.254/")


TEXT = st.text(max_size=30)
SEEDS = st.builds(
    SeedSubmitted,
    url=st.one_of(TEXT, st.just("https://a.test/"), TEXT.map("https://a.test/".__add__)),
    max_depth=st.none() | st.integers(),
    scope=st.none() | st.sampled_from(["host", "domain", "any", "listed"]),
    priority=st.integers(-1, 4),
    job_id=st.none() | TEXT,
    delay=st.none() | st.floats(allow_nan=False, allow_infinity=False),
    execution_id=st.none() | TEXT,
    include=st.lists(TEXT, max_size=2).map(tuple),
    headers=st.dictionaries(TEXT, TEXT, max_size=2),
    metadata=st.dictionaries(TEXT, TEXT, max_size=2),
)


@given(SEEDS, st.integers(-1, 2**63 - 1), st.sampled_from(SenderRole))
def test_whatever_stands_in_a_seed_it_is_taken_or_refused_with_a_word(
    seed: SeedSubmitted, timestamp_ms: int, sender: SenderRole
) -> None:
    """The topic is public: nothing that decodes may raise."""

    def accept(again: SeedSubmitted) -> AcceptedSeed | RefusedSeed:
        return accept_seed(
            again, PLACE, sender=sender, timestamp_ms=timestamp_ms, known_specs={}, rules=SeedRules()
        )

    answer = accept(seed)

    if isinstance(answer, RefusedSeed):
        assert answer.reason in set(DecisionReason)
    else:
        assert answer == accept(replace(seed))


CIPHER = HeaderCipher(HEADERS_KEY)
PERSONAL = {"Authorization": "Bearer of-the-owner", "Accept-Language": "de"}


@pytest.mark.fault("A7", part="encrypted before they are part of a crawl spec")
def test_personal_headers_are_in_the_crawl_spec_encrypted_for_the_origin_of_the_seed() -> None:
    """Equal seeds have one crawl spec; the same header for another site is another one."""
    ids = {
        url: accepted.spec.crawl_spec_id
        for url in ("https://a.test/x", "https://a.test/y", "https://b.test/x", "http://a.test/x")
        if isinstance(accepted := sown(url, headers=PERSONAL, protect_headers=CIPHER.protect), AcceptedSeed)
        and accepted.spec is not None
    }
    accepted = sown("https://a.test/x", headers=PERSONAL, protect_headers=CIPHER.protect)

    assert isinstance(accepted, AcceptedSeed)
    assert accepted.spec is not None
    headers = accepted.spec.headers
    assert headers["Accept-Language"] == "de"
    clear = CIPHER.decrypt("Authorization", headers["Authorization"], origin="https://a.test")
    assert clear == "Bearer of-the-owner"
    assert "of-the-owner" not in repr(accepted)
    assert ids["https://a.test/x"] == ids["https://a.test/y"]
    assert len(set(ids.values())) == 3


def test_headers_that_the_sender_has_encrypted_are_the_same_crawl_spec() -> None:
    encrypted = CIPHER.protect(PERSONAL, ["https://a.test"])

    assert sown(headers=encrypted, protect_headers=CIPHER.protect) == sown(
        headers=PERSONAL, protect_headers=CIPHER.protect
    )
    assert isinstance(sown(headers=encrypted), AcceptedSeed), "link-ingestion passes them on without a key"


@pytest.mark.fault("A7", part="refused where they cannot be encrypted")
@pytest.mark.parametrize(
    ("sender", "url", "headers", "protect", "detail"),
    [
        pytest.param(
            SenderRole.OWNER,
            "https://a.test/",
            PERSONAL,
            refuse_clear_values,
            "STRIDER_HEADERS_KEY",
            id="no-key",
        ),
        pytest.param(
            SenderRole.RAW, "https://a.test/", PERSONAL, CIPHER.protect, "a raw seed may not set", id="raw"
        ),
        pytest.param(
            SenderRole.OWNER,
            "https://b.test/",
            CIPHER.protect(PERSONAL, ["https://a.test"]),
            CIPHER.protect,
            "is encrypted for https://a.test and may not be sent to https://b.test",
            id="another-site",
        ),
        pytest.param(
            SenderRole.OWNER,
            "https://a.test/",
            HeaderCipher("x" * 32).protect(PERSONAL, ["https://a.test"]),
            CIPHER.protect,
            "is encrypted with another key",
            id="another-key",
        ),
    ],
)
def test_personal_headers_that_cannot_be_encrypted_are_refused_by_name(
    sender: SenderRole, url: str, headers: dict[str, str], protect: ProtectHeaders, detail: str
) -> None:
    refused = sown(url, sender=sender, headers=headers, protect_headers=protect)

    assert isinstance(refused, RefusedSeed)
    assert refused.reason == "bad_seed"
    assert refused.detail.startswith("headers: Authorization ")
    assert detail in refused.detail
    assert "of-the-owner" not in repr(refused)


@pytest.mark.parametrize(
    ("spec", "detail"),
    [
        ("[]", "spec: expected an object, got a list"),
        ('{"max_depth": 11}', "spec.max_depth is 11, expected 0 to 10"),
        ('{"headers": {"Cookie": "a"}}', "spec.headers: set them in the field headers of the seed"),
        ('{"hosts": ["https://b.test/"]}', "spec.hosts is 'https://b.test/', expected the name of a host"),
        ('{"include": ["re:("]}', "spec.include: "),
        ('{"change_basis": "raw"}', "spec.change_basis has no effect unless continuous is true"),
    ],
)
def test_an_avro_seed_with_invalid_settings_is_refused_by_their_field(spec: str, detail: str) -> None:
    """What the decoder of JSON seeds refuses, and what only the whole crawl spec shows."""
    answer = sown(spec=spec)

    assert isinstance(answer, RefusedSeed)
    assert answer.reason == DecisionReason.BAD_SEED
    assert answer.detail.startswith(detail)


def test_a_seed_has_one_crawl_spec() -> None:
    answer = sown(spec='{"use_feeds": true}', crawl_spec_id=DECLARED.crawl_spec_id)

    assert isinstance(answer, RefusedSeed)
    assert answer.detail == "spec: the seed names a crawl spec by crawl_spec_id as well; set one of them"
