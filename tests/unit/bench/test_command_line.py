"""The bench's command line: one part can be measured alone, and a mistyped word costs no hour."""

from __future__ import annotations

import pytest

from tests.bench.__main__ import PARTS, read_wish


def test_everything_is_measured_by_default() -> None:
    assert vars(read_wish([])) == {"short": False, "publish": False, "only": None}


def test_parts_can_be_named() -> None:
    assert vars(read_wish(["--short", "--only", "urls", "pipeline"])) == {
        "short": True,
        "publish": False,
        "only": ["urls", "pipeline"],
    }


@pytest.mark.parametrize(
    ("words", "said"),
    [
        pytest.param(["--shrot"], "--shrot", id="an-unknown-option"),
        pytest.param(["fetch"], "fetch", id="a-part-without-only"),
        pytest.param(["--only", "fetcher"], "fetcher", id="an-unknown-part"),
    ],
)
def test_what_means_nothing_is_refused(
    words: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        read_wish(words)

    assert ended.value.code == 2
    assert said in capsys.readouterr().err


def test_the_help_names_every_part_and_measures_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        read_wish(["--help"])

    said = capsys.readouterr().out
    assert ended.value.code == 0
    assert [name for name in PARTS if name not in said] == []
