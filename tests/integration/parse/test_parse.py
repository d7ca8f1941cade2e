"""`strider parse` from its command line, with real workers and a real fetch."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from strider.cli.app import app
from strider.testing.site import SiteShape, serve_site

PAGE = "<html><head><title>T</title></head><body><p>One.</p><a href='/b'>B</a></body></html>"


def run(*words: str | Path) -> Result:
    return CliRunner().invoke(app, ["parse", *map(str, words)])


def test_one_file_as_json(tmp_path: Path) -> None:
    file = tmp_path / "a.html"
    file.write_text(PAGE)

    told = run(file, "--url", "https://site.test/a", "--json")

    page = json.loads(told.stdout)
    assert told.exit_code == 0
    assert (page["file"], page["title"], page["links"][0]["url"]) == (str(file), "T", "https://site.test/b")


@pytest.mark.parametrize("name", ["page.html", "page.html.gz"])
def test_a_file_may_be_larger_than_a_message(tmp_path: Path, name: str) -> None:
    """No topic limits its size; only the limit of a page applies."""
    content = f"<title>Long</title><p>{'word ' * 400_000}".encode()
    (tmp_path / name).write_bytes(gzip.compress(content, 0) if name.endswith("gz") else content)

    told = run(tmp_path / name, "--json")

    assert (told.exit_code, json.loads(told.stdout)["title"]) == (0, "Long")


def test_a_long_sitemap_is_published_whole(tmp_path: Path) -> None:
    """However many events it would take on a topic."""
    file = tmp_path / "sitemap.xml"
    rows = "".join(f"<url><loc>https://site.test/some/path/{at:08}</loc></url>" for at in range(12_000))
    file.write_text(f"<urlset>{rows}</urlset>")

    page = json.loads(run(file, "--json").stdout)

    assert (len(page["entries"]), page["links_found"], page["links_dropped"]) == (12_000, 12_000, 0)


def test_a_list_has_a_line_for_each_whatever_becomes_of_it(tmp_path: Path) -> None:
    for name, content in (("a", PAGE.encode()), ("b", b"\x89PNG\r\n\x1a\n\0\0"), ("c", b"")):
        (tmp_path / name).write_bytes(content)
    (tmp_path / "d").write_bytes(b"<table>" * 50_000)
    lines = [json.dumps({"file": str(tmp_path / name)}) for name in "abcde"]
    (tmp_path / "pairs").write_text("\n".join([*lines, "{"]))

    told = run("--list", tmp_path / "pairs", "-o", tmp_path / "out")

    pages = [json.loads(line) for line in (tmp_path / "out").read_text().splitlines()]
    assert told.exit_code == 1
    assert [Path(page["file"]).name for page in pages] == ["a", "b", "c", "d", "e", ""]
    outcomes = ["parsed", "unsupported", "empty", "partly_parsed", "failed", "failed"]
    assert [page["outcome"] for page in pages] == outcomes


@pytest.mark.parametrize(
    "words", [("--list", "pairs", "-o", "pairs"), ("a", "-o", "./a"), ("a", "-o", "link")]
)
def test_what_is_read_is_not_written_over(
    words: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An input file that is also the output would be truncated before it is read."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a").write_text(PAGE)
    (tmp_path / "link").symlink_to("a")
    (tmp_path / "pairs").write_text('\ufeff{"file": "a"}\n')

    told = run(*words)

    assert (told.exit_code, "is the input file" in told.stderr) == (2, True)
    assert ((tmp_path / "a").read_text(), len((tmp_path / "pairs").read_text())) == (PAGE, 15)


def test_a_list_may_begin_with_a_mark(tmp_path: Path) -> None:
    (tmp_path / "a").write_text(PAGE)
    (tmp_path / "pairs").write_text("\ufeff" + json.dumps({"file": str(tmp_path / "a")}))

    assert run("--list", tmp_path / "pairs").exit_code == 0


@pytest.mark.parametrize(
    "words",
    [
        pytest.param((), id="nothing"),
        pytest.param(("/nowhere/a",), id="no such file"),
        pytest.param(("--list", "/nowhere/a"), id="no such list"),
        pytest.param(("http://[", "--json"), id="no URL"),
    ],
)
def test_wrong_usage_is_one_line(words: tuple[str, ...]) -> None:
    told = run(*words)

    assert told.exit_code == 2
    assert told.stderr.startswith("strider: ")
    assert told.stderr.count("\n") == 1


def test_a_page_is_fetched_by_the_rules_and_shown(tmp_path: Path) -> None:
    with serve_site(11, SiteShape(hosts=1, pages_per_host=2), log=tmp_path / "access.log") as site:
        url = site.plan.seeds[0]

        told = run(url, "--json", "--allow-private")
        refused = run(url)

        page = json.loads(told.stdout)
        assert (told.exit_code, page["outcome"]) == (0, "parsed")
        assert page["links"]
        assert site.access_log()[0].path == "/robots.txt"
    assert refused.exit_code == 1
    assert refused.stdout.startswith(
        f"failed: {url} was not fetched (policy_blocked): It points to an address or name that may"
        " not be requested, such as a private or reserved one; private addresses are fetched only"
    )
