"""The bound of an encoded event is never too small, and unknown for doubtful values."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from strider.contracts.avro.codec import Codec
from strider.contracts.avro.schema_store import SchemaStore
from strider.contracts.avro.size_limits import UNKNOWN_SIZE, compile_record_bound, unknown_on_error
from strider.contracts.generated.topics import PAGES_PARSED, PAGES_VALIDATED, TOPICS

from .test_deferred_encoding import examples, page

BOOK = SchemaStore.bundled()
CODEC = Codec(BOOK)
NODE = BOOK.current(PAGES_PARSED.schema_name).node


def bound(event: Any, *, known: int | None = None) -> int:
    node = BOOK.current(event.SCHEMA_NAME).node
    return unknown_on_error(compile_record_bound(node, BOOK.value_lists, lambda _event: known))(event)


@pytest.mark.parametrize("topic", TOPICS.values(), ids=lambda topic: topic.name)
def test_a_bound_is_never_too_small_and_not_far_too_large(topic: Any) -> None:
    """Too small would pass what a broker refuses; too large would encode every page for nothing."""
    for event in examples(topic):
        size_bytes = len(CODEC.encode(topic, event).value)
        assert size_bytes <= bound(event) <= 4 * size_bytes + 40 * len(type(event).__slots__)


@pytest.mark.parametrize(
    "fields",
    [
        pytest.param({"depth": True}, id="boolean for a number"),
        pytest.param({"depth": 1 << 31}, id="too large for an int"),
        pytest.param({"link_rels": (1 << 31,)}, id="too large an int in a list"),
        pytest.param({"noindex": 1}, id="a number for a boolean"),
        pytest.param({"language_confidence": float("nan")}, id="no number"),
        pytest.param({"language_confidence": 1}, id="an integer for a fraction"),
        pytest.param({"meta": {"a": 1}}, id="a number in a map of texts"),
        pytest.param({"charset_evidence": "rumour"}, id="no such word"),
        pytest.param({"products": ("a table",)}, id="no record"),
    ],
)
def test_what_does_not_fit_is_in_doubt(fields: dict[str, Any]) -> None:
    """Values that a consumer on a broker would get changed, or not at all, must be encoded."""
    assert bound(page(**fields)) >= UNKNOWN_SIZE


def test_what_was_judged_before_is_believed() -> None:
    """A validated page contains a page whose bound is known: its texts are not measured twice."""
    validated = examples(PAGES_VALIDATED)[0]
    broken = replace(validated, page=replace(validated.page, text="\0"))
    assert bound(broken) >= UNKNOWN_SIZE
    assert 1000 < bound(broken, known=1000) < UNKNOWN_SIZE
