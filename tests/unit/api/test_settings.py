"""The API's variables: its own, listed once, and no obstacle for another service."""

from __future__ import annotations

import pytest

from strider.api.settings import ApiSettings
from strider.echo.settings import EchoSettings
from strider.runtime.settings.help import render_environment, render_help
from strider.runtime.settings.loader import SettingsError, load_settings


def test_defaults_listen_to_this_machine_alone() -> None:
    settings = load_settings(ApiSettings, {}).settings

    assert (settings.host, settings.port, settings.auth.jwt_secret.get_secret_value()) == (
        "127.0.0.1",
        8060,
        "",
    )


def test_all_processes_may_share_one_environment() -> None:
    """A secret for the API in everybody's file must not keep the others from starting."""
    shared = {
        "AUTH_JWT_SECRET": "0123456789abcdef" * 2,
        "STRIDER_API_HOST": "0.0.0.0",
        "STRIDER_API_MAX_SEEDS": "5",
    }

    assert load_settings(EchoSettings, shared).settings == EchoSettings()
    assert load_settings(ApiSettings, shared).settings.max_seeds == 5


def test_a_slip_is_still_seen_by_the_api() -> None:
    with pytest.raises(SettingsError, match=r"STRIDER_API_PROT: .*did you mean STRIDER_API_PORT"):
        load_settings(ApiSettings, {"STRIDER_API_PROT": "1"})


def test_each_variable_is_listed_once() -> None:
    """The port is a variable of the local stack's too."""
    for text in (render_environment([ApiSettings, EchoSettings]), render_help("api", ApiSettings)):
        begins = [line.lstrip("# ") for line in text.splitlines()]
        for variable in ("STRIDER_API_PORT", "AUTH_JWT_SECRET"):
            assert sum(line.startswith(variable) for line in begins) == 1
    assert "STRIDER_API_PORT" in render_help("echo", EchoSettings)


def test_the_token_of_earlier_versions_is_refused_by_name() -> None:
    """It would protect nothing any more, and who has set it must know."""
    with pytest.raises(SettingsError, match="STRIDER_API_TOKEN: there is no such setting"):
        load_settings(ApiSettings, {"STRIDER_API_TOKEN": "0123456789abcdef"})


@pytest.mark.fault("A13", part="short secrets")
@pytest.mark.parametrize("secret", ["t", "x" * 31, f"{'x' * 32},short", f"{'x' * 32},"])
def test_a_secret_that_can_be_guessed_is_refused_without_being_printed(secret: str) -> None:
    with pytest.raises(SettingsError) as refused:
        load_settings(ApiSettings, {"AUTH_JWT_SECRET": secret})

    assert "AUTH_JWT_SECRET: must be keys of 32 characters or more" in str(refused.value)
    assert repr(secret) not in str(refused.value)
    assert "x" * 31 not in str(refused.value)
