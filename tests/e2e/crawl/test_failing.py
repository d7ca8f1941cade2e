"""Failures around a crawl end in one clear line and a code, never in a traceback or half a line."""

from __future__ import annotations

import os
import resource
import signal
import sqlite3
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from strider.testing.site import ServedSite, SiteShape, serve_site

from .scene import by_outcome, check_lines, end_of, lines_of, run, start, wait_until

SHAPE = SiteShape(hosts=2, pages_per_host=40, is_plain=True)


@pytest.fixture
def site(tmp_path: Path) -> Iterator[ServedSite]:
    with serve_site(13, SHAPE, log=tmp_path / "access.log") as served:
        yield served


def crawl(site: ServedSite, *more: str) -> tuple[str, ...]:
    return (*site.plan.seeds, "--allow-private", "--scope", "any", "--delay", "0", "--max-depth", "10", *more)


def limited_to(size: int) -> Callable[[], None]:
    def limit() -> None:
        os.environ["PYTHONDONTWRITEBYTECODE"] = "1"  # it would keep half a compiled module
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))

    return limit


def error_lines(err: str) -> list[str]:
    assert "Traceback" not in err
    return err.splitlines()


@pytest.mark.fault("F16", part="the output file of `strider crawl`")
def test_a_full_disk_ends_in_one_line_and_whole_lines(site: ServedSite, tmp_path: Path) -> None:
    """Written lines stay, and nothing is half written."""
    output = tmp_path / "out"

    ended = run(*crawl(site, "-o", str(output)), preexec_fn=limited_to(60_000))

    assert ended.code == 1
    assert error_lines(ended.err)[-1] == f"strider: {output}: File too large"
    lines_of(output)


def test_after_a_full_disk_the_crawl_continues(site: ServedSite, tmp_path: Path) -> None:
    """The state is the last one for which both files could be written."""
    output, order = tmp_path / "out", ("-o", str(tmp_path / "out"), "--resume", str(tmp_path / "state"))

    ended = run(*crawl(site, *order), preexec_fn=limited_to(100_000))
    again = run(*crawl(site, *order))

    assert (ended.code, again.code) == (1, 0)
    assert error_lines(ended.err)[-1] == "what was saved is kept; the same command continues from there"
    check_lines(lines_of(output), site.plan)


def test_a_reader_that_goes_away_ends_the_crawl(site: ServedSite) -> None:
    """As in `strider crawl … | head -1`."""
    process = start(*crawl(site, "--max-pages", "60"))
    assert process.stdout is not None
    process.stdout.read(10)
    process.stdout.close()
    process.stdout = None

    ended = end_of(process)

    line = "strider: standard output: the reader has closed the pipe"
    assert (ended.code, error_lines(ended.err)[-1]) == (1, line)


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        pytest.param((), "no start URL", id="no-url"),
        pytest.param(("ht!tp://x",), "is not a URL (bad_url)", id="no-url-at-all"),
        pytest.param(("ftp://example.com/",), "is refused (refused_scheme)", id="another-scheme"),
        pytest.param(("http://a.test/", "-o", "/nowhere/out"), "/nowhere/out: No such file", id="no-folder"),
        pytest.param(("http://a.test/", "-o", "/"), "/: Is a directory", id="a-folder"),
        pytest.param(
            ("http://a.test/", "--resume", "/tmp/x"), "--resume needs an output file", id="no-output"
        ),
        pytest.param(
            ("http://a.test/", "-o", "/dev/null", "--resume", "STATE"),
            "is not a regular file",
            id="no-file",
        ),
        pytest.param(
            ("http://a.test/", "-o", "OUT", "--resume", "OUT"), "name two files", id="one-file-for-both"
        ),
        pytest.param(("http://a.test/", "--include", "re:a("), "--include 're:a(': ", id="bad-pattern"),
        pytest.param(("http://a.test/", "-H", "no colon"), "'Name: value'", id="bad-header"),
        pytest.param(("http://a.test/", "-H", "Host: b"), "is set by the connection", id="header-of-ours"),
        pytest.param(("--from", "/nowhere/urls"), "--from /nowhere/urls: No such file", id="no-list"),
        pytest.param(("http://a.test/", "--per-host", "0"), "--per-host", id="no-places"),
        pytest.param(("http://a.test/", "--user-agent", "a\nb"), "", id="bad-agent"),
    ],
)
def test_an_invalid_option_is_refused(tmp_path: Path, arguments: tuple[str, ...], line: str) -> None:
    """Before anything is written or fetched."""
    names = {"STATE": str(tmp_path / "state"), "OUT": str(tmp_path / "out")}

    ended = run(*(names.get(argument, argument) for argument in arguments))

    assert ended.code == 2
    assert line in " ".join(error_lines(ended.err))
    assert ended.out == ""
    assert list(tmp_path.iterdir()) == []


def test_a_foreign_state_file_is_refused_and_left_alone(tmp_path: Path) -> None:
    """A typo on the command line must not cost a file, nor the output."""
    state, output = tmp_path / "photos.db", tmp_path / "out"
    with sqlite3.connect(state) as base:
        base.execute("CREATE TABLE photos (name TEXT)")
    base.close()
    output.write_text("precious\n")
    before = state.read_bytes()

    ended = run("http://a.test/", "-o", str(output), "--resume", str(state))

    assert ended.code == 2
    assert "is not a state file of strider crawl" in " ".join(error_lines(ended.err))
    assert (state.read_bytes(), output.read_text()) == (before, "precious\n")


def test_a_list_of_urls_is_crawled_and_what_is_none_gets_a_line(site: ServedSite, tmp_path: Path) -> None:
    """One invalid line of a thousand must not affect the others."""
    output = tmp_path / "out"
    origin = site.plan.origins[0]
    urls = f"# begin here\n\n{origin}/p/1\nno url at all\n{origin}/p/1\n"
    listed = tmp_path / "urls"
    listed.write_text(urls)

    by_file = run("--from", str(listed), "--allow-private", "--max-depth", "0", "-o", str(output), "-q")
    from_file = {(line["url"], line["outcome"], line["reason"]) for line in lines_of(output)}
    order = ("-", "--allow-private", "--max-depth", "0", "-o", str(output), "-q")
    process = start(*order, stdin=subprocess.PIPE)
    assert process.stdin is not None
    process.stdin.write(urls)
    process.stdin.close()
    process.stdin = None
    by_stdin = end_of(process)

    assert (by_file.code, by_stdin.code) == (0, 0)
    expected = {(f"{origin}/p/1", "page", ""), ("no url at all", "refused", "bad_url")}
    assert {each for each in from_file if each[2] != "too_deep"} == expected
    assert {line["url"] for line in lines_of(output)} == {url for url, _, _ in from_file}


def test_a_crawl_without_any_page_has_its_exit_code(tmp_path: Path) -> None:
    """A closed port, and a private address that was not allowed: each has its line."""
    output = tmp_path / "out"
    seeds = ("http://127.0.0.1:9/", "http://nobody.localhost:9/")

    refused = run(*seeds, "-o", str(output), "-q")
    why = [(line["outcome"], line["reason"]) for line in lines_of(output)]
    unreachable = run(*seeds, "--allow-private", "--host-patience", "1", "--delay", "0", "-o", str(output))

    assert (refused.code, why) == (1, [("refused", "policy_blocked")] * 2)
    assert unreachable.code == 1
    assert by_outcome(lines_of(output), "failed") == set(seeds)


def test_a_second_ctrl_c_ends_at_once(site: ServedSite, tmp_path: Path) -> None:
    """Also where requests in flight would take long; no temporary folder remains."""
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    order = crawl(site, "-o", str(tmp_path / "out"), "--delay", "3")
    process = start(*order, env={**os.environ, "TMPDIR": str(scratch)})
    wait_until(lambda: bool(site.request_counts()), "it asks", process=process)

    process.send_signal(signal.SIGINT)
    process.send_signal(signal.SIGINT)
    began = time.monotonic()
    ended = end_of(process)

    assert ended.code == 130
    assert time.monotonic() - began < 5
    assert "Traceback" not in ended.err
    assert list(scratch.iterdir()) == []


def test_two_crawls_do_not_write_one_file(site: ServedSite, tmp_path: Path) -> None:
    """Their lines would be mixed."""
    order = crawl(site, "-o", str(tmp_path / "out"), "--delay", "1")
    first = start(*order)
    try:
        wait_until(lambda: bool(site.request_counts()), "it asks", process=first)

        second = run(*order)

        assert second.code == 2
        assert "another crawl is writing to it" in second.err
    finally:
        first.kill()
        first.communicate()


def test_a_slow_reader_holds_up_only_the_lines(site: ServedSite) -> None:
    """With a pager as the reader: requests do not time out for it."""
    process = start(*crawl(site, "--timeout", "2", "--json"))
    wait_until(lambda: site.request_counts().total() >= len(site.plan.pages), "all is asked", process=process)

    ended = end_of(process)

    assert ended.code == 0
    assert len(ended.out.splitlines()) == len(site.plan.pages)


def test_a_site_of_others_is_not_crawled_without_a_contact(monkeypatch: pytest.MonkeyPatch) -> None:
    """One line with what to do, before anything is fetched."""
    monkeypatch.delenv("STRIDER_CONTACT")

    ended = run("https://example.com/", "-o", "/dev/null")

    assert (ended.code, ended.err.count("\n")) == (2, 1)
    assert "give --contact" in ended.err
