"""Invalid options of `strider crawl` are reported under the names of the command line."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from strider.cli.commands.crawl import app
from strider.cli.crawl import options as options_module
from strider.cli.crawl.options import CrawlOptions, plan_crawl
from strider.cli.crawl.request import BadCrawlRequest, CrawlRequest


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


def request_of(tmp_path: Path, spec: str, *words: str, name: str = "spec.yaml") -> CrawlRequest:
    """Return what the command makes of a file and options."""
    file = tmp_path / name
    file.write_text(spec)
    plans: list[CrawlOptions] = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(options_module, "run", lambda options: plans.append(options) or 0)
        result = CliRunner().invoke(app, ["http://127.0.0.1:1/", "--spec", str(file), *words])
    assert result.exit_code == 0, result.output
    return plan_crawl(plans[0]).request


def test_options_come_before_the_file_and_the_file_before_the_defaults(tmp_path: Path) -> None:
    """An option that was given with its default value was given, too."""
    spec = request_of(
        tmp_path,
        "max_depth: 2\nmax_pages: 7\nscope: domain\nuse_cookies: true\nextraction: records\n"
        "delay_seconds: 5\nheaders: {Accept-Language: de, X-Team: a}\nuser_agent: file/1\n",
        *(
            "--max-depth",
            "3",
            "--scope",
            "any",
            "-H",
            "X-Team: b",
            "--per-host",
            "4",
            "--user-agent",
            "own/1",
        ),
    ).spec

    assert (spec.max_depth, spec.max_pages, spec.scope) == (3, 7, "any")
    assert (spec.use_cookies, spec.extraction, spec.delay_seconds) == (True, "records", 5)
    assert spec.headers == {"Accept-Language": "de", "X-Team": "b"}
    assert (spec.max_in_flight_per_group, spec.host_patience_seconds, spec.user_agent) == (4, 120, "")


def test_a_file_that_sets_nothing_changes_nothing(tmp_path: Path) -> None:
    without = plan_crawl(CrawlOptions(urls=("http://127.0.0.1:1/",))).request

    assert request_of(tmp_path, "{}", name="spec.json").fingerprint == without.fingerprint


@pytest.mark.parametrize(
    ("content", "fault"),
    [
        pytest.param("max_depht: 1", "did you mean", id="unknown"),
        pytest.param("max_depth: 99", "max_depth", id="range"),
        pytest.param("max_depth: [1]", "max_depth", id="type"),
        pytest.param("continuous: true", "continuous: a crawl in one process ends", id="endless"),
        pytest.param("domains: ['a b']", "domains", id="domain"),
        pytest.param("- 1", "spec.yaml", id="list"),
        pytest.param("max_depth: {", "spec.yaml", id="broken"),
        pytest.param("\0", "spec.yaml", id="binary"),
        pytest.param("# " + "x" * 70_000, "the limit is", id="large"),
    ],
)
def test_a_file_that_cannot_be_used_is_named_with_its_field(tmp_path: Path, content: str, fault: str) -> None:
    file = tmp_path / "spec.yaml"
    file.write_text(content)

    with pytest.raises(BadCrawlRequest) as caught:
        plan_crawl(CrawlOptions(urls=("http://127.0.0.1:1/",), spec_file=file))

    assert str(caught.value).startswith(f"--spec {file}")
    assert fault in str(caught.value)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(BadCrawlRequest, match=r"--spec .*none.json"):
        plan_crawl(CrawlOptions(urls=("http://127.0.0.1:1/",), spec_file=tmp_path / "none.json"))
