"""Records of unusual pages: short ones, and those that ask not to be stored."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from .documents import serve_documents
from .scene import lines_of, run

TEXT = "Enough of a text for a page that says something of its own, and is long enough to be one. " * 8
NO_URLS = "<a href='http://[::1/'>1</a><a href='ftp://x.test/y'>2</a><a href='http://x.test:99999/'>3</a>"
DOCUMENTS = {
    "/": f"<p>{TEXT}</p><a href=/short>1</a><a href=/menu>2</a><a href=/unlisted>3</a>{NO_URLS}",
    "/short": "<title>Short</title><p>Very little.</p>",
    "/menu": "<title>Menu</title><p>Very little.</p><a href=/>Home</a>",
    "/unlisted": f"<meta name=robots content=noindex><title>Unlisted</title><p>{TEXT}</p>",
}


@pytest.fixture
def home() -> Iterator[str]:
    with serve_documents(DOCUMENTS) as origin:
        yield origin


@pytest.mark.req("S2.0.3", "S2.4.9", "S2.5.1")
def test_short_pages_are_rejected_unless_they_lead_on_and_noindex_is_a_page(
    home: str, tmp_path: Path
) -> None:
    """Links that are not URLs have no line."""
    output = tmp_path / "pages.jsonl"

    ended = run(home, "--allow-private", "--delay", "0", "-q", "-o", str(output))

    assert (ended.code, ended.err) == (0, "")
    lines = {line["url"].removeprefix(home): (line["outcome"], line["reason"]) for line in lines_of(output)}
    assert lines == {
        "/": ("page", ""),
        "/short": ("rejected", "too_short"),
        "/menu": ("page", ""),
        "/unlisted": ("page", ""),
    }
