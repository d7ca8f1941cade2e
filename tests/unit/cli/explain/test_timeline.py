"""`strider why`: its sentences, JSON and exit codes, without servers."""

from __future__ import annotations

import csv
import json
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from strider.cli.app import app
from strider.cli.connections import STACK_HINT
from strider.cli.explain.facts import (
    dead_letter_fact,
    decision_fact,
    entry_fact,
    failure_fact,
    host_fact,
    output_fact,
    page_fact,
    time_of_ms,
)
from strider.cli.explain.lookup import LookupResult
from strider.cli.explain.subject import UrlSubject, parse_subject
from strider.cli.explain.timeline import timeline_json, timeline_text
from strider.cli.output import time_text
from strider.contracts.generated.events import EntryRecorded, HostRecorded
from strider.crawl.runs.control import FOREVER_MS
from strider.urls import url_hash, url_key_of

URL = "https://www.example.org/a"
KEY = url_hash(url_key_of(URL))
AT = datetime(2026, 11, 18, 12, 0, 1, tzinfo=UTC)
AT_MS = int(AT.timestamp() * 1000)
SUBJECT = UrlSubject(URL, KEY, "https://www.example.org", "www.example.org", "example.org")


@pytest.fixture(autouse=True)
def _nowhere(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A folder without a stack, and an environment without addresses."""
    monkeypatch.chdir(tmp_path)
    for name in ("KAFKA_BOOTSTRAP_SERVERS", "POSTGRES_DSN", "STRIDER_HOME", "STRIDER_SHARDS"):
        monkeypatch.delenv(name, raising=False)


def run(*arguments: str) -> tuple[int, str, str]:
    result = CliRunner().invoke(app, ["why", *arguments], catch_exceptions=False)
    return result.exit_code, result.stdout, result.stderr


def a_row(**fields: Any) -> dict[str, Any]:
    standard = {"job_id": "adhoc", "execution_id": "run-1", "url": URL, "status_code": 0}
    return standard | fields


def a_decision(**fields: Any) -> dict[str, Any]:
    row = a_row(
        decision="refused",
        reason="robots_denied",
        detail="",
        decided_by="scheduler",
        decided_at=AT,
        page_url="",
        redirect_target="",
    )
    return row | fields


def test_a_decision_explains_its_reason() -> None:
    """The sentence explains each word."""
    fact = decision_fact(a_decision(page_url="https://www.example.org/", detail="Disallow: /a"))

    assert (fact.at, fact.reported_by, fact.text, fact.job_id) == (
        AT,
        "scheduler",
        (
            "refused it: robots_denied. robots.txt forbids it. Detail: Disallow: /a."
            " Found on: https://www.example.org/."
        ),
        "adhoc",
    )


@pytest.mark.parametrize(
    ("fields", "sentence"),
    [
        pytest.param(
            {
                "decision": "closed",
                "reason": "redirected",
                "status_code": 301,
                "redirect_target": "https://b.test/",
            },
            "closed it without a page: redirected. It redirects, and its target is an entry of its own."
            " Status: 301. Redirects to: https://b.test/.",
            id="closed",
        ),
        pytest.param(
            {"decision": "not_stored", "reason": "rejected", "detail": "captcha", "decided_by": "validator"},
            "did not store its page: rejected. The validator rejected the page; the detail says why."
            " Detail: captcha.",
            id="not-stored",
        ),
        pytest.param(
            {"decision": "closed", "reason": "policy_blocked", "detail": "no_contact"},
            "closed it without a page: policy_blocked. It points to an address or name that may not be"
            " requested, such as a private or reserved one. Detail: no_contact. No contact is configured"
            " (STRIDER_CONTACT), so only loopback may be crawled.",
            id="a-detail-that-is-a-word-itself",
        ),
        pytest.param(
            {"decision": "postponed", "reason": "a_word_of_tomorrow"},
            "postponed: a_word_of_tomorrow.",
            id="a-word-of-tomorrow",
        ),
    ],
)
def test_every_kind_of_decision_is_shown(fields: dict[str, Any], sentence: str) -> None:
    assert decision_fact(a_decision(**fields)).text == sentence


def test_a_page_is_shown() -> None:
    fact = page_fact(
        a_row(
            status_code=200,
            content_type="text/html",
            depth=2,
            text_length=40,
            links_count=3,
            title="A",
            validation_status="valid",
            referrer="https://www.example.org/",
            crawled_at=AT,
            first_crawled_at=AT.replace(year=2025),
        )
    )

    assert fact.text == (
        "stored it, validation status valid, titled 'A' (status 200, text/html, depth 2, 40 characters,"
        " 3 links); found on https://www.example.org/; known since 2025-11-18 12:00:01"
    )


def test_a_failed_try_is_shown() -> None:
    fact = failure_fact(
        a_row(
            kind="robots",
            try_number=2,
            outcome="overloaded",
            error_class="status_server",
            error_message="",
            status_code=503,
            failed_at=AT,
        )
    )

    assert (fact.reported_by, fact.text) == (
        "fetcher",
        (
            "failed to fetch its robots.txt, try 2: overloaded. 503: the site asks for requests later."
            " Error: status_server. Status: 503."
        ),
    )


def test_a_dead_letter_is_shown() -> None:
    """With the position of its message."""
    fact = dead_letter_fact(
        {
            "service": "parser",
            "reason": "handler_crashed",
            "type": "ValueError",
            "message": "no",
            "topic": "pages-fetched",
            "partition": 3,
            "offset": 7,
            "task_id": f"adhoc/{KEY}",
            "execution_id": "run-1",
            "occurred_at": AT,
        }
    )

    assert (fact.job_id, fact.text) == (
        "adhoc",
        (
            "could not handle its message: handler_crashed. The handler raised. Error: ValueError: no."
            " (pages-fetched[3]@7)"
        ),
    )


def test_a_decision_without_a_run_names_none() -> None:
    """A seed that was refused at ingestion never had a key."""
    refusal = decision_fact(a_decision(execution_id="", reason="bad_url"))

    assert timeline_text(SUBJECT, LookupResult((refusal,))).endswith(
        "refused it: bad_url. It is not a URL. [adhoc]"
    )


def test_a_text_that_is_no_url_has_its_refusals_shown() -> None:
    """It may have been submitted as a URL, and then it was refused with a reason."""
    subject = parse_subject("ftp://a.test/")
    refusal = decision_fact(a_decision(execution_id="", reason="refused_scheme", detail="other"))

    assert timeline_text(subject, LookupResult((refusal,))).splitlines()[:2] == [
        "'ftp://a.test/' is refused (refused_scheme): only http and https are crawled",
        "",
    ]


def test_its_place_in_the_frontier_is_shown() -> None:
    entry = EntryRecorded(
        job_id="adhoc",
        url_key=KEY,
        url=URL,
        group="www.example.org",
        state="pending",
        execution_id="run-1",
        crawl_spec_id="s",
        fetch_sequence=3,
        updated_at_ms=AT_MS,
        reason="retry",
        tries=2,
        error_class="head_timeout",
        due_at_ms=AT_MS + 4_000,
    )

    fact = entry_fact(entry)

    assert (fact.at, fact.text) == (
        AT,
        (
            "has its entry in the state pending, reason retry. Waiting to be fetched. A try failed"
            " and another follows. Tries that failed: 2. Error: head_timeout."
            " Not before: 2026-11-18 12:00:05."
        ),
    )


@pytest.mark.parametrize(
    ("fields", "sentence"),
    [
        pytest.param(
            {
                "kind": "robots",
                "origin": "https://www.example.org",
                "robots_state": "fetched",
                "robots_status": 200,
            },
            "robots.txt of https://www.example.org: fetched. The rules are those of a successful response."
            " Status: 200.",
            id="robots",
        ),
        pytest.param(
            {
                "kind": "robots",
                "origin": "https://www.example.org",
                "robots_state": "unreachable",
                "robots_status": 503,
                "last_error_class": "status_server",
                "robots_asked_at_ms": AT_MS,
                "unreachable_since_ms": AT_MS - 1_000,
                "robots_expires_at_ms": AT_MS + 2_000,
            },
            "robots.txt of https://www.example.org: unreachable. The file cannot be fetched:"
            " nothing is allowed. Status: 503. Error: status_server."
            " The status is from 500 to 599. Last requested: 2026-11-18 12:00:01."
            " Unreachable since: 2026-11-18 12:00:00. Requested again not before: 2026-11-18 12:00:03.",
            id="robots-unreachable",
        ),
        pytest.param(
            {"kind": "group", "delay_seconds": 2.0},
            "www.example.org: crawl delay 2 s, circuit breaker closed.",
            id="group",
        ),
        pytest.param(
            {
                "kind": "group",
                "delay_seconds": 1.0,
                "breaker": "open",
                "block_reason": "rate_limited",
                "blocked_until_ms": AT_MS,
            },
            "www.example.org: crawl delay 1 s, circuit breaker open."
            " Blocked until 2026-11-18 12:00:01: rate_limited.",
            id="blocked",
        ),
        pytest.param(
            {
                "kind": "group",
                "delay_seconds": 1.0,
                "is_active": False,
                "barred_until_ms": AT_MS,
                "blocked_by": "ann",
                "block_detail": "they asked us to",
            },
            "www.example.org: crawl delay 1 s, circuit breaker closed."
            " Manually blocked until 2026-11-18 12:00:01. Blocked by: ann. Reason: they asked us to.",
            id="barred for a time",
        ),
        pytest.param(
            {"kind": "group", "delay_seconds": 1.0, "is_active": False, "barred_until_ms": FOREVER_MS},
            "www.example.org: crawl delay 1 s, circuit breaker closed. Manually blocked until it is "
            "unblocked.",
            id="barred",
        ),
    ],
)
def test_the_state_of_its_host_is_shown(fields: dict[str, Any], sentence: str) -> None:
    fact = host_fact(HostRecorded(group="www.example.org", updated_at_ms=AT_MS, **fields))

    assert fact.text.startswith(sentence)
    assert ("Manually blocked" in fact.text) is (fields.get("is_active") is False)


def test_what_is_over_is_shown_as_such() -> None:
    """A record stays as it is until the host changes."""
    record = HostRecorded(
        "group", "www.example.org", AT_MS, blocked_until_ms=AT_MS, block_reason="rate_limited",
        is_active=False, barred_until_ms=AT_MS,
    )  # fmt: skip

    sentence = host_fact(record, now_ms=AT_MS).text

    assert "Was blocked until 2026-11-18 12:00:01" in sentence
    assert "Was manually blocked until 2026-11-18 12:00:01" in sentence


@pytest.mark.parametrize("milliseconds", [0, -1, 10**18, (1 << 48) - 1 << 16])
def test_a_time_beyond_all_years_is_none_that_is_known(milliseconds: int) -> None:
    assert time_text(time_of_ms(milliseconds)) == "?"


def test_the_timeline_is_in_order_of_time() -> None:
    """Whatever the order of the sources; facts about the host are apart."""
    late, early = (
        decision_fact(a_decision(decided_at=AT.replace(hour=hour), reason=reason))
        for hour, reason in ((13, "not_found"), (11, "robots_denied"))
    )
    host = host_fact(HostRecorded(kind="group", group="www.example.org", updated_at_ms=AT_MS))
    unknown = output_fact({"url": URL, "outcome": "page"})

    shown = timeline_text(SUBJECT, LookupResult((late, host, early, unknown))).splitlines()

    assert shown[:3] == [URL, f"key {KEY}", ""]
    starts = [line[:19].strip() for line in shown[3:] if not line.startswith(" " * 21)]
    assert starts == [
        "?",
        "2026-11-18 11:00:01",
        "2026-11-18 13:00:01",
        "",
        "about www.example.o",
        "2026-11-18 12:00:01",
    ]
    assert all(len(line) <= 110 for line in shown)


def test_json_output_has_the_same_facts() -> None:
    answers = LookupResult((decision_fact(a_decision()),), unavailable=("the log could not be asked: x",))

    document = json.loads(timeline_json(SUBJECT, answers))

    assert {name: document[name] for name in ("url", "url_key", "host", "known", "not_read")} == {
        "url": URL,
        "url_key": KEY,
        "host": "www.example.org",
        "known": True,
        "not_read": ["the log could not be asked: x"],
    }
    (fact,) = document["facts"]
    assert (fact["at"], fact["by"], fact["kind"], fact["details"]["reason"]) == (
        "2026-11-18T12:00:01+00:00",
        "scheduler",
        "decision",
        "robots_denied",
    )


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        pytest.param(
            "example.org/x",
            "(bad_url): it has no scheme; did you mean https://example.org/x?",
            id="without-scheme",
        ),
        pytest.param("ftp://b.test/", "(refused_scheme): only http and https are crawled", id="scheme"),
        pytest.param("mailto:a@b.test", "(refused_scheme): only http and https are crawled", id="no-page"),
        pytest.param(
            f"https://b.test/{'x' * 9000}",
            f"'https://b.test/{'x' * 185}…' is refused (url_too_long): it is longer than 2,048 bytes",
            id="too-long",
        ),
        pytest.param("", "(bad_url): it is empty", id="nothing"),
    ],
)
def test_what_is_no_url_is_wrong_usage(text: str, sentence: str) -> None:
    """With the word by which the crawler would refuse it."""
    code, out, err = run(text)

    assert (code, out, len(err.splitlines())) == (2, "", 1)
    assert err.rstrip().endswith(sentence)


def test_a_url_is_read_as_the_crawler_reads_it() -> None:
    assert parse_subject(" HTTPS://WWW.example.org:443/a?utm_source=x#y ") == replace(
        SUBJECT, text="HTTPS://WWW.example.org:443/a?utm_source=x#y"
    )


def test_the_lack_of_any_source_is_reported() -> None:
    """Nothing known, and no source configured, are two results."""
    code, out, err = run(URL)

    assert code == 2
    assert "no source could be read" in out
    assert err.splitlines() == [
        f"strider: no address of {name} is configured: give strider {option}, set {variable}, or {STACK_HINT}"
        for name, option, variable in (
            ("PostgreSQL", "--postgres", "POSTGRES_DSN"),
            ("Kafka", "--kafka", "KAFKA_BOOTSTRAP_SERVERS"),
        )
    ]


LINES = [
    {"url": URL + "?utm_source=x", "outcome": "page", "status": 200, "fetched_at": "2026-11-18T12:00:01Z"},
    {"url": "https://www.example.org/old", "final_url": URL, "outcome": "redirected", "fetched_at": ""},
    {"url": "https://www.example.org/b", "outcome": "refused", "reason": "robots_denied"},
    {"url": "ftp://www.example.org/", "outcome": "refused", "reason": "refused_scheme"},
]


def test_the_output_of_a_crawl_is_searched(tmp_path: Path) -> None:
    """In any spelling, and as the target of a redirect."""
    path = tmp_path / "pages.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in LINES))

    code, out, _ = run("https://www.example.org/a/#top", "--from", str(path), "--json")
    refused = run("https://www.example.org/b", "--from", str(path))
    nothing = run("https://www.example.org/c", "--from", str(path))
    no_url = run("ftp://www.example.org/", "--from", str(path))

    document = json.loads(out)
    assert (code, [fact["text"] for fact in document["facts"]]) == (
        0,
        [f"reports redirected. Redirects to: {URL}.", "reports page. Status: 200."],
    )
    assert refused[0] == 0
    assert "robots.txt forbids it." in refused[1]
    assert nothing[0] == 1
    assert "nothing is known of this URL" in nothing[1]
    assert (no_url[0], "Its scheme is not crawled." in no_url[1]) == (0, True)


def test_a_csv_output_is_searched_like_json_lines(tmp_path: Path) -> None:
    path = tmp_path / "pages.csv"
    with path.open("w", newline="") as file:
        table = csv.DictWriter(file, ["url", "final_url", "outcome", "reason", "status", "fetched_at"])
        table.writeheader()
        table.writerows(LINES)

    code, out, _ = run(URL, "--from", str(path))

    assert code == 0
    assert "reports page. Status: 200." in out


def test_a_line_that_was_cut_off_costs_only_itself(tmp_path: Path) -> None:
    """A killed crawl may have left half of its last line."""
    path = tmp_path / "pages.jsonl"
    path.write_text(json.dumps(LINES[0]) + '\n{"url": "https://www.exa')

    assert run(URL, "--from", str(path))[0] == 0


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        pytest.param(None, "No such file", id="not-there"),
        pytest.param("no json\n", "not the output of a crawl", id="no-output"),
        pytest.param("[1]\n", "line 1 is not a JSON object", id="no-object"),
        pytest.param('{"url": "x"}\nno json\n{"url": "y"}\n', "line 2 is not a JSON object", id="broken"),
    ],
)
def test_a_file_that_is_none_is_wrong_usage(tmp_path: Path, text: str | None, sentence: str) -> None:
    path = tmp_path / "pages.jsonl"
    if text is not None:
        path.write_text(text)

    code, _, err = run(URL, "--from", str(path))

    assert (code, sentence in err) == (2, True)
