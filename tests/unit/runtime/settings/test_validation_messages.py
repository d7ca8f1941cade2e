"""pydantic's messages, reworded for the person who set the value."""

from __future__ import annotations

from datetime import date
from math import nan
from typing import Annotated, Any

import pytest
from pydantic import Field, TypeAdapter, ValidationError

from strider.runtime.settings.base import CrawlSettings
from strider.runtime.settings.validation_messages import validation_message


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
    """How a check refused it is of no use to a person."""
    with pytest.raises(ValidationError) as caught:
        CrawlSettings(**wrong)  # type: ignore[arg-type]

    assert [validation_message(problem) for problem in caught.value.errors()] == [text]


@pytest.mark.parametrize(
    ("bounded", "said", "text"),
    [
        pytest.param(Annotated[float, Field(le=3)], "-NaN", "must be a number, which -NaN is not", id="nan"),
        pytest.param(Annotated[float, Field(ge=3)], nan, "must be a number, which nan is not", id="a-float"),
        pytest.param(Annotated[float, Field(le=3)], "inf", "should be less than or equal to 3", id="inf"),
        pytest.param(
            Annotated[date, Field(le=date(2020, 1, 1))],
            "2021-01-01",
            "should be less than or equal to 2020-01-01",
            id="a-day",
        ),
    ],
)
def test_a_text_that_is_no_number_is_not_reported_as_out_of_bounds(
    bounded: Any, said: object, text: str
) -> None:
    """NaN fails every bound; the message of the first one would be misleading."""
    with pytest.raises(ValidationError) as caught:
        TypeAdapter(bounded).validate_python(said)

    assert [validation_message(problem) for problem in caught.value.errors()] == [text]
