"""Exit codes: one table, and a command that prints it."""

from __future__ import annotations

import json

from typer.testing import CliRunner

from strider.cli.app import app
from strider.cli.exit_codes import EXIT_MEANINGS, CommandExit


def test_every_code_has_a_meaning() -> None:
    assert set(EXIT_MEANINGS) == set(CommandExit)


def test_the_command_prints_the_table() -> None:
    table = CliRunner().invoke(app, ["exit-codes"])
    objects = CliRunner().invoke(app, ["exit-codes", "--json"])

    assert [line.split()[:2] for line in table.stdout.splitlines()[1:]] == [
        ["0", "done"],
        ["1", "failed"],
        ["2", "usage"],
        ["3", "unavailable"],
        ["130", "interrupted"],
        ["143", "terminated"],
    ]
    assert json.loads(objects.stdout) == {str(code.value): text for code, text in EXIT_MEANINGS.items()}
