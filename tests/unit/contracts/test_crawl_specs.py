"""Crawl specs get their id from their content, and runs are derived from seeds."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from strider.contracts.generated.events import CrawlSpecDeclared, SeedSubmitted
from strider.contracts.specs.crawl_specs import (
    canonical_spec,
    effective_depth,
    spec_from_seed,
    spec_id,
)

DEFAULT = CrawlSpecDeclared(crawl_spec_id="")
NOON_MS = 1_770_000_000_000
"""2026-02-02, 02:40 UTC."""


@pytest.mark.parametrize(
    ("spec", "name"),
    [
        pytest.param(
            DEFAULT, "44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a", id="defaults"
        ),
        pytest.param(
            replace(DEFAULT, max_depth=5, include=("b", "a", "b"), delay_seconds=2.0, headers={"B": "1"}),
            "4e136d3c834ac628dcba9c5f69b62acdb9166a0f12a5d2fc905c9deb979d73af",
            id="some of each kind",
        ),
    ],
)
def test_a_spec_has_the_same_name_for_ever(spec: CrawlSpecDeclared, name: str) -> None:
    """The ids are in topics that outlive this code."""
    assert spec_id(spec) == name


def test_the_canonical_form_has_only_what_differs_from_the_defaults() -> None:
    """So a new setting changes no id of a spec that does not use it."""
    spec = replace(DEFAULT, max_depth=5, include=("b", "a", "b"), delay_seconds=2.0, headers={"B": "1"})

    assert canonical_spec(DEFAULT) == "{}"
    assert canonical_spec(spec) == '{"delay_seconds":2,"headers":{"B":"1"},"include":["a","b"],"max_depth":5}'


def test_neither_name_nor_labels_are_part_of_the_name() -> None:
    """A label describes a spec, not how it crawls."""
    labelled = replace(DEFAULT, crawl_spec_id="x", labels={"team": "a"})

    assert spec_id(labelled) == spec_id(DEFAULT)


@given(st.permutations(["/a/*", "/b", "re:x"]))
def test_order_and_repeats_of_a_list_mean_nothing(patterns: list[str]) -> None:
    """Equal settings in another order are the same spec and share its runs."""
    assert spec_id(replace(DEFAULT, exclude=(*patterns, patterns[0]))) == spec_id(
        replace(DEFAULT, exclude=("/a/*", "/b", "re:x"))
    )


@given(st.text(), st.text())
def test_different_headers_are_different_specs(first: str, second: str) -> None:
    """Whatever the content, surrogates included: no input may raise."""
    one, other = (replace(DEFAULT, headers={"X": text}) for text in (first, second))

    assert (spec_id(one) == spec_id(other)) == (first == second)


def test_a_seed_without_options_gets_the_defaults() -> None:
    """One URL is enough, and pages found from it have low priority by default."""
    assert spec_from_seed(SeedSubmitted(url="https://a.test/")) == replace(
        DEFAULT, crawl_spec_id=spec_id(DEFAULT)
    )


def test_each_option_of_a_seed_is_in_its_spec() -> None:
    """A lost setting would crawl more than was requested."""
    seed = SeedSubmitted(
        url="https://a.test/",
        max_depth=7,
        scope="domain",
        priority=0,
        delay=2.5,
        include=("/a/*",),
        exclude=("*.pdf",),
        extraction="basic",
        max_pages=10,
        max_bytes=20,
        max_seconds=30,
        max_pages_per_host=4,
        max_pages_per_domain=5,
        max_bytes_per_host=6,
        max_bytes_per_domain=7,
        max_seconds_per_host=8,
        max_seconds_per_domain=9,
        headers={"X-Team": "a"},
    )

    expected = replace(
        DEFAULT,
        scope="domain",
        max_depth=7,
        priority=0,
        delay_seconds=2.5,
        include=("/a/*",),
        exclude=("*.pdf",),
        extraction="basic",
        max_pages=10,
        max_bytes=20,
        max_seconds=30,
        max_pages_per_host=4,
        max_pages_per_domain=5,
        max_bytes_per_host=6,
        max_bytes_per_domain=7,
        max_seconds_per_host=8,
        max_seconds_per_domain=9,
        headers={"X-Team": "a"},
    )
    assert spec_from_seed(seed) == replace(expected, crawl_spec_id=spec_id(expected))


@pytest.mark.parametrize(
    "about",
    [
        {"url": "https://b.test/"},
        {"metadata": {"a": "b"}},
        {"fresh": True},
        {"job_id": "j"},
        {"submitted_by": "me"},
        {"priority": 2},
    ],
    ids=lambda about: next(iter(about)),
)
def test_what_is_about_the_seed_alone_shapes_no_spec(about: dict[str, Any]) -> None:
    """Otherwise each URL of a list would crawl in its own run."""
    plain = SeedSubmitted(url="https://a.test/")

    assert spec_from_seed(replace(plain, **about)) == spec_from_seed(plain)


@pytest.mark.req("S3.11.5", "S0.4.1", "S0.4.2")
@pytest.mark.parametrize(
    ("wanted", "depth"), [(None, 3), (0, 3), (1, 1), (10, 10), (11, 10), (1_000_000, 10), (-1, 3)]
)
def test_depth_is_three_by_default_and_ten_at_most(wanted: int | None, depth: int) -> None:
    """C-2: crawls deeper than ten mostly find traps."""
    assert effective_depth(wanted) == depth
    assert spec_from_seed(SeedSubmitted(url="https://a.test/", max_depth=wanted)).max_depth == depth
