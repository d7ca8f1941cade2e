"""Settings that need parsing."""

from __future__ import annotations

from pathlib import Path

import pytest

from strider.fetcher.settings import FetcherSettings
from strider.runtime.settings.base import secret_values
from strider.runtime.settings.loader import SettingsError, load_settings

URLS = ["http://me:very-secret@p.test:3128", "socks5://q.test"]


@pytest.mark.req("S0.3.5", "S0.3.6", "S1.14.6")
@pytest.mark.parametrize("is_file", [pytest.param(False, id="variable"), pytest.param(True, id="yaml")])
def test_proxies_are_comma_separated_or_yaml_and_off_by_default(tmp_path: Path, is_file: bool) -> None:
    file = tmp_path / "strider.yaml"
    file.write_text("fetcher:\n  proxy_urls:\n" + "".join(f"    - {url}\n" for url in URLS))
    environ = {"STRIDER_CONFIG": str(file)} if is_file else {"CRAWLER_PROXY_URLS": ", ".join(URLS)}

    settings = load_settings(FetcherSettings, environ).settings

    assert settings.proxies_enabled is False
    assert [url.get_secret_value() for url in settings.proxy_urls] == URLS
    assert "very-secret" not in str(settings)
    assert secret_values(settings) >= {"very-secret"}, "the logs leave it out"


def test_an_invalid_proxy_setting_is_reported_without_its_password() -> None:
    with pytest.raises(SettingsError) as refused:
        load_settings(FetcherSettings, {"CRAWLER_PROXY_URLS": "ftp://me:very-secret@p.test"})

    assert "CRAWLER_PROXY_URLS" in str(refused.value)
    assert "very-secret" not in str(refused.value)


def test_name_servers_are_addresses_with_or_without_a_port() -> None:
    servers = "127.0.0.1:5353, 192.0.2.1,[2001:db8::1]:53,2001:db8::2"

    settings = load_settings(FetcherSettings, {"FETCHER_DNS_SERVERS": servers}).settings

    assert settings.dns_servers == ("127.0.0.1:5353", "192.0.2.1", "[2001:db8::1]:53", "2001:db8::2")
    assert load_settings(FetcherSettings, {}).settings.dns_servers == ()


@pytest.mark.parametrize(
    ("servers", "why"),
    [
        pytest.param("dns.example.org", "'dns.example.org' is not the address of a name server", id="name"),
        pytest.param("127.0.0.1:0", "'0' is not a port", id="port"),
        pytest.param("127.0.0.1:99999", "'99999' is not a port", id="high-port"),
    ],
)
def test_an_invalid_name_server_is_reported(servers: str, why: str) -> None:
    with pytest.raises(SettingsError) as refused:
        load_settings(FetcherSettings, {"FETCHER_DNS_SERVERS": servers})

    assert "FETCHER_DNS_SERVERS" in str(refused.value)
    assert why in str(refused.value)
