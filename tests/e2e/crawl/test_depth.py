"""Depth 0: the start pages, and nothing that they link to."""

from __future__ import annotations

from pathlib import Path

import pytest

from .documents import serve_documents
from .scene import lines_of, run

TEXT = "<p>A page with a few words, which is enough for a page that is no block page at all.</p>" * 20
SITE = {
    "/": f'<title>Start</title><a href="/a">A</a>{TEXT}',
    "/a": f'<title>A</title><a href="/b">B</a>{TEXT}',
    "/b": f"<title>B</title>{TEXT}",
}


@pytest.mark.parametrize(
    ("depth", "pages"),
    [
        pytest.param("0", ["/"], id="start pages only"),
        pytest.param("1", ["/", "/a"], id="one link"),
        pytest.param("2", ["/", "/a", "/b"], id="two links"),
    ],
)
def test_so_many_links_are_followed(tmp_path: Path, depth: str, pages: list[str]) -> None:
    output = tmp_path / "pages.jsonl"
    with serve_documents(SITE) as home:
        options = ("--allow-private", "--delay", "0", "-q", "--only-pages", "-o", str(output))
        ended = run(home, "--max-depth", depth, *options)

    assert (ended.code, ended.err) == (0, "")
    assert sorted(line["url"].removeprefix(home) for line in lines_of(output)) == pages
