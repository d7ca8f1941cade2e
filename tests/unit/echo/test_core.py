"""What is answered, and what is not."""

from __future__ import annotations

import pytest

from strider.contracts.generated.events import Echoed, EchoRequested
from strider.echo.core import Rules, echo_of


@pytest.mark.parametrize(
    ("text", "outcome", "echo"),
    [
        pytest.param("hello", "echoed", "> hello", id="a-text"),
        pytest.param("  hello\n", "echoed", "> hello", id="blanks-around-it"),
        pytest.param("a" * 20, "echoed", "> " + "a" * 20, id="as-long-as-allowed"),
        pytest.param("a" * 21, "refused_long", "", id="longer"),
        pytest.param("", "refused_empty", "", id="nothing"),
        pytest.param(" \t\n", "refused_empty", "", id="only-blanks"),
    ],
)
def test_a_request_is_echoed_or_refused(text: str, outcome: str, echo: str) -> None:
    request = EchoRequested(request_id="r1", host="a.test", text=text, sent_at_ms=5)

    answered = echo_of(request, Rules(prefix="> ", max_text_chars=20))

    assert answered == Echoed(request_id="r1", host="a.test", outcome=outcome, text=echo, requested_at_ms=5)
