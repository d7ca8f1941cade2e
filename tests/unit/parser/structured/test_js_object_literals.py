"""Object literals in code, not JSON."""

from __future__ import annotations

from typing import Any

import pytest

from strider.parser.core.structured.js_object_literals import parse_object
from tests.processor_cost import assert_cheap


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param(
            "{a: 1, 'b': 'it\\'s', \"c\": [1, 2.5,], }", {"a": 1, "b": "it's", "c": [1, 2.5]}, id="bare"
        ),
        pytest.param("{a: true, b: null, c: undefined}", {"a": True, "b": None, "c": None}, id="words"),
        pytest.param("{a: f(x, {y: 1}), b: 2}", {"a": None, "b": 2}, id="what is computed is unknown"),
        pytest.param("{a: 1 /* , b: 2 */, // c\n d: 'http://x'}", {"a": 1, "d": "http://x"}, id="comments"),
        pytest.param('{a: {b: {c: "x"}}} tail', {"a": {"b": {"c": "x"}}}, id="ends where it ends"),
        pytest.param("{a: 1", None, id="breaks off"),
        pytest.param("[1]", None, id="no object"),
        pytest.param("{a: 1, /* b: 2}", None, id="a comment without an end"),
        pytest.param("{" * 50, None, id="nothing but depth"),
        pytest.param("{a:" * 50 + "1" + "}" * 50, None, id="too deep"),
    ],
)
def test_what_is_written_down_is_read_and_nothing_is_run(text: str, expected: dict[str, Any] | None) -> None:
    assert parse_object(text, 0) == expected


@pytest.mark.parametrize("part", ["/* ", '"', "'", "`", "// ", "a:", "(", "{a:1,"])
def test_time_grows_with_the_length_of_the_text(part: str) -> None:
    """A missing end must not be searched for again from each start."""
    text = "{a: 1 " + part * 80_000

    assert assert_cheap(lambda: parse_object(text, 0), yardsticks=80) is None
