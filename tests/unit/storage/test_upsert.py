"""The statement for many rows, as text and columns."""

from __future__ import annotations

import pytest

from strider.storage.upsert import Upsert

COLUMNS = (("url", "text"), ("sequence", "bigint"), ("title", "text"))


def test_without_update_a_known_row_stays_as_it_is() -> None:
    """What is idempotent by identity alone."""
    assert Upsert("pages", columns=COLUMNS, conflict=("url",)).sql == (
        'INSERT INTO "pages" ("url", "sequence", "title") '
        "SELECT * FROM unnest($1::text[], $2::bigint[], $3::text[]) "
        'ON CONFLICT ("url") DO NOTHING'
    )


def test_an_update_can_be_guarded() -> None:
    """A replay must not put an older page over a newer one."""
    statement = Upsert(
        "pages",
        columns=COLUMNS,
        conflict=("url",),
        update=("sequence", "title"),
        where="pages.sequence <= excluded.sequence",
    )

    assert statement.sql.endswith(
        'ON CONFLICT ("url") DO UPDATE SET "sequence" = excluded."sequence", "title" = excluded."title" '
        "WHERE pages.sequence <= excluded.sequence"
    )


def test_a_repeated_row_may_set_columns_that_no_row_has() -> None:
    """When it was written, or when its content changed last."""
    statement = Upsert(
        "pages", columns=COLUMNS, conflict=("url",), update=("title",), computed=(("written_at", "now()"),)
    )

    assert statement.sql.endswith('DO UPDATE SET "title" = excluded."title", "written_at" = now()')
    with pytest.raises(ValueError, match="invalid name of a table or column"):
        Upsert("pages", columns=COLUMNS, conflict=("url",), computed=(("a b", "now()"),))


def test_rows_become_columns_and_the_last_of_equal_ones_stays() -> None:
    """PostgreSQL refuses a statement that touches a row twice; a batch may well hold a page twice."""
    statement = Upsert("pages", columns=COLUMNS, conflict=("url",))

    assert statement.columns_of([("a", 1, "x"), ("b", 1, "y"), ("a", 2, "z")]) == [
        ["a", "b"],
        [2, 1],
        ["z", "y"],
    ]
    assert statement.columns_of([]) == [[], [], []]


@pytest.mark.parametrize(
    ("text", "stored"),
    [
        pytest.param("plain", "plain", id="plain"),
        pytest.param("ü", "ü", id="other-letters"),
        pytest.param("a\x00b", "a\ufffdb", id="nul"),
        pytest.param("a\ud800ü\udfff", "a\ufffdü\ufffd", id="lone-surrogates"),
    ],
)
def test_what_postgresql_cannot_hold_is_replaced(text: str, stored: str) -> None:
    """S22: one such title must not fail a batch of five hundred rows."""
    statement = Upsert("pages", columns=COLUMNS, conflict=("url",))

    assert statement.columns_of([("a", 1, text)])[2] == [stored]


@pytest.mark.parametrize(
    "wrong",
    [
        pytest.param({"table": "pages; DROP TABLE pages"}, id="table"),
        pytest.param({"columns": (("a b", "text"),)}, id="column"),
        pytest.param({"columns": (("url", "text[]"),)}, id="array-type"),
        pytest.param({"conflict": ()}, id="no-identity"),
        pytest.param({"update": ("other",)}, id="update-of-what-is-not-there"),
    ],
)
def test_names_and_types_are_checked(wrong: dict[str, object]) -> None:
    """They go into the statement's text, so they must be names."""
    with pytest.raises(ValueError, match=r"invalid name|invalid type|must name columns"):
        Upsert(**({"table": "pages", "columns": COLUMNS, "conflict": ("url",)} | wrong))  # type: ignore[arg-type]
