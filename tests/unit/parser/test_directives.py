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
