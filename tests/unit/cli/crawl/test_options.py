"""Invalid options of `strider crawl` are reported under the names of the command line."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from strider.cli.crawl.options import CrawlOptions, plan_crawl
from strider.cli.crawl.request import BadCrawlRequest


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        pytest.param({"delay_seconds": float("nan")}, "--delay: must be a finite number", id="no number"),
    ],
)
def test_an_impossible_option_has_its_error(options: dict[str, Any], sentence: str) -> None:
    """The same range and sentence as for a seed, without the wording of the validating library."""
    with pytest.raises(BadCrawlRequest) as caught:
        plan_crawl(CrawlOptions(urls=("http://127.0.0.1:1/",), **options))

    assert str(caught.value) == sentence


def test_a_line_that_is_no_url_is_reported_with_its_number(tmp_path: Path) -> None:
    """A wrong file is one mistake, not a crawl of invalid URLs."""
    listed = tmp_path / "urls.txt"
    listed.write_bytes(b"\xef\xbb\xbfhttp://127.0.0.1:1/\r\n# remark\n\xff\xfe\n")

    with pytest.raises(BadCrawlRequest) as caught:
        plan_crawl(CrawlOptions(urls=(), from_file=listed))

    assert str(caught.value) == f"--from {listed}: line 3 is not UTF-8; expected one URL per line"


@pytest.mark.parametrize(
    ("output", "form", "expected"),
    [
        pytest.param("pages.csv", None, "csv", id="csv"),
        pytest.param("PAGES.CSV", None, "csv", id="capitals"),
        pytest.param("pages.jsonl", None, "jsonl", id="lines"),
        pytest.param("pages", None, "jsonl", id="no suffix"),
        pytest.param(None, None, "jsonl", id="standard output"),
        pytest.param("pages.csv", "jsonl", "jsonl", id="the option wins"),
    ],
)
def test_the_name_of_the_output_chooses_the_format(
    output: str | None, form: str | None, expected: str
) -> None:
    options = CrawlOptions(
        urls=("http://127.0.0.1:1/",), output=None if output is None else Path(output), form=form
    )

    assert plan_crawl(options).output_format == expected
