"""Acceptance and refusal of candidates."""

from __future__ import annotations

import pytest

from strider.contracts.generated.enums import DecisionReason as Reason
from strider.contracts.generated.enums import LinkVia
from strider.frontier.models import LookupStatus
from strider.scheduler.core.entries.acceptance import (
    AcceptanceOutcome,
    accept_candidate,
    port_of,
    refuse_candidate,
)
from tests.unit.scheduler.builders import a_candidate, a_spec, an_origin


@pytest.mark.parametrize(
    ("candidate", "spec", "reason"),
    [
        pytest.param(a_candidate(), a_spec(), None, id="fine"),
        pytest.param(a_candidate(), None, Reason.UNKNOWN_SPEC, id="unknown-spec"),
        pytest.param(a_candidate(depth=3), a_spec(max_depth=3), None, id="as-deep-as-allowed"),
        pytest.param(a_candidate(depth=4), a_spec(max_depth=3), Reason.TOO_DEEP, id="too-deep"),
        pytest.param(
            a_candidate(depth=9, origin=an_origin(via=LinkVia.SEED)),
            a_spec(),
            None,
            id="deep-seed",
        ),
        pytest.param(a_candidate(hop=5), a_spec(), None, id="fifth-redirect"),
        pytest.param(a_candidate(hop=6), a_spec(), Reason.TOO_MANY_REDIRECTS, id="sixth-redirect"),
        pytest.param(
            a_candidate(hop=6), a_spec(max_hops=9), Reason.TOO_MANY_REDIRECTS, id="no-spec-allows-a-sixth"
        ),
        pytest.param(
            a_candidate(hop=2), a_spec(max_hops=1), Reason.TOO_MANY_REDIRECTS, id="spec-allows-fewer"
        ),
        pytest.param(a_candidate("http://127.0.0.1/"), a_spec(), Reason.POLICY_BLOCKED, id="loopback"),
        pytest.param(a_candidate("http://x.localhost/"), a_spec(), Reason.POLICY_BLOCKED, id="localhost"),
        pytest.param(a_candidate("http://[fd00::1]/"), a_spec(), Reason.POLICY_BLOCKED, id="private-six"),
        pytest.param(
            a_candidate("http://a.test/"), a_spec(schemes=("https",)), Reason.REFUSED_SCHEME, id="scheme"
        ),
        pytest.param(
            a_candidate("http://a.test:8080/"), a_spec(allowed_ports=(80,)), Reason.REFUSED_PORT, id="port"
        ),
        pytest.param(a_candidate("https://a.test/"), a_spec(allowed_ports=(443,)), None, id="default-port"),
    ],
)
def test_candidates_are_refused_for_a_reason(candidate: object, spec: object, reason: Reason | None) -> None:
    why = refuse_candidate(candidate, spec, allow_private=False)

    assert (None if why is None else why.reason) == reason


def test_private_addresses_are_crawled_where_that_is_allowed() -> None:
    assert refuse_candidate(a_candidate("http://127.0.0.1:8000/"), a_spec(), allow_private=True) is None


def test_metadata_addresses_are_never_crawled() -> None:
    """They hand out the machine's own credentials."""
    why = refuse_candidate(a_candidate("http://169.254.169.254/"), a_spec(), allow_private=True)

    assert why is not None
    assert (why.reason, why.detail) == (Reason.POLICY_BLOCKED, "metadata_address")


@pytest.mark.parametrize(
    ("past", "candidate", "last_seed", "admission"),
    [
        pytest.param(LookupStatus.UNKNOWN, a_candidate(), "", AcceptanceOutcome.ACCEPTED, id="new-link"),
        pytest.param(LookupStatus.SEEN, a_candidate(), "", AcceptanceOutcome.KNOWN, id="known-link"),
        pytest.param(LookupStatus.OPEN, a_candidate(), "", AcceptanceOutcome.KNOWN, id="open-link"),
        pytest.param(
            LookupStatus.SEEN,
            a_candidate(seed_token="s/0/7"),
            "",
            AcceptanceOutcome.REOPENED,
            id="seed-again",
        ),
        pytest.param(
            LookupStatus.SEEN,
            a_candidate(seed_token="s/0/7"),
            "s/0/6",
            AcceptanceOutcome.REOPENED,
            id="newer-seed",
        ),
        pytest.param(
            LookupStatus.SEEN,
            a_candidate(seed_token="s/0/7"),
            "s/0/7",
            AcceptanceOutcome.KNOWN,
            id="same-seed-redelivered",
        ),
        pytest.param(
            LookupStatus.SEEN,
            a_candidate(seed_token="s/0/7"),
            "s/0/10",
            AcceptanceOutcome.KNOWN,
            id="older-seed",
        ),
        pytest.param(
            LookupStatus.OPEN, a_candidate(seed_token="s/0/7"), "", AcceptanceOutcome.JOINED, id="seed-joins"
        ),
        pytest.param(
            LookupStatus.OPEN, a_candidate(seed_token="s/0/7"), "s/0/7", AcceptanceOutcome.KNOWN, id="joined"
        ),
        pytest.param(
            LookupStatus.SEEN, a_candidate(is_fresh=True), "", AcceptanceOutcome.REOPENED, id="fresh-link"
        ),
        pytest.param(
            LookupStatus.SEEN,
            a_candidate(is_fresh=True, seed_token="s/0/7"),
            "s/0/7",
            AcceptanceOutcome.KNOWN,
            id="fresh-seed-redelivered",
        ),
    ],
)
def test_what_is_known_decides(
    past: LookupStatus, candidate: object, last_seed: str, admission: AcceptanceOutcome
) -> None:
    assert accept_candidate(candidate, past, seed_token=last_seed) is admission


@pytest.mark.parametrize(
    ("url", "port"),
    [
        pytest.param("http://a.test/", 80, id="http"),
        pytest.param("https://a.test/", 443, id="https"),
        pytest.param("http://a.test:8080/", 8080, id="named"),
        pytest.param("http://[::1]/", 80, id="six"),
        pytest.param("http://[::1]:81/", 81, id="six-named"),
    ],
)
def test_every_url_has_a_port(url: str, port: int) -> None:
    assert port_of(url) == port
