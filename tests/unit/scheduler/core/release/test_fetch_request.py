"""Fetch requests."""

from __future__ import annotations

import pytest

from strider.contracts.generated.events import EntryRecorded
from strider.scheduler.core.hosts.robots import robots_request_entry
from strider.scheduler.core.release.fetch_request import RequestLease, build_fetch_request
from tests.unit.scheduler.builders import a_spec, an_entry

LICENCE = RequestLease("1-a-5", issued_at_ms=10, expires_at_ms=20, shard=1, epoch=10)


@pytest.mark.req("S3.7.3")
def test_a_request_has_all_fields_that_the_fetcher_needs() -> None:
    spec = a_spec(headers={"X-A": "1", "X-B": "2"}, user_agent="Other/1", request_timeout_seconds=12.5)
    entry = an_entry("https://www.a.test:444/x", tries=1, error_class="status_server", metadata={"k": "v"})

    request = build_fetch_request(entry, spec, LICENCE)

    assert (request.url, request.origin) == ("https://www.a.test:444/x", "https://www.a.test:444")
    assert (request.lease_id, request.issued_at_ms, request.lease_expires_at_ms) == ("1-a-5", 10, 20)
    assert (request.shard, request.epoch, request.fetch_sequence) == (1, 10, 5)
    assert (request.try_number, request.earlier_error) == (2, "status_server")
    assert (request.header_names, request.header_values) == (("X-A", "X-B"), ("1", "2"))
    assert (request.user_agent, request.deadline_ms) == ("Other/1", 12_500)
    assert (request.job_id, request.metadata) == ("job", {"k": "v"})


@pytest.mark.req("S3.7.6", "S3.7.7", "S3.17.4", "S3.17.5", "S3.19.4")
def test_a_request_has_30_seconds_and_10_megabytes_by_default() -> None:
    request = build_fetch_request(an_entry(), a_spec(), LICENCE)

    assert (request.deadline_ms, request.max_body_bytes) == (30_000, 10 * 1024 * 1024)


def test_robots_is_requested_as_the_user_agent_of_the_job() -> None:
    request = build_fetch_request(
        robots_request_entry(an_entry(metadata={"k": "v"})), a_spec(use_cookies=True), LICENCE
    )

    assert (request.url, request.kind) == ("http://www.a.test/robots.txt", "robots")
    assert (request.job_id, request.metadata, request.cookie_jar) == ("job", {}, "")


@pytest.mark.req("S3.19.5")
@pytest.mark.parametrize(("page_seconds", "robots_ms"), [(30.0, 10_000), (5.0, 5_000)])
def test_a_robots_txt_has_ten_seconds_and_no_more_than_a_page(page_seconds: float, robots_ms: int) -> None:
    """All of a host waits for it."""
    spec = a_spec(request_timeout_seconds=page_seconds)

    assert build_fetch_request(robots_request_entry(an_entry()), spec, LICENCE).deadline_ms == robots_ms
    assert build_fetch_request(an_entry(), spec, LICENCE).deadline_ms == round(page_seconds * 1000)


def test_a_first_try_names_no_earlier_error() -> None:
    assert build_fetch_request(an_entry(error_class="status_client"), a_spec(), LICENCE).earlier_error == ""


def test_certificates_are_let_pass_for_named_hosts_only() -> None:
    spec = a_spec(insecure_tls_hosts=("www.a.test",))

    assert build_fetch_request(an_entry(), spec, LICENCE).insecure_tls
    assert not build_fetch_request(an_entry("http://b.test/"), spec, LICENCE).insecure_tls


GIVEN = "strider-encrypted-v1 https://a.test,https://b.test:444 AAAA"


@pytest.mark.fault("A7", part="sent to the origins that they were given for")
@pytest.mark.parametrize("scope", ["host", "domain", "any"])
@pytest.mark.parametrize(
    ("entry", "is_sent"),
    [
        pytest.param(an_entry("https://a.test/x"), True, id="given"),
        pytest.param(an_entry("https://b.test:444/"), True, id="given-with-its-port"),
        pytest.param(an_entry("https://b.test/"), False, id="another-port"),
        pytest.param(an_entry("http://a.test/x"), False, id="without-tls"),
        pytest.param(an_entry("https://www.a.test/", is_start=True), False, id="another-seed"),
        pytest.param(
            an_entry("https://c.test/", is_start=True, redirect_chain=("https://a.test/",)),
            False,
            id="redirect",
        ),
        pytest.param(robots_request_entry(an_entry("https://a.test/x")), False, id="robots"),
    ],
)
def test_encrypted_headers_go_to_the_origins_that_they_were_given_for(
    entry: EntryRecorded, scope: str, is_sent: bool
) -> None:
    headers = {"Authorization": GIVEN, "X-Api-Key": GIVEN, "X-A": "1"}
    spec = a_spec(scope=scope, headers=headers, hosts=("www.a.test",))

    names = build_fetch_request(entry, spec, LICENCE).header_names

    assert names == (("Authorization", "X-Api-Key", "X-A") if is_sent else ("X-A",))


@pytest.mark.parametrize("scope", ["host", "any"])
@pytest.mark.parametrize(
    ("entry", "is_sent"),
    [
        pytest.param(an_entry("https://listed.test/"), True, id="named-host"),
        pytest.param(an_entry("https://x.mine.test/"), True, id="named-domain"),
        pytest.param(an_entry("http://listed.test/"), False, id="without-tls"),
        pytest.param(an_entry("https://a.test/", is_start=True), False, id="a-seed"),
    ],
)
def test_clear_headers_of_earlier_crawl_specs_go_to_hosts_that_the_spec_names(
    entry: EntryRecorded, scope: str, is_sent: bool
) -> None:
    headers = {"Authorization": "Bearer x", "cookie": "a=b", "X-A": "1"}
    spec = a_spec(scope=scope, headers=headers, hosts=("listed.test",), domains=("mine.test",))

    request = build_fetch_request(entry, spec, LICENCE)

    assert request.header_names == (("Authorization", "cookie", "X-A") if is_sent else ("X-A",))
    assert request.header_values == (("Bearer x", "a=b", "1") if is_sent else ("1",))


@pytest.mark.parametrize(
    ("headers", "expected"),
    [
        ({}, {"Accept-Language": "de, en;q=0.5"}),
        ({"X-A": "1"}, {"X-A": "1", "Accept-Language": "de, en;q=0.5"}),
        ({"accept-language": "fr"}, {"accept-language": "fr"}),
    ],
)
def test_the_language_of_a_spec_is_sent_unless_its_headers_have_one(
    headers: dict[str, str], expected: dict[str, str]
) -> None:
    spec = a_spec(accept_language="de, en;q=0.5", headers=headers)

    request = build_fetch_request(an_entry(), spec, LICENCE)

    assert dict(zip(request.header_names, request.header_values, strict=True)) == expected
