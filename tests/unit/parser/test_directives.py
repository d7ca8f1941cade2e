"""What pages ask of robots, and whether it is us whom they ask."""

from __future__ import annotations

import pytest

from strider.parser.core.directives import Directives, hear_directives
from strider.parser.core.readings import MetaTag

TAG = "X-Robots-Tag"


@pytest.mark.parametrize(
    ("metas", "headers", "expected"),
    [
        pytest.param([], [], Directives(), id="nothing"),
        pytest.param(
            [("robots", "NoIndex, nofollow")],
            [],
            Directives(("noindex", "nofollow"), noindex=True, nofollow=True),
            id="meta",
        ),
        pytest.param(
            [("robots", "none")], [], Directives(("none",), noindex=True, nofollow=True), id="none-is-both"
        ),
        pytest.param([("strider", "noarchive")], [], Directives(("noarchive",), noarchive=True), id="for-us"),
        pytest.param([("googlebot", "noindex")], [], Directives(), id="for-another"),
        pytest.param([], [(TAG, "noindex")], Directives(("noindex",), noindex=True), id="header"),
        pytest.param(
            [],
            [("x-robots-tag", "strider: nofollow, noindex")],
            Directives(("nofollow", "noindex"), noindex=True, nofollow=True),
            id="header-for-us",
        ),
        pytest.param([], [(TAG, "otherbot: noindex")], Directives(), id="header-for-another"),
        pytest.param(
            [],
            [(TAG, "unavailable_after: 25 Jun 2030 15:00:00 PST")],
            Directives(("unavailable_after: 25 jun 2030 15:00:00 pst",)),
            id="value-with-colons",
        ),
        pytest.param(
            [],
            [(TAG, "max-snippet:20, noindex")],
            Directives(("max-snippet:20", "noindex"), noindex=True),
            id="value-first",
        ),
        pytest.param(
            [("robots", "noindex")],
            [(TAG, "noindex"), (TAG, "nofollow")],
            Directives(("noindex", "nofollow"), noindex=True, nofollow=True),
            id="all-hold-together",
        ),
        pytest.param(
            [("robots", "index, follow, ,")],
            [],
            Directives(("index", "follow")),
            id="permissions-say-nothing",
        ),
        pytest.param(
            [("robots", "noindex; nofollow")],
            [],
            Directives(("noindex", "nofollow"), noindex=True, nofollow=True),
            id="semicolons",
        ),
        pytest.param(
            [("robots", "noindex nofollow")],
            [],
            Directives(("noindex", "nofollow"), noindex=True, nofollow=True),
            id="spaces",
        ),
        pytest.param(
            [("robots", "\u200bnoindex\u200b")], [], Directives(("noindex",), noindex=True), id="unseen-signs"
        ),
        pytest.param(
            [],
            [(TAG, "googlebot: nofollow, strider: noindex, noarchive")],
            Directives(("noindex", "noarchive"), noindex=True, noarchive=True),
            id="several-robots-in-one-header",
        ),
        pytest.param(
            [],
            [(TAG, "noarchive, otherbot: noindex, nofollow")],
            Directives(("noarchive",), noarchive=True),
            id="another-robot-behind-all",
        ),
        pytest.param(
            [],
            [(TAG, "index, revisit-after: 7 days, noindex")],
            Directives(("index", "revisit-after: 7 days", "noindex"), noindex=True),
            id="an-unknown-value-is-no-robot",
        ),
    ],
)
def test_what_is_heard(
    metas: list[tuple[str, str]], headers: list[tuple[str, str]], expected: Directives
) -> None:
    heard = hear_directives([MetaTag(*meta) for meta in metas], headers, robot="strider")

    assert heard == expected


def test_a_flood_of_directives_is_bounded() -> None:
    heard = hear_directives(
        [MetaTag("robots", ",".join(f"{n}{'x' * 500}" for n in range(999)))], [], robot="s"
    )

    assert len(heard.words) == 32
    assert max(map(len, heard.words)) == 100
