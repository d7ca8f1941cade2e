"""What `strider why` tells, and how it ends; nobody is asked here but a file."""

from __future__ import annotations

import csv
import json
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from strider.cli.why_asking import Answers
from strider.cli.why_facts import (
    decision_fact,
    entry_fact,
    failure_fact,
    host_fact,
    letter_fact,
    line_fact,
    moment,
    moment_text,
    page_fact,
)
from strider.cli.why_story import Subject, as_json, subject_of, tell
from strider.cli.words import app
from strider.contracts.generated.events import EntryRecorded, HostRecorded
from strider.scheduler.core.runs.control import FOREVER_MS
from strider.urls import url_hash, url_key_of

URL = "https://www.example.org/a"
KEY = url_hash(url_key_of(URL))
AT = datetime(2026, 11, 18, 12, 0, 1, tzinfo=UTC)
AT_MS = int(AT.timestamp() * 1000)
SUBJECT = Subject(URL, KEY, "https://www.example.org", "www.example.org", "example.org")


@pytest.fixture(autouse=True)
def _nowhere(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A directory without a stack, and an environment that names nothing."""
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


def test_a_decision_says_what_its_word_means() -> None:
    """Nobody should have to look a word up."""
    fact = decision_fact(a_decision(page_url="https://www.example.org/", detail="Disallow: /a"))

    assert (fact.at, fact.by, fact.says, fact.job_id) == (
        AT,
        "scheduler",
        (
            "refused it: robots_denied. robots.txt forbids it. Detail: Disallow: /a."
            " Found on: https://www.example.org/."
        ),
        "adhoc",
    )


@pytest.mark.parametrize(
    ("fields", "says"),
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
            "did not keep its page: rejected. The validator rejected the page; the detail says why."
            " Detail: captcha.",
            id="not-stored",
        ),
        pytest.param(
            {"decision": "closed", "reason": "policy_blocked", "detail": "no_contact"},
            "closed it without a page: policy_blocked. It points to an address or name that may not be asked"
            " from here, such as a private or reserved one. Detail: no_contact. Nobody is named whom sites"
            " could write to (STRIDER_CONTACT), so only loopback is asked.",
            id="a-detail-that-is-a-word-itself",
        ),
        pytest.param(
            {"decision": "postponed", "reason": "a_word_of_tomorrow"},
            "postponed: a_word_of_tomorrow.",
            id="a-word-of-tomorrow",
        ),
    ],
)
def test_every_kind_of_decision_is_told(fields: dict[str, Any], says: str) -> None:
    assert decision_fact(a_decision(**fields)).says == says


def test_a_page_is_told() -> None:
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

    assert fact.says == (
        "stored it as valid, titled 'A' (status 200, text/html, depth 2, 40 characters, 3 links);"
        " found on https://www.example.org/; known since 2025-11-18 12:00:01"
    )


def test_a_try_that_failed_is_told() -> None:
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

    assert (fact.by, fact.says) == (
        "fetcher",
        (
            "asked for its robots.txt in vain, try 2: overloaded. 503: the site wants us later."
            " Error: status_server. Status: 503."
        ),
    )


def test_a_dead_letter_is_told() -> None:
    """With where its message lies."""
    fact = letter_fact(
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

    assert (fact.job_id, fact.says) == (
        "adhoc",
        (
            "could not handle its message: handler_crashed. The handler raised. Error: ValueError: no."
            " (pages-fetched[3]@7)"
        ),
    )


def test_a_decision_without_a_run_names_none() -> None:
    """A seed that was refused at the door never had one."""
    refusal = decision_fact(a_decision(execution_id="", reason="bad_url"))

    assert tell(SUBJECT, Answers((refusal,))).endswith("refused it: bad_url. It is no URL. [adhoc]")


def test_what_is_no_url_is_told_of_all_the_same() -> None:
    """Somebody may have sent it as one, and then it was refused with a reason."""
    subject = subject_of("ftp://a.test/")
    refusal = decision_fact(a_decision(execution_id="", reason="refused_scheme", detail="other"))

    assert tell(subject, Answers((refusal,))).splitlines()[:2] == [
        "'ftp://a.test/' is no URL that a crawler takes: refused_scheme. Its scheme is not crawled.",
        "",
    ]


def test_where_the_frontier_has_it_is_told() -> None:
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

    assert (fact.at, fact.says) == (
        AT,
        (
            "has it as pending, retry. Waiting to be fetched. A try failed and another follows."
            " Tries that failed: 2. Error: head_timeout. Not before: 2026-11-18 12:00:05."
        ),
    )


@pytest.mark.parametrize(
    ("fields", "says"),
    [
        pytest.param(
            {
                "kind": "robots",
                "origin": "https://www.example.org",
                "robots_state": "fetched",
                "robots_status": 200,
            },
            "robots.txt of https://www.example.org: fetched. What it allows rests on a good answer."
            " Status: 200.",
            id="robots",
        ),
        pytest.param(
            {"kind": "group", "delay_seconds": 2.0},
            "requests to www.example.org keep 2 s apart, breaker closed.",
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
            "requests to www.example.org keep 1 s apart, breaker open."
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
            "requests to www.example.org keep 1 s apart, breaker closed."
            " Left alone until 2026-11-18 12:00:01. Wished by: ann. Why: they asked us to.",
            id="barred for a time",
        ),
        pytest.param(
            {"kind": "group", "delay_seconds": 1.0, "is_active": False, "barred_until_ms": FOREVER_MS},
            "requests to www.example.org keep 1 s apart, breaker closed. Left alone until it is unblocked.",
            id="barred",
        ),
    ],
)
def test_how_its_host_stands_is_told(fields: dict[str, Any], says: str) -> None:
    fact = host_fact(HostRecorded(group="www.example.org", updated_at_ms=AT_MS, **fields))

    assert fact.says.startswith(says)
    assert ("Left alone" in fact.says) is (fields.get("is_active") is False)


def test_what_is_over_is_told_as_such() -> None:
    """Its record stays as it is until something else is to be said of the host."""
    record = HostRecorded(
        "group", "www.example.org", AT_MS, blocked_until_ms=AT_MS, block_reason="rate_limited",
        is_active=False, barred_until_ms=AT_MS,
    )  # fmt: skip

    says = host_fact(record, now_ms=AT_MS).says

    assert "Was blocked until 2026-11-18 12:00:01" in says
    assert "Was left alone until 2026-11-18 12:00:01" in says


@pytest.mark.parametrize("milliseconds", [0, -1, 10**18, (1 << 48) - 1 << 16])
def test_a_time_beyond_all_years_is_none_that_is_known(milliseconds: int) -> None:
    assert moment_text(moment(milliseconds)) == "?"


def test_the_story_is_told_in_order_of_time() -> None:
    """Whoever was asked first; what is known of the host stands apart."""
    late, early = (
        decision_fact(a_decision(decided_at=AT.replace(hour=hour), reason=reason))
        for hour, reason in ((13, "not_found"), (11, "robots_denied"))
    )
    host = host_fact(HostRecorded(kind="group", group="www.example.org", updated_at_ms=AT_MS))
    unknown = line_fact({"url": URL, "outcome": "page"})

    told = tell(SUBJECT, Answers((late, host, early, unknown))).splitlines()

    assert told[:3] == [URL, f"key {KEY}", ""]
    starts = [line[:19].strip() for line in told[3:] if not line.startswith(" " * 21)]
    assert starts == [
        "?",
        "2026-11-18 11:00:01",
        "2026-11-18 13:00:01",
        "",
        "and of www.example.",
        "2026-11-18 12:00:01",
    ]
    assert all(len(line) <= 110 for line in told)


def test_machines_are_told_the_same() -> None:
    answers = Answers((decision_fact(a_decision()),), silent=("the log could not be asked: x",))

    document = json.loads(as_json(SUBJECT, answers))

    assert {name: document[name] for name in ("url", "url_key", "host", "known", "not_asked")} == {
        "url": URL,
        "url_key": KEY,
        "host": "www.example.org",
        "known": True,
        "not_asked": ["the log could not be asked: x"],
    }
    (fact,) = document["facts"]
    assert (fact["at"], fact["by"], fact["kind"], fact["details"]["reason"]) == (
        "2026-11-18T12:00:01+00:00",
        "scheduler",
        "decision",
        "robots_denied",
    )


@pytest.mark.parametrize(
    ("text", "says"),
    [
        pytest.param("example.org/x", "bad_url; did you mean https://example.org/x?", id="without-scheme"),
        pytest.param("ftp://b.test/", "refused_scheme. Its scheme is not crawled.", id="scheme"),
        pytest.param("mailto:a@b.test", "refused_scheme. Its scheme is not crawled.", id="no-page"),
        pytest.param(
            f"https://b.test/{'x' * 9000}",
            f"'https://b.test/{'x' * 185}…' is no URL that a crawler takes: url_too_long."
            " It is longer than the limit.",
            id="too-long",
        ),
        pytest.param("", "bad_url", id="nothing"),
    ],
)
def test_what_is_no_url_is_wrong_usage(text: str, says: str) -> None:
    """Said with the word by which the crawler would refuse it."""
    code, out, err = run(text)

    assert (code, out, len(err.splitlines())) == (2, "", 1)
    assert err.rstrip().endswith(says)


def test_a_url_is_read_as_the_crawler_reads_it() -> None:
    assert subject_of(" HTTPS://WWW.example.org:443/a?utm_source=x#y ") == replace(
        SUBJECT, text="HTTPS://WWW.example.org:443/a?utm_source=x#y"
    )


def test_where_nobody_can_be_asked_it_is_said() -> None:
    """Nothing known and nobody asked are two answers."""
    code, out, err = run(URL)

    assert code == 3
    assert "nobody could be asked" in out
    assert err.splitlines() == [
        "strider: no database is named: set POSTGRES_DSN, or run strider up",
        "strider: no broker is named: set KAFKA_BOOTSTRAP_SERVERS, or run strider up",
    ]


LINES = [
    {"url": URL + "?utm_source=x", "outcome": "page", "status": 200, "fetched_at": "2026-11-18T12:00:01Z"},
    {"url": "https://www.example.org/old", "final_url": URL, "outcome": "redirected", "fetched_at": ""},
    {"url": "https://www.example.org/b", "outcome": "refused", "reason": "robots_denied"},
    {"url": "ftp://www.example.org/", "outcome": "refused", "reason": "refused_scheme"},
]


def test_the_output_of_a_crawl_is_asked(tmp_path: Path) -> None:
    """A URL however it is written, and whoever redirects to it."""
    path = tmp_path / "pages.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in LINES))

    code, out, _ = run("https://www.example.org/a/#top", "--from", str(path), "--json")
    refused = run("https://www.example.org/b", "--from", str(path))
    nothing = run("https://www.example.org/c", "--from", str(path))
    no_url = run("ftp://www.example.org/", "--from", str(path))

    document = json.loads(out)
    assert (code, [fact["says"] for fact in document["facts"]]) == (
        0,
        [f"says redirected. Redirects to: {URL}.", "says page. Status: 200."],
    )
    assert refused[0] == 0
    assert "robots.txt forbids it." in refused[1]
    assert nothing[0] == 1
    assert "nothing is known of this URL" in nothing[1]
    assert (no_url[0], "Its scheme is not crawled." in no_url[1]) == (0, True)


def test_a_table_is_asked_alike(tmp_path: Path) -> None:
    path = tmp_path / "pages.csv"
    with path.open("w", newline="") as file:
        table = csv.DictWriter(file, ["url", "final_url", "outcome", "reason", "status", "fetched_at"])
        table.writeheader()
        table.writerows(LINES)

    code, out, _ = run(URL, "--from", str(path))

    assert code == 0
    assert "says page. Status: 200." in out


def test_a_line_that_was_cut_off_costs_only_itself(tmp_path: Path) -> None:
    """A crawl that was killed may have left half of its last line."""
    path = tmp_path / "pages.jsonl"
    path.write_text(json.dumps(LINES[0]) + '\n{"url": "https://www.exa')

    assert run(URL, "--from", str(path))[0] == 0


@pytest.mark.parametrize(
    ("text", "says"),
    [
        pytest.param(None, "No such file", id="not-there"),
        pytest.param("no json\n", "it is no output of a crawl", id="no-output"),
        pytest.param("[1]\n", "line 1 is no JSON object", id="no-object"),
        pytest.param('{"url": "x"}\nno json\n{"url": "y"}\n', "line 2 is no JSON object", id="broken"),
    ],
)
def test_a_file_that_is_none_is_wrong_usage(tmp_path: Path, text: str | None, says: str) -> None:
    path = tmp_path / "pages.jsonl"
    if text is not None:
        path.write_text(text)

    code, _, err = run(URL, "--from", str(path))

    assert (code, says in err) == (2, True)
