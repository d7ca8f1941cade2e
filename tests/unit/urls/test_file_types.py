"""File extensions are hints of the kind of file."""

from __future__ import annotations

import pytest

from strider.urls import file_extension


@pytest.mark.parametrize(
    ("url", "extension"),
    [
        pytest.param("http://a.test/", "", id="root"),
        pytest.param("http://a.com/", "", id="host-without-path"),
        pytest.param("http://a.test/x.html", "html", id="html"),
        pytest.param("http://a.test/x.php?y=z.jpg", "php", id="query-does-not-count"),
        pytest.param("http://a.test/PHOTO.JPG", "jpg", id="case"),
        pytest.param("http://a.test/x.tar.gz", "gz", id="last-of-two"),
        pytest.param("http://a.test/v1.2/about", "", id="dot-in-folder"),
        pytest.param("http://a.test/.pdf", "", id="hidden-file"),
        pytest.param("http://a.test/a.pdf/", "", id="folder"),
        pytest.param("http://a.test/a.parquet", "parquet", id="longest"),
        pytest.param("http://a.test/a.unknownending", "", id="too-long"),
        pytest.param("http://a.test/a.", "", id="nothing-after-the-dot"),
        pytest.param("http://a.test/a.b-c", "", id="other-characters"),
    ],
)
def test_the_extension_of_a_url_is_that_of_its_last_segment(url: str, extension: str) -> None:
    """Lower case and without its dot, as crawl specs list them."""
    assert file_extension(url) == extension
