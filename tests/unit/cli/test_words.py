"""The root command: every word is found, and none waits for another's libraries."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest
from typer.testing import CliRunner

from strider.cli.words import WORDS, app


@pytest.mark.req("S1.2.30")
@pytest.mark.parametrize("word", WORDS)
def test_every_word_explains_itself(word: str) -> None:
    told = CliRunner().invoke(app, [word, "--help"])

    assert told.exit_code == 0
    assert f"strider {word}" in told.output.replace("root", "strider") or f" {word} " in told.output


def test_an_unknown_word_is_wrong_usage() -> None:
    told = CliRunner().invoke(app, ["upp"])

    assert told.exit_code == 2
    assert "upp" in told.output


def test_the_version_needs_no_client_library() -> None:
    """A shell prompt or a script asks for it; half a second of imports would be felt."""
    code = (
        "import sys; from strider.cli import words; "
        "print([name for name in ('aiokafka', 'alembic', 'asyncpg', 'fastavro') if name in sys.modules])"
    )
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert loaded.stdout.strip() == "[]"


def test_an_address_that_is_none_is_wrong_usage() -> None:
    told = CliRunner().invoke(app, ["topics", "diff", "--bootstrap", "a b:c"])

    assert told.exit_code == 2
    assert "--bootstrap: must be host:port" in told.stderr


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        pytest.param(["fetch", "a.test", "--timeout", "900"], "'--timeout': should be less", id="a bound"),
        pytest.param(
            ["fetch", "a.test", "--timeout", "nan"], "must be a number, which nan is not", id="none at all"
        ),
        pytest.param(["crawl", "a.test", "--delay", "NaN"], "a number, which NaN is not", id="a delay"),
        pytest.param(["crawl", "a.test", "--contact", ""], "'--contact': is empty", id="nobody"),
        pytest.param(["fetch", "a.test", "--contact", " "], "'--contact': is empty", id="a blank"),
        pytest.param(["crawls", "logs", "x", "-n", "many"], "should be a valid integer", id="a number"),
        pytest.param(["crawl", "a.test", "--scope", "all"], "'--scope'", id="a word"),
    ],
)
def test_a_wrong_option_is_told_without_the_words_of_who_checked_it(words: list[str], sentence: str) -> None:
    """Nobody has said an "Input", and which library has raised which error is no matter of theirs."""
    told = CliRunner().invoke(app, words)

    assert told.exit_code == 2
    assert sentence in " ".join(told.stderr.split())
    assert "Input" not in told.stderr
    assert "Value error" not in told.stderr


def test_a_terminal_of_few_letters_is_no_reason_to_fail() -> None:
    """A cron job's output is often plain ASCII."""
    told = subprocess.run(
        [sys.executable, "-m", "strider.cli", "topics", "list"],
        capture_output=True,
        env={**os.environ, "PYTHONIOENCODING": "ascii"},
        check=False,
    )

    assert told.returncode == 0, told.stderr


def test_an_interruption_while_libraries_are_read_is_no_traceback() -> None:
    """Whoever sees a typo in the line just sent presses Ctrl-C at once."""
    code = (
        "import os, signal, sys\n"
        "class Interrupts:\n"
        "    def find_spec(self, name, *_):\n"
        "        if name == 'typer':\n"
        "            os.kill(os.getpid(), signal.SIGINT)\n"
        "sys.meta_path.insert(0, Interrupts())\n"
        "from strider.cli.__main__ import main\n"
        "main()\n"
    )
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)

    assert (told.returncode, told.stdout, told.stderr) == (130, "", "")
