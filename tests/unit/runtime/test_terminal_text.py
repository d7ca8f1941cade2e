"""Foreign text on terminals: nothing that a terminal obeys is left, and nothing else is changed."""

from __future__ import annotations

import json
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from strider.runtime.terminal_text import escape_controls

CONTROL_RANGES = ((0, 8), (11, 31), (127, 159), (0x200E, 0x200F), (0x2028, 0x202E), (0x2066, 0x2069))
CONTROLS = [chr(code) for first, last in CONTROL_RANGES for code in range(first, last + 1)] + ["\u061c"]
pytestmark = pytest.mark.fault("A11", part="control characters")

TEXTS = st.text(st.one_of(st.characters(exclude_categories=["Cs"]), st.sampled_from(CONTROLS)))


@given(TEXTS)
def test_no_control_character_is_left(text: str) -> None:
    escaped = escape_controls(text)

    assert not set(escaped) & set(CONTROLS)
    assert {unicodedata.category(each) for each in escaped if each not in "\t\n"} & {"Cc"} == set()
    assert not set(escape_controls(text, keeps_lines=False)) & {*CONTROLS, "\t", "\n"}


@given(st.text(st.characters(exclude_categories=["Cs", "Cc", "Cf", "Zl", "Zp"])))
def test_readable_text_is_unchanged(text: str) -> None:
    assert escape_controls(text) == text


@given(st.recursive(TEXTS | st.integers() | st.none(), lambda of: st.lists(of) | st.dictionaries(TEXTS, of)))
def test_json_keeps_its_value(value: object) -> None:
    for is_ascii in (True, False):
        document = json.dumps(value, ensure_ascii=is_ascii, indent=1)
        assert json.loads(escape_controls(document)) == value


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("\x1b]52;c;aGk=\x07", "\\u001b]52;c;aGk=\\u0007"),
        ("a\x9b2Jb", "a\\u009b2Jb"),
        ("one\rtwo", "one\\u000dtwo"),
        ("gpj.\u202eexe", "gpj.\\u202eexe"),
        ("a\tb\nc", "a\tb\nc"),
    ],
)
def test_what_is_shown(text: str, shown: str) -> None:
    assert escape_controls(text) == shown
