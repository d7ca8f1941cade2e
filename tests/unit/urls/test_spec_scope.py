"""Names and patterns of crawl specs are checked before a crawl has a scope that nothing is in."""

from __future__ import annotations

from typing import Any

import pytest

from strider.contracts.generated.events import CrawlSpecDeclared
from strider.urls import spec_scope_fault


def fault(**fields: Any) -> str:
    return spec_scope_fault(CrawlSpecDeclared(crawl_spec_id="", **fields))


@pytest.mark.parametrize(
    "fields",
    [
        {},
        {"hosts": ("a.test", "xn--mnchen-3ya.de", "127.0.0.1", "[::1]", "localhost")},
        {"domains": ("a.test", "example.co.uk")},
        {"insecure_tls_hosts": ("a.test",), "include": ("/a/*",), "exclude": ("re:.*[.]pdf",)},
    ],
)
def test_names_as_they_are_in_urls_are_fine(fields: dict[str, Any]) -> None:
    assert fault(**fields) == ""


NAME = "expected the name of a host, without scheme, port and path"


@pytest.mark.parametrize(
    ("fields", "sentence"),
    [
        ({"hosts": ("a.test", "https://a.test/")}, f"hosts is 'https://a.test/', {NAME}"),
        ({"hosts": ("a.test:8080",)}, f"hosts is 'a.test:8080', {NAME}"),
        ({"hosts": ("a.test/x",)}, f"hosts is 'a.test/x', {NAME}"),
        ({"hosts": ("user@a.test",)}, f"hosts is 'user@a.test', {NAME}"),
        ({"hosts": ("",)}, f"hosts is '', {NAME}"),
        (
            {"hosts": ("*.a.test",)},
            "hosts is '*.a.test', expected the name of one host; `domains` has all hosts of a domain",
        ),
        (
            {"hosts": ("A.test",)},
            "hosts is 'A.test', expected 'a.test': the name in lower case, as it is in URLs",
        ),
        (
            {"insecure_tls_hosts": ("münchen.de",)},
            (
                "insecure_tls_hosts is 'münchen.de', expected 'xn--mnchen-3ya.de': the name in lower case, "
                "as it is in URLs"
            ),
        ),
        (
            {"domains": ("www.example.co.uk",)},
            "domains is 'www.example.co.uk', expected a registrable domain, such as 'example.co.uk'",
        ),
    ],
)
def test_a_name_that_no_url_has_is_a_fault_of_its_field(fields: dict[str, Any], sentence: str) -> None:
    assert fault(**fields) == sentence


def test_a_pattern_that_cannot_be_used_is_a_fault_of_its_field() -> None:
    assert fault(exclude=("re:(",)).startswith("exclude: 're:('")
