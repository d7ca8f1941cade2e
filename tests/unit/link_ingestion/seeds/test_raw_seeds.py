"""Limits of raw seeds: each has its sentence, and owners are held to none of them."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from strider.contracts.generated.enums import DecisionReason
from strider.contracts.generated.events import CrawlSpecDeclared, SeedSubmitted
from strider.contracts.owner_signature import SenderRole
from strider.contracts.seed_limits import SEED_RANGES
from strider.contracts.specs.crawl_specs import changed_settings
from strider.contracts.specs.fields import FIELD_READERS, PLANNED_FIELDS
from strider.contracts.specs.settings import settings_text
from strider.link_ingestion.__main__ import raw_seed_limits
from strider.link_ingestion.core import (
    DEFAULT_LIMITS,
    AcceptedSeed,
    RawSeedLimits,
    RefusedSeed,
    SeedPosition,
    SeedRules,
    accept_seed,
)
from strider.link_ingestion.core.raw_seeds import raw_rule
from strider.link_ingestion.settings import LinkIngestionSettings, SeedSettings
from strider.runtime.settings.loader import SettingsError, load_settings
from tests.unit.link_ingestion.builders import a_spec

DELAYS = "(STRIDER_SEEDS_MIN_DELAY, STRIDER_SEEDS_MAX_DELAY)"
OWNERS = "; an owner, who signs with STRIDER_OWNER_KEY, may go beyond"
SPEC_ID = "5" * 64


def decide(
    *,
    sender: SenderRole = SenderRole.RAW,
    spec: CrawlSpecDeclared | None = None,
    limits: RawSeedLimits = DEFAULT_LIMITS,
    allow_private: bool = False,
    spec_text: str = "",
    **given: Any,
) -> AcceptedSeed | RefusedSeed:
    named = {"spec": spec_text} if spec is None else {"crawl_spec_id": spec.crawl_spec_id}
    return accept_seed(
        SeedSubmitted(**{"url": "https://a.test/x", **named, **given}),
        SeedPosition("seeds-submitted", 3, 41),
        sender=sender,
        timestamp_ms=0,
        known_specs={} if spec is None else {spec.crawl_spec_id: spec},
        rules=SeedRules(allow_private=allow_private, limits=limits),
    )


LIMITS = RawSeedLimits(
    max_priority=2,
    max_depth=4,
    max_pages=100,
    max_bytes=1_000,
    max_seconds=60,
    max_headers=2,
    max_header_bytes=20,
    max_metadata_bytes=10,
    allow_fresh=False,
)


@pytest.mark.parametrize(
    ("given", "detail"),
    [
        (
            {"delay": 86_400.0},
            f"delay is 86400, a raw seed may set 1 to 60 seconds {DELAYS}",
        ),
        (
            {"delay": 0.0},
            f"delay is 0, a raw seed may set 1 to 60 seconds {DELAYS}",
        ),
        ({"priority": 3}, "priority is 3, a raw seed may have at most 2 (STRIDER_SEEDS_MAX_PRIORITY)"),
        ({"max_depth": 5}, "max_depth is 5, a raw seed may have at most 4 (STRIDER_SEEDS_MAX_DEPTH)"),
        ({"max_pages": 101}, "max_pages is 101, a raw seed may have at most 100 (STRIDER_SEEDS_MAX_PAGES)"),
        (
            {"max_bytes_per_host": 1001},
            "max_bytes_per_host is 1001, a raw seed may have at most 1000 (STRIDER_SEEDS_MAX_BYTES)",
        ),
        (
            {"max_seconds_per_domain": 61},
            "max_seconds_per_domain is 61, a raw seed may have at most 60 (STRIDER_SEEDS_MAX_SECONDS)",
        ),
        (
            {"headers": {"A": "1", "B": "2", "C": "3"}},
            "the number of headers is 3, a raw seed may have at most 2 (STRIDER_SEEDS_MAX_HEADERS)",
        ),
        (
            {"headers": {"A": "x" * 20}},
            "the size of headers is 21, a raw seed may have at most 20 (STRIDER_SEEDS_MAX_HEADER_BYTES)",
        ),
        (
            {"metadata": {"a": "ü" * 5}},
            "the size of metadata is 11, a raw seed may have at most 10 (STRIDER_SEEDS_MAX_METADATA_BYTES)",
        ),
        ({"fresh": True}, "fresh is true, which STRIDER_SEEDS_ALLOW_FRESH forbids for raw seeds"),
        (
            {"kind": "archive"},
            "kind is 'archive', a raw seed may be one of page, sitemap, feed (STRIDER_SEEDS_KINDS)",
        ),
    ],
)
def test_a_raw_seed_beyond_a_limit_is_refused_with_field_range_and_setting(
    given: dict[str, Any], detail: str
) -> None:
    seed = {"priority": 2, **given}
    answer = decide(limits=LIMITS, **seed)

    assert isinstance(answer, RefusedSeed)
    assert (answer.reason, answer.detail) == (DecisionReason.BAD_SEED, detail + OWNERS)
    assert isinstance(decide(limits=LIMITS, sender=SenderRole.OWNER, **seed), AcceptedSeed)


@pytest.mark.parametrize("name", sorted(set(SEED_RANGES) - {"submitted_at_ms", "delay"}))
def test_the_ranges_of_owners_hold_for_raw_seeds_by_default(name: str) -> None:
    """Except for the delay, a plain JSON seed keeps the values that it may set today."""
    for value in SEED_RANGES[name]:
        assert isinstance(decide(**{name: value}), AcceptedSeed)


@pytest.mark.parametrize("delay", [None, 1.0, 60.0])
def test_a_delay_within_the_limits_is_accepted(delay: float | None) -> None:
    assert isinstance(decide(delay=delay), AcceptedSeed)


@pytest.mark.parametrize(
    ("url", "scope", "allow_private", "is_accepted"),
    [
        ("http://127.0.0.1:8080/", None, True, True),
        ("http://[::1]:8080/", "host", True, True),
        ("http://localhost/", "listed", True, True),
        ("http://127.0.0.1/", "any", True, False),
        ("http://127.0.0.1/", "domain", True, False),
        ("http://127.0.0.1/", None, False, False),
        ("http://10.0.0.1/", None, True, False),
        ("http://127.0.0.1.a.test/", None, True, False),
        ("https://a.test/", None, True, False),
        ("no url", None, True, False),
    ],
)
def test_only_a_loopback_host_may_be_crawled_without_a_delay(
    url: str, scope: str | None, *, allow_private: bool, is_accepted: bool
) -> None:
    """Private addresses must be allowed, and the scope must keep the crawl there."""
    answer = decide(url=url, scope=scope, delay=0.0, allow_private=allow_private)

    assert isinstance(answer, AcceptedSeed) == is_accepted


@pytest.mark.parametrize(
    ("changes", "detail"),
    [
        (
            {"delay_seconds": 0.5},
            f"delay_seconds is 0.5, a raw seed may set 1 to 60 seconds {DELAYS}",
        ),
        ({"respect_robots": False}, "the crawl spec sets respect_robots, which a raw seed may not use"),
        (
            {"insecure_tls_hosts": ("a.test",)},
            "the crawl spec sets insecure_tls_hosts, which a raw seed may not use",
        ),
        ({"user_agent": "x"}, "the crawl spec sets user_agent, which a raw seed may not use"),
        ({"continuous": True}, "the crawl spec sets continuous, which a raw seed may not use"),
        ({"max_in_flight_per_group": 2}, "max_in_flight_per_group is 2, a raw seed may have at most 1"),
        ({"request_timeout_seconds": 31.0}, "request_timeout_seconds is 31, a raw seed may have at most 30"),
        (
            {"max_body_bytes": 10_485_761},
            "max_body_bytes is 10485761, a raw seed may have at most 10485760",
        ),
        (
            {"headers": {"authorization": "Bearer x"}},
            "the crawl spec sends the header authorization, which a raw seed may not use",
        ),
        (
            {"headers": {"Proxy-Token": "x"}},
            "the crawl spec sends the header Proxy-Token, which a raw seed may not use",
        ),
    ],
)
def test_a_raw_seed_may_not_name_a_crawl_spec_beyond_its_limits(changes: dict[str, Any], detail: str) -> None:
    """Else the id of a spec, which stands in every event, would give its rights to its reader."""
    spec = a_spec(**changes)
    answer = decide(spec=spec)

    assert isinstance(answer, RefusedSeed)
    assert (answer.reason, answer.detail) == (DecisionReason.BAD_SEED, f"crawl_spec_id: {detail}{OWNERS}")
    assert isinstance(decide(spec=spec, sender=SenderRole.OWNER), AcceptedSeed)


def test_a_raw_seed_may_name_a_crawl_spec_within_its_limits() -> None:
    """Its own limits separate its run from those of other senders."""
    spec = a_spec(max_depth=9, delay_seconds=5.0, max_pages=10, headers={"Accept-Language": "de"})
    answer = decide(spec=spec, execution_id="r1")

    assert isinstance(answer, AcceptedSeed)
    assert answer.origin.crawl_spec_id == spec.crawl_spec_id
    assert answer.origin.execution_id.endswith(".r1")


DECLARED = st.builds(
    a_spec,
    delay_seconds=st.none() | st.floats(0, 86_400),
    respect_robots=st.booleans(),
    max_in_flight_per_group=st.integers(1, 3),
    priority=st.integers(0, 3),
    insecure_tls_hosts=st.sampled_from([(), ("a.test",)]),
    headers=st.sampled_from([{}, {"Accept": "x"}, {"Cookie": "x"}]),
)


@given(DECLARED)
def test_what_a_raw_seed_obtains_by_naming_a_spec_it_could_set_itself(spec: CrawlSpecDeclared) -> None:
    answer = decide(spec=spec)

    if isinstance(answer, AcceptedSeed):
        assert spec.delay_seconds is None or 1 <= spec.delay_seconds <= 60
        assert spec.respect_robots
        assert (spec.max_in_flight_per_group, spec.insecure_tls_hosts) == (1, ())
        assert "Cookie" not in spec.headers


@given(st.floats(0, 86_400), st.sampled_from(["host", "domain", "any", "listed"]))
def test_no_raw_seed_sets_the_pace_of_a_host_beyond_the_limits(delay: float, scope: str) -> None:
    answer = decide(delay=delay, scope=scope)

    assert isinstance(answer, AcceptedSeed) == (1 <= delay <= 60)


def test_each_limit_has_a_setting_with_the_same_default() -> None:
    loaded = load_settings(LinkIngestionSettings, {}).settings

    assert raw_seed_limits(loaded.seeds) == DEFAULT_LIMITS
    assert set(SeedSettings.model_fields) == {field.name for field in fields(RawSeedLimits)}


def test_settings_change_the_limits() -> None:
    environ = {
        "STRIDER_SEEDS_MIN_DELAY": "500ms",
        "STRIDER_SEEDS_MAX_DELAY": "10m",
        "STRIDER_SEEDS_MAX_PAGES": "1000",
        "STRIDER_SEEDS_KINDS": "page, archive",
        "STRIDER_SEEDS_ALLOW_FRESH": "false",
    }
    limits = raw_seed_limits(load_settings(LinkIngestionSettings, environ).settings.seeds)

    assert limits == replace(
        DEFAULT_LIMITS,
        min_delay_seconds=0.5,
        max_delay_seconds=600.0,
        max_pages=1000,
        kinds=("page", "archive"),
        allow_fresh=False,
    )
    assert isinstance(decide(limits=limits, delay=0.5), AcceptedSeed)


@pytest.mark.parametrize(
    ("environ", "problem"),
    [
        (
            {"STRIDER_SEEDS_MIN_DELAY": "2m"},
            "STRIDER_SEEDS_MIN_DELAY must not be greater than STRIDER_SEEDS_MAX_DELAY",
        ),
        (
            {"STRIDER_SEEDS_KINDS": "page,robots"},
            "STRIDER_SEEDS_KINDS: must be of archive, feed, page, pagination, sitemap; robots is not",
        ),
        ({"STRIDER_SEEDS_MAX_PAGE": "1"}, "STRIDER_SEEDS_MAX_PAGE: there is no such setting; did you mean"),
    ],
)
def test_limits_that_cannot_hold_are_refused_at_the_start(environ: dict[str, str], problem: str) -> None:
    with pytest.raises(SettingsError) as caught:
        load_settings(LinkIngestionSettings, environ)

    assert caught.value.problems[0].startswith(problem)


@pytest.mark.parametrize(
    ("spec", "detail"),
    [
        ({"delay_seconds": 0.5}, f"spec.delay_seconds is 0.5, a raw seed may set 1 to 60 seconds {DELAYS}"),
        ({"max_hops": 6}, "spec.max_hops is 6, a raw seed may have at most 5"),
        ({"max_in_flight_per_group": 2}, "spec.max_in_flight_per_group is 2, a raw seed may have at most 1"),
        (
            {"max_pages": 101},
            "spec.max_pages is 101, a raw seed may have at most 100 (STRIDER_SEEDS_MAX_PAGES)",
        ),
        ({"continuous": True}, "spec.continuous: set, which a raw seed may not use"),
        ({"respect_robots": False}, "spec.respect_robots: set, which a raw seed may not use"),
        ({"use_cookies": True}, "spec.use_cookies: set, which a raw seed may not use"),
        ({"feed_poll_seconds": 60}, "spec.feed_poll_seconds: set, which a raw seed may not use"),
        ({"user_agent": "Other/1"}, "spec.user_agent: set, which a raw seed may not use"),
        (
            {"labels": {"a": "x" * 90}},
            "the size of spec is 109, a raw seed may have at most 100 (STRIDER_SEEDS_MAX_SPEC_BYTES)",
        ),
    ],
)
def test_settings_of_a_raw_seed_have_the_limits_of_its_fields(spec: dict[str, Any], detail: str) -> None:
    limits, text = replace(DEFAULT_LIMITS, max_pages=100, max_spec_bytes=100), settings_text(spec)

    refused = decide(limits=limits, spec_text=text)

    assert isinstance(refused, RefusedSeed)
    assert (refused.reason, refused.detail) == (DecisionReason.BAD_SEED, detail + OWNERS)
    assert isinstance(decide(limits=limits, sender=SenderRole.OWNER, spec_text=text), AcceptedSeed)


def test_a_raw_seed_sets_what_costs_no_other_sender() -> None:
    text = settings_text({"hosts": ["b.test"], "use_feeds": True, "max_depth": 0, "delay_seconds": 2.0})

    accepted = decide(spec_text=text)

    assert isinstance(accepted, AcceptedSeed)
    assert accepted.spec is not None
    assert changed_settings(accepted.spec) == {
        "hosts": ["b.test"],
        "use_feeds": True,
        "max_depth": 0,
        "delay_seconds": 2,
    }


@pytest.mark.parametrize("field", sorted(FIELD_READERS.keys() | PLANNED_FIELDS.keys()))
def test_the_rule_for_raw_seeds_is_what_is_published_about_a_field(field: str) -> None:
    """Of `no` and `up to the default`: more than the default is refused."""
    default = getattr(CrawlSpecDeclared(crawl_spec_id=""), field)
    more = not default if isinstance(default, bool) else default + 1 if isinstance(default, int) else None
    if raw_rule(field) not in {"no", "up to the default"} or more is None or field in PLANNED_FIELDS:
        return
    beyond = a_spec(**{field: more})

    assert isinstance(decide(spec=beyond), RefusedSeed)
