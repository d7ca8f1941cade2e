"""Redirects that are followed, refused or closed."""

from __future__ import annotations

import asyncio
import time
from typing import Any

import pytest

from strider.scheduler.core.entries.candidates import CandidateOrigin
from strider.scheduler.core.entries.fetch_outcomes import EntryTransition, OutcomeContext, apply_fetch_outcome
from strider.scheduler.core.entries.redirects import SpecScopes
from strider.scheduler.core.entries.url_decisions import MAX_DETAIL_CHARACTERS
from strider.scheduler.handlers.fetch_outcomes import match_redirects
from tests.figures import record_figure
from tests.unit.scheduler.builders import NOW, URL, LowestChance, a_redirect, a_spec, an_entry, key

ELSEWHERE = "http://www.b.test/"


def follow(entry: Any, outcome: Any, *, allow_private: bool = False, **spec: Any) -> EntryTransition:
    at = OutcomeContext(a_spec(**spec), NOW, host_backs_off=False, allow_private=allow_private)
    return apply_fetch_outcome(entry, outcome, at, chance=LowestChance())


@pytest.mark.req("S1.9.1", "S1.9.2")
def test_a_target_is_an_entry_of_its_own() -> None:
    """C-24: the redirecting entry closes and names it; robots, politeness and dedupe then hold for it."""
    target = "http://www.a.test/new"
    entry = an_entry(depth=2, priority=3, is_start=True, seed_token="s/0/1", metadata={"k": "v"})

    result = follow(entry, a_redirect(target))

    assert result.entry is not None
    assert (result.entry.state, result.entry.reason) == ("completed", "redirected")
    assert result.entry.redirect_target == target
    assert [(line.url, line.decision, line.reason, line.redirect_target) for line in result.decisions] == [
        (URL, "closed", "redirected", target)
    ]
    assert result.redirect_target is not None
    assert result.redirect_target.origin == CandidateOrigin("redirect", URL, key(URL), "job", "run", "spec")
    assert (result.redirect_target.url, result.redirect_target.hop, result.redirect_target.depth) == (
        target,
        1,
        2,
    )
    assert (result.redirect_target.priority, result.redirect_target.is_start) == (3, True)
    assert (result.redirect_target.seed_token, result.redirect_target.metadata) == (
        f".moved/0/{NOW - 1000}",
        {"k": "v"},
    )
    assert result.redirect_target.redirect_chain == (URL,)


@pytest.mark.req("S1.9.2")
def test_a_redirect_to_the_same_key_keeps_the_entry() -> None:
    """`/page` to `/page/` is one page: no second entry, no seen-set in its way."""
    result = follow(an_entry(), a_redirect(URL + "/"))

    assert (result.redirect_target, result.decisions) == (None, ())
    assert result.entry is not None
    assert (result.entry.state, result.entry.url, result.entry.hop) == ("pending", URL + "/", 1)
    assert result.entry.redirect_chain == (URL,)


@pytest.mark.parametrize(
    ("entry", "target", "detail"),
    [
        pytest.param(an_entry(), URL, f"{URL} -> {URL}", id="to-itself"),
        pytest.param(
            an_entry(hop=2, redirect_chain=("http://www.a.test/start", ELSEWHERE)),
            ELSEWHERE,
            f"{ELSEWHERE} -> {URL} -> {ELSEWHERE}",
            id="the-way-into-a-circle-is-left-out",
        ),
    ],
)
def test_the_detail_of_a_redirect_loop_is_its_urls(entry: Any, target: str, detail: str) -> None:
    (line,) = follow(entry, a_redirect(target), scope="any").decisions

    assert (line.reason, line.detail) == ("redirect_loop", detail)


def test_the_detail_of_a_loop_of_long_urls_is_bounded() -> None:
    chain = tuple(f"http://www.a.test/{number}{'x' * 600}" for number in range(3))

    (line,) = follow(an_entry(hop=3, redirect_chain=chain), a_redirect(chain[0]), scope="any").decisions

    assert (len(line.detail), line.detail.startswith(chain[0][:400])) == (MAX_DETAIL_CHARACTERS, True)


@pytest.mark.fault("S5", "S17", part="redirects to themselves")
@pytest.mark.req("S3.7.5")
@pytest.mark.req("S1.9.3", part="the entry closes with the reason too_many_redirects")
@pytest.mark.parametrize(
    ("entry", "outcome", "reason"),
    [
        pytest.param(an_entry(), a_redirect(""), "bad_redirect", id="no-target"),
        pytest.param(an_entry(), a_redirect(URL), "redirect_loop", id="to-itself"),
        pytest.param(
            an_entry(hop=2, redirect_chain=(ELSEWHERE,)), a_redirect(ELSEWHERE), "redirect_loop", id="circle"
        ),
        pytest.param(
            an_entry("http://www.a.test/a", hop=1, redirect_chain=("http://www.a.test/A",)),
            a_redirect("http://www.a.test/A", url="http://www.a.test/a"),
            "redirect_loop",
            id="circle-of-upper-and-lower-case",
        ),
        pytest.param(
            an_entry("http://www.a.test/aaaaa", hop=5),
            a_redirect("http://www.a.test/AaAaA", url="http://www.a.test/aaaaa"),
            "too_many_redirects",
            id="ever-other-case",
        ),
        pytest.param(an_entry(hop=5), a_redirect("http://www.a.test/6"), "too_many_redirects", id="sixth"),
        pytest.param(
            an_entry(),
            a_redirect("", redirect_refused="refused_scheme"),
            "refused_scheme",
            id="refused-by-the-fetcher",
        ),
        pytest.param(
            an_entry(),
            a_redirect(URL + "/", redirect_refused="too_many_redirects"),
            "too_many_redirects",
            id="same-key-refused-by-the-fetcher",
        ),
    ],
)
def test_redirects_that_lead_nowhere_close_the_entry(entry: Any, outcome: Any, reason: str) -> None:
    result = follow(entry, outcome, scope="any")

    assert result.redirect_target is None
    assert result.entry is not None
    assert (result.entry.state, result.entry.reason) == ("failed", reason)
    assert [line.reason for line in result.decisions] == [reason]


@pytest.mark.req("S1.9.1")
def test_five_redirects_are_followed() -> None:
    assert follow(an_entry(hop=4), a_redirect("http://www.a.test/5")).redirect_target is not None


@pytest.mark.parametrize(
    ("target", "spec", "reason"),
    [
        pytest.param(ELSEWHERE, {"scope": "host"}, "out_of_scope", id="another-host"),
        pytest.param("http://c.a.test/", {"scope": "host"}, "out_of_scope", id="another-host-of-the-domain"),
        pytest.param("http://c.a.test/", {"scope": "domain"}, None, id="domain"),
        pytest.param("https://www.a.test/", {"scope": "host"}, None, id="https"),
        pytest.param(ELSEWHERE, {"scope": "host", "hosts": ("www.b.test",)}, None, id="listed-host"),
        pytest.param(ELSEWHERE, {"scope": "any", "exclude": ("*b.test*",)}, "excluded", id="excluded"),
        pytest.param(
            ELSEWHERE,
            {"scope": "any", "include": tuple(f"/{number}" for number in range(33))},
            "unknown_spec",
            id="a-spec-beyond-the-limits",
        ),
        pytest.param("http://www.a.test/x/x/x/x", {}, "trap_suspected", id="a-path-that-repeats-itself"),
        pytest.param("http://127.0.0.1/", {"scope": "any"}, "policy_blocked", id="private"),
        pytest.param("http://www.a.test:81/", {"allowed_ports": (80,)}, "refused_port", id="port"),
    ],
)
def test_a_target_is_held_to_scope_and_rules(target: str, spec: dict[str, Any], reason: str | None) -> None:
    """The entry closes as redirected either way; why its target is not crawled is the target's own line."""
    result = follow(an_entry(), a_redirect(target), **spec)

    assert result.entry is not None
    assert result.entry.reason == "redirected"
    assert (result.redirect_target is None) is (reason is not None)
    refusals = [(line.url, line.reason) for line in result.decisions if line.decision == "refused"]
    assert refusals == ([] if reason is None else [(target, reason)])


@pytest.mark.parametrize(
    ("url", "target"),
    [
        pytest.param("http://a.test/", "https://www.a.test/", id="www"),
        pytest.param("http://www.a.test/", "http://a.test/", id="without-www"),
        pytest.param("http://a.test/", "http://shop.a.test/", id="subdomain"),
    ],
)
def test_a_start_url_may_move_within_its_domain(url: str, target: str) -> None:
    """Else `example.org`, which redirects to `www.example.org`, could not be crawled at all."""
    entry = an_entry(url, is_start=True)

    assert follow(entry, a_redirect(target, url=url), scope="host").redirect_target is not None
    assert follow(an_entry(url), a_redirect(target, url=url), scope="host").redirect_target is None


def test_what_the_fetcher_refused_is_the_targets_own_line() -> None:
    result = follow(an_entry(), a_redirect(ELSEWHERE, redirect_refused="policy_blocked"), scope="any")

    assert [(line.url, line.reason) for line in result.decisions] == [
        (URL, "redirected"),
        (ELSEWHERE, "policy_blocked"),
    ]


@pytest.mark.fault("A1")
def test_a_thousand_redirects_of_expensive_patterns_cost_a_second() -> None:
    """A spec is compiled once, and long targets are matched in a thread before the entries are read."""
    patterns = ("re:(?i)[ab]{100,250}!", *(f"/{number}/*" for number in range(20)))
    spec = a_spec(scope="any", exclude=patterns)
    targets = [f"http://www.b.test/{number}/" + "ab" * 100 for number in range(1_000)]

    async def apply() -> tuple[list[str], float, float]:
        scopes = SpecScopes()
        began = time.thread_time()
        await match_redirects(scopes, [(spec, target) for target in targets])
        matched = time.thread_time()
        at = OutcomeContext(spec, NOW, host_backs_off=False, scopes=scopes)
        reasons = []
        for target in targets:
            result = apply_fetch_outcome(an_entry(), a_redirect(target), at, chance=LowestChance())
            reasons.append(result.decisions[-1].reason)
        return reasons, matched - began, time.thread_time() - matched

    reasons, matching, deciding = asyncio.run(apply())
    record_figure(f"1,000 redirects: loop-matching={matching:.3f}s deciding={deciding:.3f}s")
    assert reasons == ["excluded"] * 20 + ["redirected"] * 980
    assert matching < 0.2
    assert deciding < 1
