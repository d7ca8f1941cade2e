"""Validation by parse outcome, by phrases, by structure, in this order."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from strider.contracts.generated.enums import ParseOutcome
from strider.validator.core import VALID, PageAssessment, ValidationRules, validate_page
from tests.unit.validator.builders import TEXT, a_page

RULES = ValidationRules()
STRICT = ValidationRules(strict=True)
NO_LINKS: dict[str, Any] = {"link_urls": ()}


def reason_of(judgement: PageAssessment) -> str:
    assert judgement.is_rejected == (judgement.status == "rejected")
    return judgement.reason


@pytest.mark.parametrize(
    "page",
    [
        pytest.param(a_page(), id="usual"),
        pytest.param(a_page(paragraph_count=0), id="much-text-without-paragraphs"),
        pytest.param(a_page("short", **NO_LINKS), id="little-text-in-a-paragraph"),
        pytest.param(
            a_page("", outcome="not_modified", decoded_bytes=0, document_kind="other"), id="not-modified"
        ),
        pytest.param(
            a_page("a,b", document_kind="text", decoded_bytes=3, paragraph_count=0), id="short-text"
        ),
        pytest.param(a_page("{}", document_kind="json", decoded_bytes=2, paragraph_count=0), id="short-json"),
        pytest.param(a_page("<a/>", document_kind="xml", decoded_bytes=4, paragraph_count=0), id="short-xml"),
        pytest.param(
            a_page("", document_kind="feed", decoded_bytes=99, paragraph_count=0), id="feed-without-text"
        ),
        pytest.param(a_page('{"error": "access denied"}', document_kind="json"), id="data-is-never-a-wall"),
        pytest.param(a_page(decoded_bytes=500), id="just-long-enough"),
        pytest.param(a_page(password_fields=1, title="Log in"), id="a-page-with-a-login-beside"),
    ],
)
def test_content_is_valid(page: Any) -> None:
    assert validate_page(page, RULES) == VALID


@pytest.mark.req("S2.4.8")
@pytest.mark.req("S2.4.6", part="pages without links; those with links are kept with a warning")
@pytest.mark.req("S2.4.7", part="pages without links and with little text; others are kept")
@pytest.mark.parametrize(
    ("fields", "reason", "kind"),
    [
        pytest.param({"decoded_bytes": 499}, "too_short", "plain", id="under-500-bytes"),
        pytest.param({"paragraph_count": 0, "text": "x" * 999}, "no_paragraphs", "plain", id="no-paragraphs"),
        pytest.param({"text": "", "script_count": 3}, "only_scripts", "soft", id="only-scripts"),
        pytest.param({"text": "", "decoded_bytes": 9}, "no_text", "plain", id="no-text"),
    ],
)
def test_html_that_is_missing_something_is_rejected(fields: dict[str, Any], reason: str, kind: str) -> None:
    judgement = validate_page(a_page(**{"text": TEXT, **fields}, **NO_LINKS), RULES)

    assert (judgement.status, judgement.reason, judgement.kind) == ("rejected", reason, kind)
    assert "bytes 5000" in judgement.detail or "decoded_bytes" in fields


@pytest.mark.parametrize(
    ("fields", "warnings"),
    [
        pytest.param({"decoded_bytes": 80, "text": "Home"}, ("too_short",), id="a-menu"),
        pytest.param({"paragraph_count": 0, "text": "Home"}, ("no_paragraphs",), id="a-list"),
        pytest.param(
            {"paragraph_count": 0, "text": "", "decoded_bytes": 80},
            ("no_text", "too_short", "no_paragraphs"),
            id="an-image-map",
        ),
        pytest.param({"outcome": "partly_parsed"}, ("partly_parsed",), id="half-a-page"),
    ],
)
def test_a_page_with_links_is_kept_with_a_warning(fields: dict[str, Any], warnings: tuple[str, ...]) -> None:
    """Rejecting a menu would end the crawl behind it."""
    assert validate_page(a_page(**fields), RULES) == PageAssessment("doubtful", warnings=warnings)


@pytest.mark.parametrize(
    ("target", "status"), [("https://site.test/next", "doubtful"), ("", "rejected")], ids=["sent-on", "left"]
)
def test_a_page_with_a_refresh_is_kept(target: str, status: str) -> None:
    """A meta refresh is a redirect in HTML."""
    page = a_page(text="", decoded_bytes=80, refresh_url=target, **NO_LINKS)

    assert validate_page(page, RULES).status == status


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        pytest.param({"decoded_bytes": 80}, "too_short", id="short"),
        pytest.param({"paragraph_count": 0}, "no_paragraphs", id="no-paragraphs"),
    ],
)
def test_strict_rules_reject_a_page_with_links(fields: dict[str, Any], reason: str) -> None:
    assert reason_of(validate_page(a_page(**fields), STRICT)) == reason


def test_zero_min_links_keeps_no_page_for_its_links() -> None:
    assert reason_of(validate_page(a_page(decoded_bytes=80), ValidationRules(min_links=0))) == "too_short"


@pytest.mark.parametrize(
    ("outcome", "reason"),
    [
        ("empty", "empty"),
        ("unsupported", "unsupported"),
        ("undecodable", "undecodable"),
        ("decode_bomb", "decode_bomb"),
        ("too_large", "too_large"),
        ("malformed", "malformed"),
        ("timed_out", "parse_timeout"),
        ("out_of_memory", "parse_memory"),
        ("crashed", "parser_crashed"),
    ],
)
def test_an_unparsed_page_is_rejected_with_its_reason(outcome: str, reason: str) -> None:
    judgement = validate_page(a_page("", outcome=outcome, error_message="why"), RULES)

    assert judgement == PageAssessment("rejected", reason, "plain", "why")


def test_every_parse_outcome_is_handled() -> None:
    """A new parse outcome must not pass for content because it was forgotten here."""
    judged = {
        outcome: validate_page(a_page("", outcome=outcome, **NO_LINKS), RULES) for outcome in ParseOutcome
    }

    assert [outcome for outcome, judgement in judged.items() if not judgement.is_rejected] == ["not_modified"]


@pytest.mark.req("S2.4.2", "S2.4.3", "S2.4.4", "S2.4.5")
@pytest.mark.parametrize(
    ("text", "reason", "kind"),
    [
        ("Please enable JavaScript to view this page.", "javascript_required", "soft"),
        ("Checking your browser before accessing the site.", "challenge_page", "hard"),
        ("Access Denied. Reference #18.2f", "access_denied", "hard"),
        ("403 Forbidden nginx", "forbidden", "hard"),
    ],
)
def test_block_page_phrases_reject_well_formed_pages(text: str, reason: str, kind: str) -> None:
    judgement = validate_page(a_page(text), RULES)

    assert (judgement.status, judgement.reason, judgement.kind) == ("rejected", reason, kind)
    assert judgement.detail.startswith("text: ")


def test_a_block_page_may_be_plain_text() -> None:
    assert reason_of(validate_page(a_page("403 Forbidden", document_kind="text"), RULES)) == "forbidden"


def test_a_bare_login_form_is_a_login_wall() -> None:
    page = a_page("User Password", title="Sign in · Site", password_fields=1)

    assert validate_page(page, RULES) == PageAssessment(
        "rejected", "login_wall", "plain", "title: sign in, and a password field"
    )
    assert validate_page(replace(page, password_fields=0), RULES) == VALID


def test_the_rules_version_changes_with_the_rules() -> None:
    assert ValidationRules().version == ValidationRules().version
    assert len({ValidationRules().version, STRICT.version, ValidationRules(min_body_bytes=1).version}) == 3
