from __future__ import annotations

from pathlib import Path

import pytest

from strider.localstack.plan.desired_state import (
    DesiredState,
    InvalidDesiredState,
    merge,
    parse_only,
    parse_scale,
    read_desired_state,
    write_desired_state,
)


@pytest.mark.parametrize(
    ("wish", "service", "example", "copies"),
    [
        pytest.param(DesiredState(), "fetcher", False, 1, id="a-service-runs-once"),
        pytest.param(DesiredState(), "echo", True, 0, id="an-example-does-not-run"),
        pytest.param(DesiredState(examples=True), "echo", True, 1, id="examples-when-named"),
        pytest.param(DesiredState(scale={"echo": 2}), "echo", True, 2, id="an-example-named-by-a-scale"),
        pytest.param(DesiredState(scale={"fetcher": 0}), "fetcher", False, 0, id="none-of-it"),
        pytest.param(DesiredState(only=("kafka",)), "fetcher", False, 0, id="not-among-the-only-ones"),
        pytest.param(DesiredState(only=("kafka", "fetcher")), "fetcher", False, 1, id="among-the-only-ones"),
        pytest.param(
            DesiredState(only=("kafka",), scale={"fetcher": 3}),
            "fetcher",
            False,
            3,
            id="scale-wins-over-only",
        ),
    ],
)
def test_how_many_copies_run(wish: DesiredState, service: str, example: bool, copies: int) -> None:
    assert wish.copies(service, example=example) == copies


def test_the_same_command_again_changes_nothing() -> None:
    wish = DesiredState(number=4, examples=True, scale={"fetcher": 2})

    assert merge(wish, only=None, examples=True, scale={"fetcher": 2}) == wish
    assert merge(wish, only=None, examples=False, scale={}) == wish


@pytest.mark.parametrize(
    ("only", "expected"),
    [
        pytest.param(("redis",), ("kafka", "redis"), id="more-parts"),
        pytest.param(None, None, id="everything"),
    ],
)
def test_up_adds_to_what_runs(only: tuple[str, ...] | None, expected: tuple[str, ...] | None) -> None:
    """Only a scale takes away: `up` in a second terminal must not end what the first one started."""
    assert merge(
        DesiredState(number=1, only=("kafka",)), only=only, examples=False, scale={}
    ) == DesiredState(2, only=expected)


def test_a_stack_of_everything_is_not_narrowed_by_a_later_only() -> None:
    assert merge(DesiredState(number=1), only=("kafka",), examples=False, scale={}) == DesiredState(1)


def test_a_scale_replaces_the_one_before() -> None:
    wish = merge(
        DesiredState(1, scale={"fetcher": 3, "parser": 2}), only=None, examples=False, scale={"fetcher": 1}
    )

    assert wish == DesiredState(2, scale={"fetcher": 1, "parser": 2})


def test_names_that_exist_are_taken() -> None:
    assert parse_only(" kafka, redis,kafka,", {"kafka", "redis", "postgres"}) == ("kafka", "redis")
    assert parse_scale(["fetcher=2", "parser=0"], {"fetcher", "parser"}) == {"fetcher": 2, "parser": 0}


@pytest.mark.parametrize(
    ("word", "message"),
    [
        pytest.param("fetcha=2", "unknown name fetcha; known are: fetcher", id="unknown-name"),
        pytest.param("fetcher", "--scale fetcher: say NAME=N with N from 0 to 64", id="no-number"),
        pytest.param("fetcher=two", "--scale fetcher=two: say NAME=N with N from 0 to 64", id="a-word"),
        pytest.param("fetcher=-1", "--scale fetcher=-1: say NAME=N with N from 0 to 64", id="negative"),
        pytest.param("fetcher=65", "--scale fetcher=65: say NAME=N with N from 0 to 64", id="far-too-many"),
    ],
)
def test_a_wrong_scale_is_reported(word: str, message: str) -> None:
    with pytest.raises(InvalidDesiredState) as caught:
        parse_scale([word], {"fetcher"})

    assert str(caught.value) == message


def test_a_desired_state_survives_its_file(tmp_path: Path) -> None:
    wish = DesiredState(number=9, only=("kafka", "redis"), examples=True, scale={"fetcher": 2})

    write_desired_state(tmp_path / "wish.json", wish)

    assert read_desired_state(tmp_path / "wish.json") == wish


@pytest.mark.parametrize("text", [pytest.param("{", id="torn"), pytest.param('{"x": 1}', id="foreign")])
def test_an_invalid_desired_state_counts_as_none(tmp_path: Path, text: str) -> None:
    (tmp_path / "wish.json").write_text(text)

    assert read_desired_state(tmp_path / "wish.json") is None
