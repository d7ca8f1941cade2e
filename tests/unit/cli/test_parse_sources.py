"""Where pages of `strider parse` come from, and what is said of those that cannot be had."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from strider.cli.parsing.sources import BadSource, Source, listed, page_of


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        pytest.param('{"file": "a", "url": "https://x.test/"}', Source("a", "https://x.test/"), id="whole"),
        pytest.param('{"file": "a", "url": null}', Source("a"), id="without URL"),
        pytest.param("[1]", Source("", problem='line 1: wanted is an object with a "file"'), id="no object"),
        pytest.param(
            '{"file": 3}', Source("", problem='line 1: wanted is an object with a "file"'), id="number"
        ),
        pytest.param(
            '{"file": "a", "url": 3}', Source("a", problem='line 1: "url" is no text'), id="URL a number"
        ),
    ],
)
def test_a_line_of_a_list(line: str, expected: Source) -> None:
    assert list(listed([line, "\n"])) == [expected]


def test_a_broken_line_is_said_and_the_next_is_read() -> None:
    broken, good = listed(["{", '{"file": "a"}'])

    assert broken.problem.startswith("line 1 is no JSON")
    assert good == Source("a")


def test_a_gzipped_file_travels_as_a_server_would_have_sent_it(tmp_path: Path) -> None:
    file = tmp_path / "a.html.gz"
    file.write_bytes(gzip.compress(b"<p>One."))

    page = page_of(Source(str(file), "https://site.test/a"))

    assert (page.url, page.content_encoding, page.body_bytes) == (
        "https://site.test/a",
        "gzip",
        len(page.body),
    )


@pytest.mark.parametrize(
    ("source", "message"),
    [
        pytest.param(Source("/nowhere/a"), "/nowhere/a: No such file or directory", id="no file"),
        pytest.param(Source("/"), "/: Is a directory", id="directory"),
        pytest.param(Source("/nowhere\0"), "embedded null byte", id="no name"),
        pytest.param(Source(__file__, "mailto:x"), "'mailto:x' is no URL", id="no URL"),
        pytest.param(Source("a", problem="as it was"), "as it was", id="known before"),
    ],
)
def test_what_cannot_be_had_says_why(source: Source, message: str) -> None:
    with pytest.raises(BadSource, match=message.replace("/", "/")):
        page_of(source)
