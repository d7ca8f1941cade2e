"""The API's variables: its own, listed once, and no obstacle for another service."""

from __future__ import annotations

import pytest

from strider.api.settings import ApiSettings
from strider.echo.settings import EchoSettings
from strider.runtime.settings.help import render_environment, render_help
from strider.runtime.settings.loader import SettingsError, load_settings


def test_defaults_listen_to_this_machine_alone() -> None:
    settings = load_settings(ApiSettings, {}).settings

    assert (settings.host, settings.port, settings.token.get_secret_value()) == ("127.0.0.1", 8060, "")


def test_all_processes_may_share_one_environment() -> None:
    """A token for the API in everybody's file must not keep the others from starting."""
    shared = {
        "STRIDER_API_TOKEN": "0123456789abcdef",
        "STRIDER_API_HOST": "0.0.0.0",
        "STRIDER_API_MAX_SEEDS": "5",
    }

    assert load_settings(EchoSettings, shared).settings == EchoSettings()
    assert load_settings(ApiSettings, shared).settings.max_seeds == 5


def test_a_slip_is_still_seen_by_the_api() -> None:
    with pytest.raises(SettingsError, match=r"STRIDER_API_TOKN: .*did you mean STRIDER_API_TOKEN"):
        load_settings(ApiSettings, {"STRIDER_API_TOKN": "t"})


def test_each_variable_is_listed_once() -> None:
    """The port is a variable of the local stack's too."""
    for text in (render_environment([ApiSettings, EchoSettings]), render_help("api", ApiSettings)):
        begins = [line.lstrip("# ") for line in text.splitlines()]
        for variable in ("STRIDER_API_PORT", "STRIDER_API_TOKEN"):
            assert sum(line.startswith(variable) for line in begins) == 1
    assert "STRIDER_API_PORT" in render_help("echo", EchoSettings)


@pytest.mark.fault("A13", part="short tokens")
@pytest.mark.parametrize("token", ["t", "0123456789abcde"])
def test_a_token_that_can_be_guessed_is_refused_without_being_printed(token: str) -> None:
    with pytest.raises(SettingsError) as refused:
        load_settings(ApiSettings, {"STRIDER_API_TOKEN": token})

    assert "STRIDER_API_TOKEN" in str(refused.value)
    assert "is shorter than 16 characters; make one with: openssl rand -hex 32" in str(refused.value)
    assert repr(token) not in str(refused.value)
