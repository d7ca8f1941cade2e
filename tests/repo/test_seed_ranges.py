"""Seeds, the options of `strider crawl` and `strider seeds add`, and docs/seeds.md have the same ranges."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import typer

from strider.cli.app import app
from strider.cli.crawl.options import CrawlOptions, plan_crawl
from strider.cli.crawl.request import BadCrawlRequest
from strider.cli.seeds.credentials import SeedCredentials
from strider.cli.seeds.reader import ZERO_DEPTH, SeedReader
from strider.contracts.seed_limits import SEED_RANGES
from strider.testing.owner import OWNER_KEY

PAGE = Path(__file__).parents[2] / "docs" / "seeds.md"
URL = "http://127.0.0.1:1/"
WORDS = frozenset({"priority"})
"""Options whose values are words; only documents name the number."""
FIELDS = sorted(set(SEED_RANGES) - WORDS - {"submitted_at_ms"})


def option_of(field: str) -> str:
    return f"--{field.replace('_', '-')}"


def subcommand(*names: str) -> Any:
    command: Any = typer.main.get_command(app)
    for name in names:
        command = command.get_command(command.context_class(command), name)
    return command


def options_of(command: Any) -> frozenset[str]:
    return frozenset(option for parameter in command.params for option in parameter.opts)


def error_of_crawl(option: str, value: int) -> str:
    """Parse and validate an option as `strider crawl` does, and return its error."""
    command = subcommand("crawl")
    try:
        parsed = command.make_context("crawl", [URL, "--allow-private", option, str(value)])
        plan_crawl(CrawlOptions.from_arguments(parsed.params))
    except typer.BadParameter as error:
        return error.format_message()
    except BadCrawlRequest as error:
        return str(error)
    return ""


def error_of_seeds_add(option: str, value: int) -> str:
    """Parse and validate an option as `strider seeds add` does, and return its error."""
    try:
        parsed = subcommand("seeds", "add").make_context("add", [URL, option, str(value)]).params
    except typer.BadParameter as error:
        return error.format_message()
    name = option.removeprefix("--").replace("-", "_")
    owner = SeedCredentials(OWNER_KEY)
    reader = SeedReader({name: parsed[name]}, credentials=owner, allow_private=True, now_ms=1)
    return reader.option_error()


def test_both_commands_have_options_for_the_numbers_of_a_seed() -> None:
    assert {option_of(field) for field in FIELDS} <= options_of(subcommand("seeds", "add"))
    assert {"--max-depth", "--delay", "--max-pages", "--max-bytes", "--max-seconds"} <= options_of(
        subcommand("crawl")
    )


@pytest.mark.parametrize("field", FIELDS)
def test_an_option_of_strider_crawl_has_the_range_of_a_seed(field: str) -> None:
    least, most = SEED_RANGES[field]
    option = option_of(field)
    if option not in options_of(subcommand("crawl")):
        assert field.endswith(("_per_host", "_per_domain"))
        return

    assert [error_of_crawl(option, value) for value in (least, most)] == ["", ""]
    assert all(option in error_of_crawl(option, value) for value in (least - 1, most + 1))


@pytest.mark.parametrize("field", FIELDS)
def test_an_option_of_strider_seeds_add_has_the_range_of_a_seed(field: str) -> None:
    least, most = SEED_RANGES[field]
    option = option_of(field)

    expected = ZERO_DEPTH if field == "max_depth" else ""
    assert [error_of_seeds_add(option, value) for value in (least, most)] == [expected, ""]
    assert all(option in error_of_seeds_add(option, value) for value in (least - 1, most + 1))


def documented_ranges(text: str) -> dict[str, tuple[int, int]]:
    found = {}
    for names, least, most in re.findall(r"(?m)^\| (`[^|]*`) \| ([\d,]+) to ([\d,]+) \|$", text):
        bounds = int(least.replace(",", "")), int(most.replace(",", ""))
        found |= dict.fromkeys(re.findall(r"`(\w+)`", names), bounds)
    return found


def test_the_page_about_seeds_names_the_ranges() -> None:
    expected = {name: SEED_RANGES[name] for name in SEED_RANGES if name != "submitted_at_ms"}

    assert documented_ranges(PAGE.read_text(encoding="utf-8")) == expected
