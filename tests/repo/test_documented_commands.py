"""Every command line of `strider` in the documentation names commands and options that exist."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import typer

from strider.cli.app import ALIASES, app

from .rules.documents import pages

ROOT = Path(__file__).parents[2]
LINE = re.compile(r"(?m)^(?: {4,}|\$ )(?:\$ )?((?:[A-Z_]+=\S+ )*strider [^\n]*)$")
INLINE = re.compile(r"`(strider\s[^`]+)`")


@cache
def root_command() -> Any:
    return typer.main.get_command(app)


def command_lines(text: str) -> Iterator[str]:
    """Yield the command lines of a page: indented or fenced lines, and code in sentences."""
    fenced = "\n".join(re.findall(r"(?ms)^```\w*\n(.*?)^```", text))
    for line in LINE.findall(text) + re.findall(r"(?m)^\s*((?:[A-Z_]+=\S+ )*strider [^\n]*)$", fenced):
        joined = re.split(r"\s{2,}|\s#\s", line)[0]
        yield re.sub(r"^(?:[A-Z_]+=\S+ )*", "", joined)
    for code in INLINE.findall(text):
        yield re.sub(r"\s+", " ", code)


def problem(line: str) -> str:
    """Return what does not exist in a command line, or nothing."""
    command = root_command()
    context = command.context_class(command, info_name="strider")
    words = iter(words_of(line))
    for word in words:
        if word.startswith("--"):
            option = options_of(command, context).get(word.split("=")[0])
            if option is None:
                return f"{line!r}: no option {word}"
            if not option.is_flag and "=" not in word:
                next(words, "")
        elif hasattr(command, "get_command") and word[:1].isalpha():
            alternatives = [command.get_command(context, name) for name in word.split("|")]
            if None in alternatives or word in ALIASES:
                return f"{line!r}: no command {word}"
            command = alternatives[0]
            context = command.context_class(command, parent=context)
    return ""


def words_of(line: str) -> list[str]:
    """Return the words of one command: brackets and what follows a pipe, a list or a redirection are cut."""
    text = re.split(r"\s[|>&]{1,2}\s|[,…;]|\s\d?>", line.replace("[", " ").replace("]", " "))[0]
    try:
        return shlex.split(text)[1:]
    except ValueError:
        return text.replace("'", " ").replace('"', " ").split()[1:]


def options_of(command: Any, context: Any) -> dict[str, Any]:
    """Return the options of a command and of those above it, which stand before it."""
    params = [*command.params, command.get_help_option(context)]
    found = {name: each for each in params for name in (*each.opts, *each.secondary_opts)}
    return (options_of(context.parent.command, context.parent) if context.parent else {}) | found


@pytest.mark.parametrize("page", list(pages(ROOT)), ids=lambda page: page.relative_to(ROOT).as_posix())
def test_the_commands_of_a_page_exist(page: Path) -> None:
    found = [wrong for line in command_lines(page.read_text(encoding="utf-8")) if (wrong := problem(line))]

    assert found == []


def test_the_documentation_shows_many_commands() -> None:
    """The search finds command lines; otherwise the test above would hold nothing."""
    lines = [line for page in pages(ROOT) for line in command_lines(page.read_text(encoding="utf-8"))]

    assert len(lines) > 100


@pytest.mark.parametrize(
    "text",
    [
        "    strider crawls list",
        "```sh\nstrider runs lst\n```",
        "see `strider runs list --jsn`",
        "`strider hosts\nblok HOST`",
    ],
)
def test_a_command_that_does_not_exist_is_found(text: str) -> None:
    assert [problem(line) for line in command_lines(text) if problem(line)]
