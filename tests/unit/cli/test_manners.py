"""Manners that were said on the command line."""

from __future__ import annotations

import pytest

from strider.cli.manners import BadManners, chosen_manners, with_manners
from strider.runtime.settings.base import CrawlSettings

NOTHING = {"contact": "", "user_agent": "", "allow_private": False, "delay_seconds": None}


def test_what_was_not_said_stays_as_it_was_set() -> None:
    """An option that was left out is no wish; a delay of 0 is one."""
    crawl = CrawlSettings(contact="a@a.test", host_delay_seconds=3)

    assert with_manners(crawl, chosen_manners(**NOTHING)) == crawl
    assert with_manners(crawl, chosen_manners(**NOTHING | {"delay_seconds": 0.0})).host_delay_seconds == 0


@pytest.mark.parametrize(
    ("said", "line"),
    [
        pytest.param({"contact": "nobody"}, "--contact: must be a URL or a mail address", id="contact"),
        pytest.param({"user_agent": "a\nb"}, "--user-agent: must have no control", id="agent"),
    ],
)
def test_what_cannot_be_is_told_in_the_words_of_the_command_line(said: dict[str, str], line: str) -> None:
    """Nobody at a terminal knows the names of settings, or of the library that checks them."""
    with pytest.raises(BadManners) as failure:
        with_manners(CrawlSettings(), chosen_manners(**NOTHING | said))

    assert str(failure.value).startswith(line)
    assert "value_error" not in str(failure.value)
