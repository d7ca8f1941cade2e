"""Proxies in a table: added by a person, used by fetchers, with their health, passwords encrypted."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from dataclasses import replace
from typing import Any

import pytest

from strider.contracts.generated.enums import ErrorClass
from strider.fetcher.adapters.proxies.pool import ProxyPool
from strider.fetcher.adapters.proxies.table_sync import ProxyTableSync
from strider.fetcher.core import FailedFetch, FetchedResponse, Proxy, ResponseHead
from strider.politeness.rate_window import RateWindows
from strider.runtime.clocks import SystemClock
from strider.storage.encryption import SecretCipher, generate_key
from strider.storage.postgres import Postgres, PostgresOptions
from strider.storage.proxy_table import ProxyTable
from strider.testing.hostile import http_response, sends, serve_hostile
from strider.testing.proxy_server import TestProxy, serve_proxy

KEY = generate_key()
DEAD = FailedFetch(ErrorClass.PROXY_UNREACHABLE)


async def _strider(dsn: str, *arguments: str) -> tuple[int, list[dict[str, Any]], str]:
    kept = {
        name: value for name, value in os.environ.items() if not name.startswith(("CRAWLER_", "STRIDER_"))
    }
    run = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "strider.cli", "proxies", *arguments, "--dsn", dsn),
        env=kept | {"CRAWLER_PROXY_KEY": KEY, "STRIDER_ALLOW_PRIVATE": "true"},
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    out, _ = await run.communicate()
    assert run.returncode is not None
    told = [
        each
        for line in out.splitlines()
        if line.startswith((b"{", b"["))
        for each in ([json.loads(line)] if line.startswith(b"{") else json.loads(line))
    ]
    return run.returncode, told, out.decode()


async def _check_proxy(_proxy: Proxy) -> None:
    return


@pytest.mark.req("S4.12.30", "S4.12.31", "S4.12.32", "S4.12.33", "S4.12.34", "S4.12.35", "S4.14.5")
@pytest.mark.req("S4.12.29", part="socks5 and http")
async def test_the_health_of_proxies_is_shared_through_the_table(database: str) -> None:
    """A fetcher that finds a proxy dead spares the others the discovery; no password is readable."""
    url = "socks5://me:very-secret@p.test:9"
    assert (await _strider(database, "add", url, "http://q.test"))[0] == 0
    postgres, clock, seals = Postgres(PostgresOptions(database)), SystemClock(), SecretCipher(KEY)
    books: list[tuple[ProxyTableSync, ProxyPool]] = []
    for _ in range(2):
        pool = ProxyPool(clock=clock, windows=RateWindows(max_requests=0), check_proxy=_check_proxy)
        books.append((ProxyTableSync(ProxyTable(postgres), seals, pool, clock=clock), pool))
        await books[-1][0].load()
    (mine, one), (_, other) = books
    proxies = [await one.acquire("a.test") for _ in range(2)]
    for _ in range(11):
        one.record_result(proxies[0], DEAD, seconds=0)
    one.record_result(proxies[1], FetchedResponse(ResponseHead(200)), seconds=0.25)
    await mine.save()
    await books[1][0].load()

    assert proxies[0] == Proxy("socks5", "p.test", 9, "me", "very-secret")
    assert {(await other.acquire("a.test")).host for _ in range(3)} == {"q.test"}
    _, listed, shown = await _strider(database, "list", "--json")
    facts = {
        each["host"]: (each["is_active"], each["success_count"], each["failure_count"], each["average_ms"])
        for each in listed
    }
    assert facts == {"p.test": (False, 0, 11, 0.0), "q.test": (True, 1, 0, 250.0)}
    assert all(each["last_used_at"] > 0 for each in listed)
    moments = {each["host"]: (each["last_success_at"] > 0, each["last_failure_at"] > 0) for each in listed}
    assert moments == {"p.test": (False, True), "q.test": (True, False)}
    rows = await postgres.fetch("SELECT to_jsonb(proxies)::text FROM proxies")
    assert "very-secret" not in shown + "".join(row[0] for row in rows)
    await _closed(one, other, postgres)


@pytest.mark.req("S4.12.36")
@pytest.mark.req("S4.4.4", part="of proxies")
async def test_there_is_an_index_for_who_is_next_who_rests_and_who_fails(postgres: Postgres) -> None:
    """Fetchers ask these three questions over and over: none may read the whole table."""
    found = await postgres.fetch("SELECT indexname, indexdef FROM pg_indexes WHERE tablename = 'proxies'")
    about = {name: definition.partition(" USING btree ")[2] for name, definition in map(tuple, found)}

    assert about["proxies_in_turn"] == "(last_used_at NULLS FIRST) WHERE is_active"
    assert about["proxies_resting"] == "(disabled_at) WHERE (disabled_at IS NOT NULL)"
    assert about["proxies_by_failures"] == "(failure_count)"


async def test_a_proxy_with_an_undecryptable_password_is_skipped(database: str) -> None:
    """Without its password it would only be refused, eleven times."""
    postgres = Postgres(PostgresOptions(database))
    table = ProxyTable(postgres)
    await _strider(database, "add", "http://me:very-secret@p.test", "http://q.test")
    pool = ProxyPool(clock=SystemClock(), windows=RateWindows(max_requests=0), check_proxy=_check_proxy)
    book = ProxyTableSync(table, SecretCipher(generate_key()), pool, clock=SystemClock())

    await book.load()

    assert [seat.proxy.host for seat in pool.proxies] == ["q.test"]
    await _closed(pool, postgres)


async def test_every_proxy_can_be_tried_with_a_page(database: str) -> None:
    async with (
        serve_hostile({"/": sends(http_response())}) as server,
        serve_proxy(TestProxy("socks5", "me:right")) as good,
        serve_proxy(TestProxy("http", "me:right")) as bad,
    ):
        await _strider(database, "add", good.url, replace(bad, credentials="me:wrong").url)
        code, told, shown = await _strider(database, "test", server.url("/"), "--json")
        plain = await _strider(database, "test")
        gone = await _strider(database, "remove", bad.url)

    verdicts = {each["proxy"]: (each["works"], each["status"], each["error"]) for each in told}
    assert verdicts == {
        f"socks5://127.0.0.1:{good.port}": (True, 200, ""),
        f"http://127.0.0.1:{bad.port}": (False, 0, "proxy_auth"),
    }
    assert (code, "right" in shown, "wrong" in shown) == (1, False, False)
    assert (plain[0], gone[0], f"removed http://127.0.0.1:{bad.port}" in gone[2]) == (0, 0, True)


async def _closed(*opened: ProxyPool | Postgres) -> None:
    for each in opened:
        await each.close()
