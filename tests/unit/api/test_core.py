"""What a request asks for: values in, values out."""

from __future__ import annotations

import json
from base64 import urlsafe_b64encode
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from strider.api.core import (
    InvalidBodyError,
    InvalidCursorError,
    InvalidFilterError,
    ListCursor,
    ListFilters,
    SeedDocument,
    SeedResult,
    decision_view,
    decisions_query,
    host_filter,
    key_filter,
    page_query,
    page_view,
    pages_query,
    read_body,
    read_cursor,
    url_to_key,
    validate_seed,
    write_cursor,
)
from strider.contracts.generated.events import SeedSubmitted
from strider.contracts.owner_signature import SenderRole
from strider.urls import url_hash, url_key_of

NOW = datetime(2026, 11, 18, 12, 0, tzinfo=UTC)
KEY = url_hash(url_key_of("https://a.test/x"))


@pytest.mark.parametrize(
    ("body", "documents"),
    [
        pytest.param('{"url": "https://a.test/"}', [{"url": "https://a.test/"}], id="one"),
        pytest.param(
            '["https://a.test/", {"url": "x"}]', [{"url": "https://a.test/"}, {"url": "x"}], id="list"
        ),
        pytest.param('{"seeds": ["https://a.test/"]}', [{"url": "https://a.test/"}], id="seeds"),
        pytest.param('{"seeds": {"url": "x"}}', [{"url": "x"}], id="one-in-seeds"),
    ],
)
def test_seeds_come_in_several_forms(body: str, documents: list[Any]) -> None:
    sent = read_body(body.encode(), max_seeds=5)

    assert [json.loads(one.document) for one in sent] == documents
    assert [one.url for one in sent] == [document["url"] for document in documents]


@pytest.mark.parametrize(
    ("body", "why"),
    [
        pytest.param(b"", "not JSON", id="nothing"),
        pytest.param(b"\xff", "not JSON", id="no-text"),
        pytest.param(b"[" * 100_000, "not JSON", id="too-deep"),
        pytest.param(b"[]", "contains no seeds", id="empty"),
        pytest.param(b'{"seeds": []}', "contains no seeds", id="empty-seeds"),
        pytest.param(b'{"seeds": ["x"], "depth": 3}', "must be the only field", id="more-than-seeds"),
        pytest.param(b"[1]", "seed 0 is neither", id="a-number"),
        pytest.param(b'["x", null]', "seed 1 is neither", id="null"),
        pytest.param(b'["1","2","3","4"]', "4 seeds, the limit is 3", id="too-many"),
        pytest.param(b'{"url": "x", "url": "y"}', "twice", id="a-name-twice"),
        pytest.param(b"9" * 5000, "not JSON", id="endless-number"),
    ],
)
def test_a_body_that_is_no_list_of_seeds_is_refused_whole(body: bytes, why: str) -> None:
    """With a sentence; nothing of it is submitted."""
    with pytest.raises(InvalidBodyError, match=why):
        read_body(body, max_seeds=3)


def test_a_seed_without_a_url_is_left_to_the_door() -> None:
    """The door says which field is missing, for that seed alone."""
    assert read_body(b'[{"uri": "x"}]', max_seeds=3) == [SeedDocument(b'{"uri": "x"}', "")]


@pytest.mark.parametrize(
    ("seed", "answer"),
    [
        pytest.param(
            SeedSubmitted("HTTPS://A.test/x#top"),
            SeedResult("https://a.test/x", accepted=True, url_key=KEY, job_id="adhoc"),
            id="accepted",
        ),
        pytest.param(
            SeedSubmitted("https://a.test/x", job_id="news"),
            SeedResult("https://a.test/x", accepted=True, url_key=KEY, job_id="news"),
            id="of-a-job",
        ),
        pytest.param(
            SeedSubmitted("a.test/x"),
            SeedResult(
                "a.test/x",
                accepted=False,
                reason="bad_url",
                detail="without a scheme; did you mean https://a.test/x?",
            ),
            id="without-scheme",
        ),
        pytest.param(
            SeedSubmitted("file:///etc/passwd"),
            SeedResult("file:///etc/passwd", accepted=False, reason="refused_scheme", detail="local"),
            id="a-file",
        ),
        pytest.param(
            SeedSubmitted("http://169.254.169.254/"),
            SeedResult(
                "http://169.254.169.254/", accepted=False, reason="policy_blocked", detail="metadata_address"
            ),
            id="metadata",
        ),
        pytest.param(
            SeedSubmitted("http://127.0.0.1/"),
            SeedResult(
                "http://127.0.0.1/", accepted=False, reason="policy_blocked", detail="private_address"
            ),
            id="private",
        ),
        pytest.param(
            SeedSubmitted("https://a.test/", include=("re:(",)),
            SeedResult(
                "https://a.test/", accepted=False, reason="bad_seed", detail="include: 're:(': missing ): ("
            ),
            id="bad-pattern",
        ),
    ],
)
@pytest.mark.req("S3.17.6")
def test_a_seed_that_cannot_be_crawled_is_reported_at_once(seed: SeedSubmitted, answer: SeedResult) -> None:
    """Not by a row that appears a second later."""
    assert validate_seed(seed, sender=SenderRole.OWNER, allow_private=False) == answer


def test_private_addresses_are_a_matter_of_setting() -> None:
    assert validate_seed(
        SeedSubmitted("http://127.0.0.1/"), sender=SenderRole.OWNER, allow_private=True
    ).accepted
    assert not validate_seed(
        SeedSubmitted("http://169.254.169.254/"), sender=SenderRole.OWNER, allow_private=True
    ).accepted


def test_a_refused_text_is_recorded_clipped() -> None:
    """An answer does not repeat a novel."""
    answer = validate_seed(SeedSubmitted("x" * 10_000), sender=SenderRole.OWNER, allow_private=False)

    assert (len(answer.url), answer.reason) == (500, "bad_url")


@given(at=st.datetimes(timezones=st.just(UTC)), key=st.text(max_size=80), more=st.text(max_size=80))
def test_a_cursor_is_read_as_it_was_written(at: datetime, key: str, more: str) -> None:
    cursor = ListCursor(at, key.replace("\0", ""), more.replace("\0", ""))

    text = write_cursor(cursor)

    assert read_cursor(text) == cursor
    assert set(text) <= set("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_")


def _packed(value: Any) -> str:
    return urlsafe_b64encode(json.dumps(value).encode()).decode().rstrip("=")


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("!", id="no-base64"),
        pytest.param("ü", id="no-ascii"),
        pytest.param("A" * 5000, id="too-long"),
        pytest.param(_packed(3), id="no-list"),
        pytest.param(_packed(["2026-01-01T00:00:00+00:00", "k"]), id="too-few"),
        pytest.param(_packed(["2026-01-01T00:00:00+00:00", "k", 3]), id="no-text"),
        pytest.param(_packed(["yesterday", "k", ""]), id="no-moment"),
        pytest.param(_packed(["2026-01-01T00:00:00", "k", ""]), id="no-zone"),
        pytest.param(_packed(["2026-01-01T00:00:00+00:00", "\0", ""]), id="nul"),
        pytest.param(_packed(["2026-01-01T00:00:00+00:00", "k", "\ud800"]), id="half-of-a-surrogate-pair"),
        pytest.param(_packed(["0001-01-01T00:00:00+23:59", "k", ""]), id="before-the-year-1"),
        pytest.param(_packed(["9999-12-31T23:59:59-23:59", "k", ""]), id="after-the-year-9999"),
        pytest.param(urlsafe_b64encode(b"[" * 1400).decode(), id="too-deep"),
    ],
)
def test_what_is_no_cursor_is_refused(text: str) -> None:
    """Never a fault of ours, whatever is sent."""
    with pytest.raises(InvalidCursorError):
        read_cursor(text)


def test_a_url_is_looked_for_by_its_key() -> None:
    """However it is written."""
    assert url_to_key("HTTPS://A.test:443/x/?utm_source=y#z") == KEY
    assert key_filter(KEY.upper()) == KEY


@pytest.mark.parametrize("url", ["a.test/x", "mailto:a@b.test", "", "https://"])
def test_what_is_no_url_is_no_filter(url: str) -> None:
    with pytest.raises(InvalidFilterError, match=r"^url: "):
        url_to_key(url)


@pytest.mark.parametrize("key", ["", "abc", "g" * 64, KEY + "0"])
def test_what_is_no_key_is_no_filter(key: str) -> None:
    with pytest.raises(InvalidFilterError, match=r"^key: "):
        key_filter(key)


@pytest.mark.parametrize(
    ("text", "host", "domain"),
    [
        pytest.param("WWW.Example.co.UK", "www.example.co.uk", "example.co.uk", id="folded"),
        pytest.param("bücher.example", "xn--bcher-kva.example", "xn--bcher-kva.example", id="international"),
        pytest.param("127.0.0.1", "127.0.0.1", "127.0.0.1", id="address"),
        pytest.param("[::1]", "[::1]", "[::1]", id="v6"),
    ],
)
def test_a_host_is_folded_as_in_urls(text: str, host: str, domain: str) -> None:
    assert host_filter("host", text) == (host, domain)


@pytest.mark.parametrize("text", ["", "a b", "a/b", "a?b", "u@a.test", "..", "a\\b", "x" * 300])
def test_what_is_no_host_is_no_filter(text: str) -> None:
    with pytest.raises(InvalidFilterError, match=r"^domain: "):
        host_filter("domain", text)


def test_filters_become_conditions() -> None:
    """Values travel as parameters, numbered in their order."""
    filters = ListFilters(
        host="www.a.test",
        domain="a.test",
        job_id="j",
        execution_id="e",
        status_code=404,
        since=NOW,
        until=NOW,
    )

    query = pages_query(filters, after=ListCursor(NOW, "k", "j"), limit=10)

    assert query.sql.partition(" FROM ")[2] == (
        "crawled_pages WHERE domain = $1 AND host = $2 AND job_id = $3 AND execution_id = $4"
        " AND crawled_at >= $5 AND crawled_at < $6 AND status_code = $7"
        " AND (crawled_at, url_key, job_id) < ($8, $9, $10)"
        " ORDER BY crawled_at DESC, url_key DESC, job_id DESC LIMIT 11"
    )
    assert query.arguments == ("a.test", "www.a.test", "j", "e", NOW, NOW, 404, NOW, "k", "j")


def test_no_filter_lists_everything() -> None:
    assert pages_query(ListFilters(), after=None, limit=1).sql.endswith(
        " FROM crawled_pages ORDER BY crawled_at DESC, url_key DESC, job_id DESC LIMIT 2"
    )


def test_decisions_are_narrowed_by_what_was_decided() -> None:
    query = decisions_query(
        ListFilters(url_key=KEY, decision="closed", reason="not_found"), after=ListCursor(NOW, "d"), limit=5
    )

    assert query.sql.partition(" FROM ")[2] == (
        "url_decisions WHERE url_key = $1 AND decision = $2 AND reason = $3 AND (decided_at, id) < ($4, $5)"
        " ORDER BY decided_at DESC, id DESC LIMIT 6"
    )
    assert query.arguments == (KEY, "closed", "not_found", NOW, "d")


def test_one_page_is_the_latest_of_its_jobs() -> None:
    query = page_query(KEY, None)

    assert query.sql.endswith(", text FROM crawled_pages WHERE url_key = $1 ORDER BY crawled_at DESC LIMIT 1")
    assert page_query(KEY, "j").arguments == (KEY, "j")


def test_rows_are_shown_with_their_own_values() -> None:
    """JSON as its value; what plays no part as nothing."""
    page = page_view({"url": "u", "redirect_chain": '["a"]', "warnings": "[]", "metadata": '{"a": "b"}'})
    decision = decision_view({"url": "u", "depth": -1, "status_code": 0})
    deep = decision_view({"url": "u", "depth": 0, "status_code": 404})

    assert page == {"url": "u", "redirect_chain": ["a"], "warnings": [], "metadata": {"a": "b"}}
    assert (decision["depth"], decision["status_code"]) == (None, None)
    assert (deep["depth"], deep["status_code"]) == (0, 404)
