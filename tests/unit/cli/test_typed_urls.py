"""URLs as people type them: one reading, one refusal and one exit code in every command."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

from strider.cli.app import app
from strider.cli.crawl.options import CrawlOptions, plan_crawl
from strider.cli.exit_codes import CommandExit
from strider.cli.typed_urls import BadTypedUrl, read_url

KAFKA = ["--kafka", "127.0.0.1:1"]


@pytest.mark.parametrize(
    ("typed", "url"),
    [
        ("example.com", "https://example.com"),
        ("example.com:8080/x", "https://example.com:8080/x"),
        ("example.com:8080?x", "https://example.com:8080?x"),
        ("example.com/?next=http://b.test", "https://example.com/?next=http://b.test"),
        ("//example.com/a", "https://example.com/a"),
        ("//intranet/a", "https://intranet/a"),
        ("localhost:8765/a.html", "http://localhost:8765/a.html"),
        ("LOCALHOST", "http://LOCALHOST"),
        ("127.0.0.1:8000", "http://127.0.0.1:8000"),
        ("[::1]:8000/", "http://[::1]:8000/"),
        ("a.test/mail@x", "https://a.test/mail@x"),
    ],
)
def test_a_host_without_a_scheme_is_completed_and_the_reading_is_announced(typed: str, url: str) -> None:
    """Https in general; http for this machine, where certificates are rare."""
    found = read_url(typed)

    assert (found.text, found.note) == (url, f"{typed} is read as {url}")


@pytest.mark.parametrize("typed", [" HTTP://Example.COM ", "https://intranet/", "http://127.0.0.1:8000/"])
def test_a_complete_url_is_read_as_it_stands(typed: str) -> None:
    assert (read_url(typed).text, read_url(typed).note) == (typed.strip(), "")


@pytest.mark.parametrize(
    ("typed", "sentence"),
    [
        ("", "'' is not a URL (bad_url): it is empty"),
        ("-", "'-' is not a URL (bad_url): give URLs as arguments, this command reads none from a pipe"),
        ("/path", "'/path' is not a URL (bad_url): give all of it, https://host/path"),
        ("?query", "'?query' is not a URL (bad_url): give all of it, https://host?query"),
        ("foo", "'foo' is not a URL (bad_url): it has no scheme; did you mean https://foo/?"),
        ("3.5", "'3.5' is not a URL (bad_url): it has no scheme; did you mean https://3.0.0.5/?"),
        ("foo:80", "'foo:80' is refused (refused_scheme): it has no scheme; did you mean https://foo:80/?"),
        ("a@b.test", "'a@b.test' is not a URL (bad_url): check its host and port"),
        ("http://exa mple/", "'http://exa mple/' is not a URL (bad_url): check its host and port"),
        ("http://a:70000/", "'http://a:70000/' is not a URL (bad_url): check its host and port"),
        ("http://a..b/", "'http://a..b/' is not a URL (bad_url): its host name is invalid"),
        ("ht!tp://x", "'ht!tp://x' is not a URL (bad_url): check its host and port"),
        ("ftp://x/", "'ftp://x/' is refused (refused_scheme): only http and https are crawled"),
        ("mailto:a@b.c", "'mailto:a@b.c' is refused (refused_scheme): only http and https are crawled"),
    ],
)
def test_a_refusal_has_the_reason_of_the_events_and_what_to_do(typed: str, sentence: str) -> None:
    with pytest.raises(BadTypedUrl) as refused:
        read_url(typed)

    assert str(refused.value) == sentence


@pytest.mark.parametrize(
    ("url", "sentence"),
    [
        ("http://exa mple/", "is not a URL (bad_url): check its host and port"),
        ("foo", "is not a URL (bad_url): it has no scheme; did you mean https://foo/?"),
        ("mailto:a@b", "is refused (refused_scheme): only http and https are crawled"),
        ("ftp://x/", "is refused (refused_scheme): only http and https are crawled"),
    ],
)
@pytest.mark.parametrize(
    "command",
    [
        pytest.param(["crawl", "URL"], id="crawl"),
        pytest.param(["fetch", "URL"], id="fetch"),
        pytest.param(["fetch", "http://127.0.0.1:1/", "URL", "--json"], id="fetch, second"),
        pytest.param(["parse", __file__, "--url", "URL"], id="parse"),
        pytest.param(["robots", "check", "URL"], id="robots"),
        pytest.param(["robots", "check", "URL", "--file", "/dev/null"], id="robots of a file"),
        pytest.param(["why", "URL"], id="why"),
        pytest.param([*KAFKA, "explain", "URL"], id="explain"),
        pytest.param([*KAFKA, "explain", "https://a.test/", "--from", "URL"], id="page of explain"),
    ],
)
def test_every_command_refuses_a_url_in_the_same_words_with_exit_code_2(
    command: list[str], url: str, sentence: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In one line, before any request, and with nothing on standard output."""
    monkeypatch.setenv("STRIDER_HOME", str(tmp_path))
    ended = CliRunner().invoke(app, [url if word == "URL" else word for word in command])

    assert (ended.exit_code, ended.stdout) == (CommandExit.USAGE, "")
    assert ended.stderr.splitlines()[0].endswith(f"{url!r} {sentence}")


def test_a_reading_is_printed_to_standard_error() -> None:
    ended = CliRunner().invoke(app, ["robots", "check", "localhost:1/a", "--file", "/dev/null"])

    assert (ended.exit_code, ended.stderr) == (0, "strider: localhost:1/a is read as http://localhost:1/a\n")


def test_of_a_list_the_first_reading_is_printed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A million host names would be a million warnings."""
    listed = tmp_path / "urls"
    listed.write_text("http://127.0.0.1/\nlocalhost:1/a\nlocalhost:1/b\n")

    plan = plan_crawl(CrawlOptions(urls=("localhost:2",), from_file=listed))

    assert plan.request.seeds[1:] == ("http://127.0.0.1/", "http://localhost:1/a", "http://localhost:1/b")
    first, second = capsys.readouterr().err.splitlines()
    assert first == "strider: localhost:2 is read as http://localhost:2"
    assert second.startswith(f"strider: --from {listed}:2: localhost:1/a is read as http://localhost:1/a; ")
