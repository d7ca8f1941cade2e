"""`strider robots check --file`: verdicts, the line that decided, and exit codes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from strider.cli.app import app
from strider.cli.fetch.robots_client import report_lines
from strider.politeness import MAX_ROBOTS_BYTES

TEXT = (
    "# ours\nUser-agent: Strider\nDisallow: /private/\nAllow: /private/open\nCrawl-delay: 900\n\n"
    "User-agent: *\nDisallow: /\nSitemap: /s.xml\n"
)


@pytest.fixture
def rules(tmp_path: Path) -> Path:
    path = tmp_path / "robots.txt"
    path.write_text(TEXT)
    return path


def _check(*arguments: str, given: bytes = b"") -> tuple[int, str, str]:
    result = CliRunner().invoke(app, ["robots", "check", *arguments], input=given)
    return result.exit_code, result.stdout, result.stderr


def test_a_verdict_is_shown_with_its_evidence(rules: Path) -> None:
    """Scripts rely on these fields."""
    code, out, _ = _check("https://a.test/private/x", "--file", str(rules), "--json")

    assert code == 1
    assert json.loads(out) == {
        "url": "https://a.test/private/x",
        "allowed": False,
        "reason": "rule",
        "agent": "Strider",
        "group": "Strider",
        "rule": "Disallow: /private/",
        "line": 3,
        "crawl_delay_seconds": 900.0,
        "obeyed_delay_seconds": 300.0,
        "sitemaps": ["https://a.test/s.xml"],
        "robots_url": "",
        "robots_state": "file",
        "robots_status": 0,
        "redirect_target": "",
        "redirect_refused": "",
        "truncated": False,
    }


@pytest.mark.parametrize(
    ("arguments", "code", "allowed"),
    [
        pytest.param(["https://a.test/"], 0, [True], id="allowed"),
        pytest.param(["https://a.test/", "https://a.test/private/"], 1, [True, False], id="one-is-denied"),
        pytest.param(["https://a.test/private/open"], 0, [True], id="by-a-longer-rule"),
        pytest.param(["https://a.test/", "--agent", "other"], 1, [False], id="in-another-name"),
        pytest.param(["https://a.test/", "--agent", "strider/2.0 (+x)"], 0, [True], id="by-a-whole-header"),
        pytest.param(["a.test"], 0, [True], id="a-bare-name"),
        pytest.param(["https://a.test/robots.txt", "--agent", "other"], 0, [True], id="itself"),
    ],
)
def test_the_exit_code_is_the_verdict(
    rules: Path, arguments: list[str], code: int, allowed: list[bool]
) -> None:
    found, out, _ = _check(*arguments, "--file", str(rules), "--json")

    assert (found, [json.loads(line)["allowed"] for line in out.splitlines()]) == (code, allowed)


def test_people_get_lines(rules: Path) -> None:
    code, out, _ = _check("https://a.test/private/x", "--file", str(rules))

    assert code == 1
    assert out.splitlines()[:2] == ["denied   https://a.test/private/x", "  by line 3: Disallow: /private/"]


def test_rules_may_come_by_standard_input() -> None:
    code, _, _ = _check("https://a.test/x", "--file", "-", given=b"User-agent: *\nDisallow: /x")

    assert code == 1


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        pytest.param(["http://a b/", "--file", "-"], "is not a URL", id="no-url"),
        pytest.param(["ftp://a.test/", "--file", "-"], "only http and https", id="scheme"),
        pytest.param(["http://a.test/", "--file", "/nowhere/robots.txt"], "No such file", id="no-file"),
        pytest.param(["http://a.test/", "--file", ""], "--file: is empty; give a value", id="unset-file"),
    ],
)
def test_wrong_usage_is_reported_in_one_line(arguments: list[str], words: str) -> None:
    code, out, errors = _check(*arguments)

    assert (code, out, errors.count("\n")) == (2, "", 1)
    assert words in errors


def test_rules_behind_the_limit_do_not_exist(tmp_path: Path) -> None:
    """Nor does the line that the size limit cuts in two."""
    path = tmp_path / "robots.txt"
    lines = b"User-agent: *\n" + b"#" * (MAX_ROBOTS_BYTES - 30) + b"\nDisallow: /private/and/more\n"
    path.write_bytes(lines)

    code, out, _ = _check("http://a.test/x", "http://a.test/private/and/more", "--file", str(path), "--json")

    assert (code, [json.loads(line)["truncated"] for line in out.splitlines()]) == (0, [True, True])


@pytest.mark.parametrize(
    ("typed", "why"),
    [
        pytest.param("/private/", "give all of it, https://host/private/", id="a-path-alone"),
        pytest.param("mailto:me@a.test", "only http and https are crawled", id="another-scheme"),
        pytest.param("", "is not a URL", id="nothing"),
    ],
)
def test_a_text_that_is_no_url_is_reported_without_a_verdict(rules: Path, typed: str, why: str) -> None:
    """A path taken for a host would be allowed everything."""
    code, out, errors = _check(typed, "--file", str(rules))

    assert (code, out) == (2, "")
    assert why in errors


@pytest.mark.parametrize(
    ("reason", "status", "line"),
    [
        pytest.param("unreachable: status_server", 503, "  unreachable: status 503", id="by-its-status"),
        pytest.param(
            "unreachable: too_many_redirects", 302, "  unreachable: too many redirects, status 302", id="both"
        ),
        pytest.param("unreachable: connect_refused", 0, "  unreachable: connect refused", id="no-response"),
    ],
)
def test_an_unreachable_file_is_shown_with_its_status(
    rules: Path, reason: str, status: int, line: str
) -> None:
    report = json.loads(_check("https://a.test/open", "--file", str(rules), "--json")[1])
    report |= {"allowed": False, "reason": reason, "robots_state": "unreachable", "robots_status": status}

    assert line in list(report_lines(report))
