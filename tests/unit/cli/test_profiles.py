"""Connection profiles: where the file is found, and what of it is refused."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from typer.testing import CliRunner

from strider.cli.app import app
from strider.cli.profiles import ProfileError, find_profiles, load_profile

STAGING = """
[staging]
REDIS_URL = "redis://redis.staging.test:6379/0"
STRIDER_SHARDS = 24
STRIDER_ALLOW_PRIVATE = true
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with profiles in the one above it, and a user without any."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    for name in ("STRIDER_HOME", "REDIS_URL", "STRIDER_SHARDS"):
        monkeypatch.delenv(name, raising=False)
    (tmp_path / ".strider").mkdir()
    (tmp_path / ".strider" / "profiles.toml").write_text(STAGING)
    inner = tmp_path / "a" / "b"
    inner.mkdir(parents=True)
    monkeypatch.chdir(inner)
    return inner


def test_a_profile_of_a_folder_above_is_found(folder: Path) -> None:
    assert load_profile("staging", {}, folder) == {
        "REDIS_URL": "redis://redis.staging.test:6379/0",
        "STRIDER_SHARDS": "24",
        "STRIDER_ALLOW_PRIVATE": "true",
    }


def test_the_home_of_the_stack_comes_first(folder: Path, tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir()
    (home / "profiles.toml").write_text("[other]\n")

    assert find_profiles({"STRIDER_HOME": str(home)}, folder) == home / "profiles.toml"


def test_the_users_own_file_comes_last(tmp_path: Path) -> None:
    own = tmp_path / "config" / "strider" / "profiles.toml"
    own.parent.mkdir(parents=True)
    own.write_text("[x]\n")

    assert find_profiles({"XDG_CONFIG_HOME": str(tmp_path / "config")}, tmp_path) == own


@pytest.mark.parametrize(
    ("name", "content", "sentence"),
    [
        pytest.param("stagging", STAGING, "did you mean staging?", id="misspelt"),
        pytest.param("x", "[x]\nredis = 1", "expected a variable such as REDIS_URL", id="not a variable"),
        pytest.param("x", "[x]\nREDIS_URL = [1]", "expected a string", id="a list"),
        pytest.param("x", "x = 1", "x is not a table", id="not a table"),
        pytest.param("x", "[x", "invalid TOML", id="not TOML"),
    ],
)
def test_an_unusable_profile_is_one_line(folder: Path, name: str, content: str, sentence: str) -> None:
    (folder.parents[1] / ".strider" / "profiles.toml").write_text(content)

    with pytest.raises(ProfileError, match=sentence.replace("?", r"\?")):
        load_profile(name, {}, folder)


def test_without_a_file_the_place_of_one_is_named(tmp_path: Path) -> None:
    environment = {"XDG_CONFIG_HOME": str(tmp_path)}

    with pytest.raises(ProfileError, match=r"write \.strider/profiles\.toml"):
        load_profile("staging", environment, tmp_path)


@pytest.mark.usefixtures("folder")
def test_the_root_command_refuses_an_unknown_profile() -> None:
    ended = CliRunner().invoke(app, ["--profile", "prod", "exit-codes"])

    assert (ended.exit_code, ended.stdout) == (2, "")
    assert ended.stderr.startswith("strider: --profile: no profile 'prod'; there are: staging")


@pytest.mark.usefixtures("folder")
def test_a_profile_holds_for_one_command() -> None:
    """A test, or a program that embeds the command line, keeps its own environment."""
    before = dict(os.environ)
    ended = CliRunner().invoke(app, ["--profile", "staging", "exit-codes", "--json"])

    assert ended.exit_code == 0
    assert json.loads(ended.stdout)["0"].startswith("Done")
    assert dict(os.environ) == before


@pytest.mark.usefixtures("folder")
def test_variables_of_a_profile_hold_for_the_options_of_the_command() -> None:
    ended = CliRunner().invoke(app, ["--profile", "staging", "frontier", "list", "--shard", "24"])

    assert (ended.exit_code, ended.stderr) == (
        2,
        "strider: no shard 24; there are 0 to 23 (STRIDER_SHARDS)\n",
    )
