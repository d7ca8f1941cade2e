"""The root command: every command is found, and none imports another's libraries."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest
from typer.testing import CliRunner

from strider.cli.app import COMMANDS, app
from strider.contracts.seed_limits import MAX_DEPTH, SEED_RANGES


@pytest.mark.req("S1.2.30")
@pytest.mark.parametrize("word", COMMANDS)
def test_every_word_explains_itself(word: str) -> None:
    result = CliRunner().invoke(app, [word, "--help"])

    assert result.exit_code == 0
    assert f"strider {word}" in result.output.replace("root", "strider") or f" {word} " in result.output


@pytest.mark.parametrize(
    ("words", "meant"),
    [
        pytest.param(["topcs"], "did you mean topics?", id="command"),
        pytest.param(["topics", "lst"], "no command 'lst'; did you mean list?", id="subcommand"),
        pytest.param(
            ["crawl", "a.test", "--max-dept", "1"],
            "no option '--max-dept'; did you mean --max-depth?",
            id="option",
        ),
        pytest.param(["schemas", "show", "seed"], "did you mean seed-submitted", id="beginning of a schema"),
        pytest.param(["up", "--only", "kafak"], "no server or service 'kafak'; did you mean kafka?", id="up"),
        pytest.param(["up", "--scale", "fetchr=2"], "did you mean fetcher?", id="scale"),
        pytest.param(["schemas", "show", "seed-submited"], "did you mean seed-submitted", id="schema"),
        pytest.param(["topics", "tail", "fronteir", "--where", "a=b"], "did you mean frontier?", id="topic"),
    ],
)
def test_a_misspelt_name_is_wrong_usage_with_the_one_that_was_meant(words: list[str], meant: str) -> None:
    result = CliRunner().invoke(app, words)

    assert result.exit_code == 2
    assert meant in result.stderr
    assert result.stderr.startswith("strider: ")


@pytest.mark.parametrize("words", [["--help"], ["topics", "apply", "--help"], ["fetch", "--help"]])
def test_flags_are_shown_without_a_type(words: list[str]) -> None:
    result = CliRunner().invoke(app, words, env={"COLUMNS": "200"})

    assert result.exit_code == 0
    assert "bool" not in result.output
    assert "--help" in result.output


def test_the_former_name_of_runs_works_and_is_not_listed() -> None:
    """Scripts have it; new ones need one word for one thing."""
    former = CliRunner().invoke(app, ["crawls", "--help"])
    listed = CliRunner().invoke(app, ["--help"])

    assert former.exit_code == 0
    assert "Pause" in former.output or "pause" in former.output
    assert " runs " in listed.output
    assert " crawls " not in listed.output


@pytest.mark.parametrize(
    "words",
    [
        ["topics", "diff", "--bootstrap", "a b:c"],
        ["--kafka", "a b:c", "topics", "diff"],
    ],
)
def test_an_address_may_be_given_to_the_root_or_to_the_command(words: list[str]) -> None:
    result = CliRunner().invoke(app, words)

    assert result.exit_code == 2
    assert "must be host:port" in result.stderr


def test_options_of_the_command_win_over_those_of_the_root() -> None:
    result = CliRunner().invoke(app, ["--kafka", "localhost:9092", "topics", "diff", "--bootstrap", "a b:c"])

    assert "--bootstrap: must be host:port" in result.stderr


def test_connection_options_of_commands_are_hidden() -> None:
    for words in (["topics", "apply"], ["migrate", "up"], ["runs", "list"], ["parser", "audit"]):
        result = CliRunner().invoke(app, [*words, "--help"], env={"COLUMNS": "200"})
        assert "--bootstrap" not in result.output
        assert "--dsn" not in result.output


def test_the_version_needs_no_client_library() -> None:
    """A shell prompt or a script calls it; half a second of imports would be felt."""
    code = (
        "import sys; from strider.cli import app; "
        "print([name for name in ('aiokafka', 'alembic', 'asyncpg', 'fastavro') if name in sys.modules])"
    )
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert loaded.stdout.strip() == "[]"


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        pytest.param(
            ["fetch", "a.test", "--timeout", "900"], "--timeout: 900 is out of range, expected", id="bound"
        ),
        *(
            pytest.param(
                ["crawl", "a.test", option, value],
                f"{option}: {value} is out of range, expected 0 to {most}",
                id=f"{option} {value}",
            )
            for option, value, most in (
                ("--max-depth", "11", MAX_DEPTH),
                ("--max-depth", "-1", MAX_DEPTH),
                *(
                    (f"--{name.replace('_', '-')}", value, SEED_RANGES[name][1])
                    for name in ("max_pages", "max_bytes", "max_seconds", "max_pages_per_host")
                    for value in ("-1", str(10**20))
                ),
                ("--delay", "86401", SEED_RANGES["delay"][1]),
            )
        ),
        pytest.param(
            ["fetch", "a.test", "--timeout", "nan"],
            "--timeout: must be a number, which nan is not",
            id="not a number",
        ),
        pytest.param(
            ["crawl", "a.test", "--delay", "NaN"], "--delay: must be a number, which NaN is not", id="delay"
        ),
        pytest.param(["runs", "logs", "x", "-n", "many"], "--lines: 'many' is not an integer", id="letters"),
        pytest.param(["crawl", "a.test", "--scope", "all"], "--scope: 'all' is not one of", id="word"),
        pytest.param(["crawl", "a.test", "--max-depth"], "--max-depth needs a value", id="no value"),
        pytest.param(["why"], "URL is missing; see: strider why --help", id="no argument"),
        *(
            pytest.param(words, f"{words[-2]}: is empty; give a value", id=f"empty {' '.join(words[:-1])}")
            for words in (
                ["crawl", "--from", ""],
                ["crawl", "a.test", "--output", ""],
                ["crawl", "a.test", "--resume", ""],
                ["crawl", "a.test", "--contact", ""],
                ["fetch", "a.test", "--contact", " "],
                ["why", "https://a.test/", "--job", ""],
                ["--profile", ""],
                ["--kafka", ""],
            )
        ),
    ],
)
def test_a_wrong_option_is_reported_in_one_line_that_names_it(words: list[str], sentence: str) -> None:
    """The line has neither a box nor the wording of the library that validated the value."""
    result = CliRunner().invoke(app, words)

    assert result.exit_code == 2
    assert result.stderr.startswith(f"strider: {sentence}")
    assert result.stderr.count("\n") == 1


def test_a_terminal_of_few_letters_is_no_reason_to_fail() -> None:
    """A cron job's output is often plain ASCII."""
    result = subprocess.run(
        [sys.executable, "-m", "strider.cli", "topics", "list"],
        capture_output=True,
        env={**os.environ, "PYTHONIOENCODING": "ascii"},
        check=False,
    )

    assert result.returncode == 0, result.stderr


def test_an_interruption_while_libraries_are_read_is_no_traceback() -> None:
    """A typo in the line is often interrupted at once."""
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
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)

    assert (result.returncode, result.stdout, result.stderr) == (130, "", "")
