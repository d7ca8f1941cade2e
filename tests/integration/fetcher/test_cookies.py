"""A run's cookies, over real sockets and in a real store."""

from __future__ import annotations

from dataclasses import replace

import pytest

from strider.fetcher.adapters.state.cookie_jars import CookieJars, MemoryCookieJars
from strider.fetcher.adapters.state.redis_cookie_jars import RedisCookieJars
from strider.runtime.clocks import SystemClock
from strider.storage.keys import COOKIES
from strider.storage.redis import RedisOptions, connect
from strider.testing.hostile import http_response, sends, serve_hostile
from tests.unit.fetcher.builders import a_request
from tests.unit.fetcher.builders import a_response as an_answer

from .test_in_process import in_process


@pytest.mark.req("S0.1.3")
async def test_a_run_with_a_jar_keeps_its_session_apart_from_others() -> None:
    """Off by default; and the cookies of one host are not sent to another."""
    headers = ("Set-Cookie: s=1; Path=/", "Set-Cookie: t=2; Path=/")
    plays = {"/in": sends(http_response(headers=headers)), "/next": sends(http_response())}
    async with serve_hostile(plays) as server, in_process(max_in_flight=9) as one:
        steps = [("/in", "a", "run"), ("/next", "a", "run"), ("/next", "b", "run"), ("/next", "a", "")]
        urls = [
            server.url(f"{path}?{n}", host=f"{name}.localhost") for n, (path, name, _) in enumerate(steps)
        ]
        leased = {each.url: each for each in await one.leasing.lease(*urls)}
        for number, (_, _, jar) in enumerate(steps):
            one.write(replace(leased[urls[number]], cookie_jar=jar))
            await one.until(lambda count=number: len(one.ends) == count + 1)

    sent = [head.partition("Cookie: ")[2].partition("\r\n")[0] for head in server.request_heads]
    assert sent == ["", "s=1; t=2", "", ""]
    assert sorted((end.url[-1], end.cookies_changed) for end in one.ends) == [
        ("0", True),
        ("1", False),
        ("2", False),
        ("3", False),
    ]


async def test_a_jar_and_a_runs_own_cookies_are_one_header() -> None:
    """Of two headers servers read one, and which one is undefined."""
    jars = CookieJars(MemoryCookieJars(), clock=SystemClock())
    names, values = ("X-A", "cookie"), ("1", "own=0")
    wanted = a_request("https://a.test/a", cookie_jar="run", header_names=names, header_values=values)
    await jars.store_cookies(wanted, an_answer(set_cookie="s=1; Path=/"), ())

    dressed, _ = await jars.with_cookies(wanted)

    assert (dressed.header_names, dressed.header_values) == (("X-A", "Cookie"), ("1", "own=0; s=1"))


@pytest.mark.req("S0.1.3")
async def test_a_session_outlives_the_process(redis_url: str) -> None:
    redis, clock = connect(RedisOptions(redis_url)), SystemClock()
    wanted = a_request("https://www.shop.test/a", cookie_jar="run")
    first, second = (CookieJars(RedisCookieJars(redis), clock=clock) for _ in range(2))
    _, empty = await first.with_cookies(wanted)
    changed = await first.store_cookies(wanted, an_answer(set_cookie="s=1; Path=/"), empty)
    dressed, jar = await second.with_cookies(wanted)
    removed = await second.store_cookies(wanted, an_answer(set_cookie="s=; Path=/; Max-Age=0"), jar)
    bare, _ = await first.with_cookies(wanted)

    assert (changed, dressed.header_names, dressed.header_values) == (True, ("Cookie",), ("s=1",))
    assert (removed, bare) == (True, wanted)
    await first.store_cookies(wanted, an_answer(set_cookie="s=1"), ())
    assert 600_000 < await redis.command("TTL", COOKIES("run", "shop.test")) <= 604_800
    await redis.close()
