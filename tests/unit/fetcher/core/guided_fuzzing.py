"""What strangers send, tried by a fuzzer that is led by which of our lines it reaches.

    python -m tests.unit.fetcher.core.guided_fuzzing robots [CORPUS] [-runs=N] [-max_total_time=S]

runs for ever without a limit, and ends with the bytes that broke something. A target takes bytes and says
what must hold for any of them; `SEEDS` are what it starts from.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

import atheris

with atheris.instrument_imports(include=["strider.politeness", "strider.fetcher.core", "strider.urls"]):
    from strider.fetcher.core import (
        FailedFetch,
        FetchedResponse,
        Places,
        RedirectRules,
        build_cookie_header,
        decide_body_policy,
        head_of,
        interpret_result,
        parse_set_cookies,
        resolve_redirect,
        update_jar,
        url_refusal,
    )
    from strider.politeness import MAX_CRAWL_DELAY_SECONDS, RobotsTxt
    from strider.politeness.robots.decoding import decode_robots
    from strider.urls import RefusedUrl, host_of, to_wire_url

from tests.unit.fetcher.builders import TRACE, URL, request

CLOSED: Final = RedirectRules(Places(allowed_ports=frozenset({80, 443})))


def robots(data: bytes) -> None:
    """A robots.txt: every text has a verdict, a bounded delay, and no denial of itself."""
    read = RobotsTxt(decode_robots(data))
    read.allows("http://a.test/a/b.html?c=d", "Strider")
    assert read.allows("http://a.test/robots.txt", "Strider")
    assert 0 <= read.delay_seconds("Strider") <= MAX_CRAWL_DELAY_SECONDS
    assert all(read.sitemaps)


def head(data: bytes) -> None:
    """A head of an answer: whatever it says, there is an outcome, and no way to where we may not go."""
    lines = [line.partition(b":") for line in data[1:].split(b"\n")]
    fields = [(name, value.strip()) for name, _, value in lines]
    told = head_of(200 + 2 * (data[0] if data else 0), fields)
    wanted = request(etag='"x"')
    reading = decide_body_policy(wanted, told)
    came = reading if isinstance(reading, FailedFetch) else FetchedResponse(told, b"x", 1)
    ended = interpret_result(wanted, came, made=TRACE, rules=CLOSED).completed
    if ended.redirect_target and not ended.redirect_refused:
        assert url_refusal(ended.redirect_target, policy=CLOSED.address_policy) is None


def url(data: bytes) -> None:
    """A link and a redirect's target: what is found is HTTP(S), with a host, and found again as it is."""
    text = data.decode("utf-8", "replace")
    found = to_wire_url(text, URL)
    if isinstance(found, RefusedUrl):
        return
    assert found.startswith(("http://", "https://"))
    assert host_of(found)
    assert to_wire_url(found) == found
    target = resolve_redirect(head_of(302, [(b"Location", data)]), url=URL, rules=CLOSED)
    assert target.refusal or url_refusal(target.target, policy=CLOSED.address_policy) is None


def cookies(data: bytes) -> None:
    """Lines that set cookies: what goes back fits into one line, and to their own domain alone."""
    lines = data.decode("utf-8", "replace").split("\n")
    kept = update_jar((), parse_set_cookies(lines, url=URL, now=1.0), now=1.0)
    assert not {"\r", "\n", "\x00"} & {*build_cookie_header(kept, url=URL, now=1.0)}


TARGETS: Final[Mapping[str, Callable[[bytes], None]]] = {
    each.__name__: each for each in (robots, head, url, cookies)
}
SEEDS: Final[Mapping[str, bytes]] = {
    "robots": b"User-agent: *\nDisallow: /a*b$\nAllow: /%7Ea\nCrawl-delay: 3\nSitemap: /s.xml\n",
    "head": b"\x31Location: http://[::1]:80/\nContent-Type: text/html\nRetry-After: 3\nDate: x",
    "url": b"http://user@0x7f.1:80/a/../b?c=d#e",
    "cookies": b"a=b; Domain=a.test; Path=/; Max-Age=9; Expires=Thu, 19 Nov 2026 10:00:00 GMT; Secure",
}


def main() -> None:
    """Run a target until something breaks, or its limit is reached."""
    name, *options = sys.argv[1:]
    for folder in (Path(option) for option in options if not option.startswith("-")):
        (folder / "seed").write_bytes(SEEDS[name])
    atheris.Setup([sys.argv[0], *options], TARGETS[name])
    atheris.Fuzz()


if __name__ == "__main__":
    main()
