"""Claims of requests: by the group of their sender, the flow of their run, and whether their host answers."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from strider.contracts.avro.codec import Codec
from strider.contracts.avro.schema_store import SchemaStore
from strider.contracts.generated.enums import ErrorClass
from strider.contracts.generated.topics import FETCH_REQUESTS
from strider.fetcher.adapters.state.body_budget import BodyBudget
from strider.fetcher.adapters.state.sender_shares import RequestClaims, ResponsiveHosts, sender_path
from strider.fetcher.core import FailedFetch, FetchResult, FinishedRequest
from strider.messaging.inprocess.log import StoredRecord
from strider.runtime.consumer.start_order import PLACE_DIVISORS
from strider.runtime.shares import Shares
from tests.unit.fetcher.builders import TRACE, ManualClock, a_head, a_request, a_response

CODEC = Codec(SchemaStore.bundled())


def _record(**fields: Any) -> StoredRecord:
    encoded = CODEC.encode(FETCH_REQUESTS, a_request(**fields))
    return StoredRecord(FETCH_REQUESTS.name, 0, 0, 0, b"key", encoded.value, tuple(encoded.headers))


def _finished(result: FetchResult, *, seconds: float = 0.2) -> FinishedRequest:
    trace = replace(TRACE, total_us=round(seconds * 1_000_000))
    return FinishedRequest(result, trace, BodyBudget(100, clock=ManualClock()).open_hold(), 0.0)


def test_runs_of_owners_and_of_raw_senders_have_shares_of_their_own() -> None:
    owner, raw, shared = sender_path("nightly-1"), sender_path("raw.abc"), sender_path("adhoc-1")

    assert {owner[0], raw[0], shared[0]} == {"owners", "raw"}
    assert raw[0] == shared[0] == "raw"
    assert sender_path(".robots-queries")[0] not in {"owners", "raw"}


def test_no_name_stands_for_two_levels_of_shares() -> None:
    """A share is counted by its name alone."""
    paths = [sender_path(name) for name in ("nightly-1", "raw.abc", ".robots")]
    names = [name for path in paths for name in path]

    assert len(set(names)) == len(names)


def test_a_host_is_responsive_from_its_first_prompt_response_to_its_first_late_one() -> None:
    hosts = ResponsiveHosts()
    claims = RequestClaims(CODEC, hosts)
    record = _record(group="a.test", execution_id="adhoc-1")
    silent = claims.claim_of(record).path

    hosts.record("a.test", _finished(a_response(status=404)))
    answering = claims.claim_of(record).path
    hosts.record("a.test", _finished(a_response(), seconds=29))

    assert answering == silent[:2] == sender_path("adhoc-1")
    assert claims.claim_of(record).path == silent


def test_a_host_that_fails_or_is_late_is_not_responsive() -> None:
    hosts = ResponsiveHosts()
    for result, is_response in (
        (FailedFetch(ErrorClass.CONNECT_TIMEOUT, ""), False),
        (FailedFetch(ErrorClass.BODY_TOO_LARGE, "", a_head()), True),
        (FailedFetch(ErrorClass.OFFLINE, ""), True),
        (FailedFetch(ErrorClass.HEAD_TIMEOUT, ""), False),
    ):
        hosts.record("a.test", _finished(result))
        assert ("a.test" in hosts) is is_response, f"after {result.error_class}"


def test_a_claim_ends_with_its_lease() -> None:
    claims = RequestClaims(CODEC, ResponsiveHosts())

    claim = claims.claim_of(_record(issued_at_ms=1_000, lease_expires_at_ms=31_000))

    assert claim.max_wait_seconds == 30.0


def test_bytes_that_are_no_request_have_a_claim_too() -> None:
    claims = RequestClaims(CODEC, ResponsiveHosts())
    path = claims.claim_of(StoredRecord(FETCH_REQUESTS.name, 0, 0, 0, None, b"rubbish", ())).path

    assert Shares(1, divisors=PLACE_DIVISORS).free_for(path) == 1
