"""What pydantic says of a value, in words for whoever has set it."""

from __future__ import annotations

import pytest
from pydantic import ValidationError

from strider.runtime.faulttexts import fault_text
from strider.runtime.settings import CrawlSettings


@pytest.mark.parametrize(
    ("wrong", "text"),
    [
        pytest.param(
            {"contact": "nobody"},
            "must be a URL or a mail address, such as https://example.org/bot or bot@example.org",
            id="our own check",
        ),
        pytest.param({"host_delay_seconds": -1}, "should be greater than or equal to 0", id="pydantic's"),
    ],
)
def test_a_sentence_begins_with_what_is_wrong(wrong: dict[str, object], text: str) -> None:
    """By which means it was found out is of no use to anybody."""
    with pytest.raises(ValidationError) as caught:
        CrawlSettings(**wrong)  # type: ignore[arg-type]

    assert [fault_text(problem) for problem in caught.value.errors()] == [text]
