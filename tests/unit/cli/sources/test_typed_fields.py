"""Fields of a source as they are typed."""

from __future__ import annotations

from typing import Any

import pytest

from strider.cli.sources.typed_fields import FieldError, parse_settings


@pytest.mark.parametrize(
    ("settings", "document"),
    [
        (["max_depth=2", "enabled=false"], {"max_depth": 2, "enabled": False}),
        (["name=007", "parser="], {"name": "007", "parser": ""}),
        (["include=*/a/*", "include=*/b/*"], {"include": ["*/a/*", "*/b/*"]}),
        (['include=["*/a/*"]'], {"include": ["*/a/*"]}),
        (["include="], {"include": []}),
        (["metadata.team=news", "metadata.level=1"], {"metadata": {"team": "news", "level": "1"}}),
        (['headers={"X-One": "1"}'], {"headers": {"X-One": "1"}}),
        (["headers.X-One=a=b"], {"headers": {"X-One": "a=b"}}),
        (["delay_seconds=soon"], {"delay_seconds": "soon"}),
    ],
)
def test_values_have_the_type_of_their_field(settings: list[str], document: dict[str, Any]) -> None:
    """What is no value of a field is left for the check of the document, which names the field."""
    assert parse_settings(settings) == document


def test_an_unset_field_gets_its_default() -> None:
    assert parse_settings(["max_depth=2"], ["parser"]) == {"max_depth": 2, "parser": None}


@pytest.mark.parametrize(
    ("settings", "unset", "message"),
    [
        (["max_depth"], [], "expected FIELD=VALUE"),
        (["max_dept=2"], [], "did you mean max_depth"),
        (["version=2"], [], "no field 'version'"),
        ([], ["urll"], "did you mean url"),
        (["max_depth.a=2"], [], "has no entries"),
        (["metadata=1", "metadata.a=2"], [], "as a whole and by entry"),
        (["parser=a"], ["parser"], "both set and unset"),
    ],
)
def test_what_sets_no_field_is_refused(settings: list[str], unset: list[str], message: str) -> None:
    with pytest.raises(FieldError, match=message):
        parse_settings(settings, unset)
