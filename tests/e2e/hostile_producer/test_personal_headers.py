"""A login of one crawl: the site that it was given for receives it, and it is in clear nowhere else."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from random import Random
from typing import Any, Final

import httpx
import pytest

from strider.api import log_events
from strider.testing.callers import bearer
from strider.testing.site.plan import page_html, sentences
from tests.processes.waiting import until

from .attackers import PAGE, AttackerSite, Reply, attacker_site, robots_allowing
from .neighbours import Stage
from .traces import places_of

pytestmark = pytest.mark.timeout(600)

END_SECONDS: Final = 120.0
OTHER_ADDRESS: Final = "127.9.5.2"
SECRETS: Final = {
    "api": "Bearer 5e1f-of-the-api",
    "command": "Bearer 77c2-of-the-command",
    "producer": "Bearer c0de-of-the-producer",
    "broken": "Bearer b4d0-of-a-broken-seed",
    "raw": "Bearer fa11-of-a-raw-seed",
}
OWN: Final = ("api", "command", "producer")
WAYS: Final = ("linked", "moved")
"""How the other host is found: by a link, and by a redirect."""


@dataclass
class Members:
    """A site that shows its pages to those who are logged in, and another one that it leads to."""

    site: AttackerSite
    other: AttackerSite

    def url(self, way: str) -> str:
        """Return the start URL of one way to submit it."""
        return f"{self.site.origin}/members/{way}"

    def others(self, way: str) -> list[str]:
        """Return the URLs of the other site that the crawl of this start URL finds."""
        return [f"{self.other.origin}/{found}/{way}" for found in WAYS]


@contextmanager
def members() -> Iterator[Members]:
    def reply(path: str) -> Reply:
        if (robots := robots_allowing(path)) is not None:
            return robots
        if served.site.requests[-1][1].get("Authorization") not in SECRETS.values():
            return (401, {"Content-Type": "text/plain"}, b"log in first")
        way = path.rpartition("/")[2]
        if path.startswith("/leave/"):
            return (302, {"Location": f"{served.other.origin}/moved/{way}"}, b"")
        links = [f"/leave/{way}", f"{served.other.origin}/linked/{way}"]
        return (200, PAGE[1], page_html(f"Members {way}", sentences(Random(way), 1_500), links))

    with (
        attacker_site(reply, address="127.9.5.1") as site,
        attacker_site(lambda path: robots_allowing(path) or PAGE, address=OTHER_ADDRESS) as other,
    ):
        served = Members(site, other)
        yield served


def seed_of(served: Members, way: str) -> dict[str, Any]:
    return {
        "url": served.url(way),
        "job_id": f"login-{way}",
        "scope": "any",
        "max_depth": 2,
        "headers": {"Authorization": SECRETS[way], "X-Api-Key": SECRETS[way]},
    }


async def submit_to_api(stage: Stage, seed: Mapping[str, Any]) -> None:
    service = stage.ring.services["api"]
    (listening,) = service.events(log_events.API_LISTENING.text)
    async with httpx.AsyncClient(base_url=listening["url"], trust_env=False, headers=bearer()) as client:
        answer = await client.post("/api/v1/seeds", json=seed)
    assert answer.status_code == 202, answer.text
    assert SECRETS["api"] not in answer.text


async def submit_by_command(stage: Stage, seed: Mapping[str, Any]) -> None:
    headers = [part for pair in seed["headers"].items() for part in ("--header", ": ".join(pair))]
    command = ("add", seed["url"], "--job", seed["job_id"], "--scope", "any", "--max-depth", "2", *headers)
    assert SECRETS["command"] not in await stage.command("seeds", *command)


async def until_stored(stage: Stage, job_id: str, urls: list[str]) -> list[Any]:
    rows: list[Any] = []

    async def is_stored() -> bool:
        rows[:] = await stage.ring.pages_of(job_id, urls)
        return {row["url"] for row in rows} == set(urls)

    await until(
        is_stored,
        what=f"pages of {job_id}",
        tell=lambda: f"{[row['url'] for row in rows]} of {urls}\n{stage.ring.tell()}",
        seconds=END_SECONDS,
    )
    return rows


@pytest.mark.fault("A7")
async def test_a_login_goes_to_its_own_site_and_is_in_clear_nowhere_else(stage: Stage) -> None:
    """Seeds of the API, the command and an own producer, whose pages link and redirect to another site."""
    with members() as served:
        await submit_to_api(stage, seed_of(served, "api"))
        await submit_by_command(stage, seed_of(served, "command"))
        stage.send(seed_of(served, "producer"), is_owner=True)
        spec_ids = {}
        for way in OWN:
            rows = await until_stored(stage, f"login-{way}", [served.url(way), *served.others(way)])
            spec_ids[way] = next(row["crawl_spec_id"] for row in rows if row["url"] == served.url(way))

        # Another owner's seed may use the crawl spec, but its host is not the one that the login is for.
        named = f"{served.other.origin}/named"
        stage.send({"url": named, "job_id": "named", "crawl_spec_id": spec_ids["api"]}, is_owner=True)
        await until_stored(stage, "named", [named])

        raw = {"url": f"{served.site.origin}/raw", "headers": {"Authorization": SECRETS["raw"]}}
        stage.send(raw)
        detail = await stage.until_refused(raw["url"], field="headers: Authorization")
        broken = {
            "url": f"{served.site.origin}/broken",
            "headers": {"Cookie": SECRETS["broken"]},
            "max_dept": 1,
        }
        stage.send(json.dumps(broken).encode())
        await stage.until_refused(broken["url"], field="unknown_field")

        received = set(served.site.headers("Authorization")) | set(served.site.headers("X-Api-Key"))
        assert received == {SECRETS[way] for way in OWN}
        assert SECRETS["raw"] not in detail
        for name in ("Authorization", "X-Api-Key", "Cookie"):
            assert served.other.headers(name) == []
        assert {path for path, _ in served.other.requests} >= {
            f"/{found}/{way}" for found in WAYS for way in OWN
        }

        marks = [served.url("api"), "login-api"]
        found = await places_of([*SECRETS.values(), *marks], stage.ring)

    # The search is no proof unless it finds what is there.
    assert found[marks[0]] >= {"topic seeds-owned", "topic fetch-requests", "table crawled_pages"}
    assert {place.partition(" ")[0] for place in found[marks[1]]} == {"topic", "table", "redis", "file"}
    # What a producer writes itself is on the topic of seeds as it wrote it, until retention deletes it.
    topics = {"producer": "seeds-owned", "broken": "seeds-submitted", "raw": "seeds-submitted"}
    own = {SECRETS[name]: {f"topic {topic}"} for name, topic in topics.items()}
    assert {text: found[text] for text in SECRETS.values()} == {
        text: own.get(text, set()) for text in SECRETS.values()
    }
