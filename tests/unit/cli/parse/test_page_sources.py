"""Sources of `strider parse`, and the sentences about unreadable ones."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from strider.cli.parse.page_sources import BadPageSource, PageSource, load_page, read_list


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        pytest.param(
            '{"file": "a", "url": "https://x.test/"}', PageSource("a", "https://x.test/"), id="whole"
        ),
        pytest.param('{"file": "a", "url": null}', PageSource("a"), id="without URL"),
        pytest.param(
            "[1]", PageSource("", problem='line 1: expected an object with a "file"'), id="no object"
        ),
        pytest.param(
            '{"file": 3}', PageSource("", problem='line 1: expected an object with a "file"'), id="number"
        ),
        pytest.param(
            '{"file": "a", "url": 3}',
            PageSource("a", problem='line 1: "url" is not a string'),
            id="URL a number",
        ),
    ],
)
def test_a_line_of_a_list(line: str, expected: PageSource) -> None:
    assert list(read_list([line, "\n"])) == [expected]


def test_a_broken_line_is_reported_and_the_next_is_read() -> None:
    broken, good = read_list(["{", '{"file": "a"}'])

    assert broken.problem.startswith("line 1 is not JSON")
    assert good == PageSource("a")


def test_a_gzipped_file_travels_as_a_server_would_have_sent_it(tmp_path: Path) -> None:
    file = tmp_path / "a.html.gz"
    file.write_bytes(gzip.compress(b"<p>One."))

    page = load_page(PageSource(str(file), "https://site.test/a"))

    assert (page.url, page.content_encoding, page.body_bytes) == (
        "https://site.test/a",
        "gzip",
        len(page.body),
    )


@pytest.mark.parametrize(
    ("source", "message"),
    [
        pytest.param(PageSource("/nowhere/a"), "/nowhere/a: No such file or directory", id="no file"),
        pytest.param(PageSource("/"), "/: Is a directory", id="directory"),
        pytest.param(PageSource("/nowhere\0"), "embedded null byte", id="no name"),
        pytest.param(PageSource(__file__, "mailto:x"), "'mailto:x' is refused", id="no URL"),
        pytest.param(PageSource("a", problem="as it was"), "as it was", id="known before"),
    ],
)
def test_an_unreadable_source_has_a_reason(source: PageSource, message: str) -> None:
    with pytest.raises(BadPageSource, match=message.replace("/", "/")):
        load_page(source)
