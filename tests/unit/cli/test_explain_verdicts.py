"""Verdicts about a URL that nothing is known of yet."""

from __future__ import annotations

import pytest

from strider.cli.explain_verdicts import Evidence, verdicts
from strider.contracts.generated.events import CrawlSpecDeclared
from strider.scheduler.core import Orders
from strider.urls import origin


def evidence(url: str, *, allow_private: bool = False, spec: CrawlSpecDeclared | None = None) -> Evidence:
    return Evidence(
        url=url,
        from_url="",
        entry=None,
        spec=spec,
        orders=Orders(),
        hosts=(),
        live=None,
        origin=origin(url),
        agent="strider",
        allow_private=allow_private,
        now_ms=1_763_467_200_000,
    )


@pytest.mark.parametrize(
    ("url", "allow_private", "word", "says"),
    [
        pytest.param("http://169.254.169.254/", True, "no", "metadata_address", id="metadata"),
        pytest.param("http://10.0.0.1/", False, "no", "private_address", id="private"),
        pytest.param("http://10.0.0.1/", True, "yes", "", id="private-and-allowed"),
        pytest.param("https://example.org/", False, "yes", "", id="public"),
    ],
)
@pytest.mark.parametrize("spec", [None, CrawlSpecDeclared(crawl_spec_id="s")], ids=["no-spec", "spec"])
def test_an_address_is_judged_whether_or_not_a_spec_is_known(
    url: str, allow_private: bool, word: str, says: str, spec: CrawlSpecDeclared | None
) -> None:
    found = {each.step: each for each in verdicts(evidence(url, allow_private=allow_private, spec=spec))}

    assert found["address"].word == word
    assert says in found["address"].says
    assert (found["scope"].word == "unknown") == (spec is None)
