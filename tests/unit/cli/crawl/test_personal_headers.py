"""Personal headers of `strider crawl`: encrypted with a key that stays with the state file."""

from __future__ import annotations

from pathlib import Path

import pytest

from strider.cli.crawl.personal_headers import protect_personal_headers
from strider.cli.crawl.request import BadCrawlRequest
from strider.contracts.generated.events import CrawlSpecDeclared

SPEC = CrawlSpecDeclared("", headers={"Authorization": "Bearer of-the-owner", "Accept": "text/html"})
SEEDS = ("https://b.test/x", "http://a.test/", "no url")
KEY, OTHER_KEY = "1" * 32, "2" * 32


def test_the_headers_are_for_the_origins_of_the_start_urls() -> None:
    spec, decrypt = protect_personal_headers(SPEC, SEEDS, keys=KEY, resume=None)

    assert spec.headers["Authorization"].startswith("strider-encrypted-v1 http://a.test,https://b.test ")
    clear = decrypt("Authorization", spec.headers["Authorization"], origin="http://a.test")
    assert (clear, spec.headers["Accept"]) == ("Bearer of-the-owner", "text/html")


def test_a_crawl_is_resumed_with_the_key_of_its_state_file(tmp_path: Path) -> None:
    """Also where the configured key has changed: the state has the headers as they were encrypted first."""
    state = tmp_path / "state"
    first, _ = protect_personal_headers(SPEC, SEEDS, keys="", resume=state)

    again, decrypt = protect_personal_headers(SPEC, SEEDS, keys=OTHER_KEY, resume=state)

    assert again == first
    assert decrypt("Authorization", first.headers["Authorization"], origin="http://a.test") == (
        "Bearer of-the-owner"
    )
    assert [path.name for path in tmp_path.iterdir()] == ["state.key"]


def test_a_crawl_without_personal_headers_makes_no_key(tmp_path: Path) -> None:
    plain = CrawlSpecDeclared("", headers={"Accept": "text/html"})

    assert protect_personal_headers(plain, SEEDS, keys="", resume=tmp_path / "state")[0] == plain
    assert list(tmp_path.iterdir()) == []


def test_a_login_for_many_sites_is_refused_under_its_option() -> None:
    seeds = [f"https://{number}.test/" for number in range(40)]
    with pytest.raises(BadCrawlRequest, match="--header: personal headers for 40 origins, the limit is 32"):
        protect_personal_headers(SPEC, seeds, keys=KEY, resume=None)
