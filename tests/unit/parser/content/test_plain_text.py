"""Words are counted by their separators."""

from __future__ import annotations

import pytest

from strider.parser.core.content.plain_text import count_words


@pytest.mark.parametrize(
    ("text", "count"),
    [
        pytest.param("", 0, id="nothing"),
        pytest.param("word", 1, id="one"),
        pytest.param("two words\nand a line", 5, id="lines"),
        pytest.param("ein Wörtchen \N{EM DASH} zwei", 4, id="beyond-ascii"),
        pytest.param("a " * 200_000 + "b", 200_001, id="long"),
        pytest.param(" " * 65_521, 65_522, id="more-parts-than-a-checksum-holds"),
    ],
)
def test_words_are_counted(text: str, count: int) -> None:
    assert count_words(text.encode()) == count
