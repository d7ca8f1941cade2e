"""File extensions are hints of the kind of file."""

from __future__ import annotations

import pytest

from strider.urls import file_extension, file_kind
from strider.urls.file_types import FILE_KINDS


@pytest.mark.parametrize(
    ("url", "kind"),
    [
        pytest.param("http://a.test/", "page", id="root"),
        pytest.param("http://a.com", "page", id="host-without-path"),
        pytest.param("http://a.test/x.html", "page", id="html"),
        pytest.param("http://a.test/x.php?y=z.jpg", "page", id="query-does-not-count"),
        pytest.param("http://a.test/PHOTO.JPG", "image", id="case"),
        pytest.param("http://a.test/x.tar.gz", "archive", id="last-of-two"),
        pytest.param("http://a.test/v1.2/about", "page", id="dot-in-folder"),
        pytest.param("http://a.test/.pdf", "page", id="hidden-file"),
        pytest.param("http://a.test/a.pdf/", "page", id="folder"),
        pytest.param("http://a.test/feed.rss", "feed", id="feed"),
        pytest.param("http://a.test/a.woff2", "font", id="font"),
        pytest.param("http://a.test/a.unknownending", "page", id="unknown"),
    ],
)
def test_an_ending_says_what_a_link_leads_to(url: str, kind: str) -> None:
    """An unknown extension means a page: an extension is only a hint."""
    assert file_kind(url.replace("a.com", "a.com/")) == kind
    assert kind in FILE_KINDS


def test_endings_are_lower_case_words() -> None:
    """Crawl specs list them."""
    assert [file_extension(f"http://a.test/{name}") for name in ("x.PDF", "x", "x.", "x.a-b")] == [
        "pdf",
        "",
        "",
        "",
    ]
