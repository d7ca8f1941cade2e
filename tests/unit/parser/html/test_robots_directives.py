"""Robots directives of pages, and whether they apply to our robot."""

from __future__ import annotations

import pytest

from strider.parser.core.html.models import MetaTag
from strider.parser.core.html.robots_directives import RobotsDirectives, collect_directives

TAG = "X-Robots-Tag"


@pytest.mark.parametrize(
    ("metas", "headers", "expected"),
    [
        pytest.param([], [], RobotsDirectives(), id="nothing"),
        pytest.param(
            [("robots", "NoIndex, nofollow")],
            [],
            RobotsDirectives(("noindex", "nofollow"), noindex=True, nofollow=True),
            id="meta",
        ),
        pytest.param(
            [("robots", "none")],
            [],
            RobotsDirectives(("none",), noindex=True, nofollow=True),
            id="none-is-both",
        ),
        pytest.param(
            [("strider", "noarchive")], [], RobotsDirectives(("noarchive",), noarchive=True), id="for-us"
        ),
        pytest.param([("googlebot", "noindex")], [], RobotsDirectives(), id="for-another"),
        pytest.param([], [(TAG, "noindex")], RobotsDirectives(("noindex",), noindex=True), id="header"),
        pytest.param(
            [],
            [("x-robots-tag", "strider: nofollow, noindex")],
            RobotsDirectives(("nofollow", "noindex"), noindex=True, nofollow=True),
            id="header-for-us",
        ),
        pytest.param([], [(TAG, "otherbot: noindex")], RobotsDirectives(), id="header-for-another"),
        pytest.param(
            [],
            [(TAG, "unavailable_after: 25 Jun 2030 15:00:00 PST")],
            RobotsDirectives(("unavailable_after: 25 jun 2030 15:00:00 pst",)),
            id="value-with-colons",
        ),
        pytest.param(
            [],
            [(TAG, "max-snippet:20, noindex")],
            RobotsDirectives(("max-snippet:20", "noindex"), noindex=True),
            id="value-first",
        ),
        pytest.param(
            [("robots", "noindex")],
            [(TAG, "noindex"), (TAG, "nofollow")],
            RobotsDirectives(("noindex", "nofollow"), noindex=True, nofollow=True),
            id="all-hold-together",
        ),
        pytest.param(
            [("robots", "index, follow, ,")],
            [],
            RobotsDirectives(("index", "follow")),
            id="permissions-have-no-effect",
        ),
        pytest.param(
            [("robots", "noindex; nofollow")],
            [],
            RobotsDirectives(("noindex", "nofollow"), noindex=True, nofollow=True),
            id="semicolons",
        ),
        pytest.param(
            [("robots", "noindex nofollow")],
            [],
            RobotsDirectives(("noindex", "nofollow"), noindex=True, nofollow=True),
            id="spaces",
        ),
        pytest.param(
            [("robots", "\u200bnoindex\u200b")],
            [],
            RobotsDirectives(("noindex",), noindex=True),
            id="unseen-signs",
        ),
        pytest.param(
            [],
            [(TAG, "googlebot: nofollow, strider: noindex, noarchive")],
            RobotsDirectives(("noindex", "noarchive"), noindex=True, noarchive=True),
            id="several-robots-in-one-header",
        ),
        pytest.param(
            [],
            [(TAG, "noarchive, otherbot: noindex, nofollow")],
            RobotsDirectives(("noarchive",), noarchive=True),
            id="another-robot-behind-all",
        ),
        pytest.param(
            [],
            [(TAG, "index, revisit-after: 7 days, noindex")],
            RobotsDirectives(("index", "revisit-after: 7 days", "noindex"), noindex=True),
            id="an-unknown-value-is-no-robot",
        ),
    ],
)
def test_directives_are_collected(
    metas: list[tuple[str, str]], headers: list[tuple[str, str]], expected: RobotsDirectives
) -> None:
    found = collect_directives([MetaTag(*meta) for meta in metas], headers, robot_name="strider")

    assert found == expected


def test_a_flood_of_directives_is_bounded() -> None:
    found = collect_directives(
        [MetaTag("robots", ",".join(f"{n}{'x' * 500}" for n in range(999)))], [], robot_name="s"
    )

    assert len(found.names) == 32
    assert max(map(len, found.names)) == 100
