"""Coverage-guided fuzzing of everything that comes from strangers.

    python -m tests.unit.fetcher.core.guided_fuzzing robots [CORPUS] [-runs=N] [-max_total_time=S]

runs until a limit is reached, if there is one, and ends with the bytes that broke an invariant. A target
takes bytes and checks what must hold for any of them; `SEEDS` are the inputs it starts from.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

import atheris

with atheris.instrument_imports(include=["strider.politeness", "strider.fetcher.core", "strider.urls"]):
    from strider.fetcher.core import (
        AddressPolicy,
        FailedFetch,
        FetchedResponse,
        RedirectRules,
        build_cookie_header,
        decide_body_policy,
        decode_head,
        interpret_result,
        parse_set_cookies,
        resolve_redirect,
        update_jar,
        url_refusal,
    )
    from strider.politeness import MAX_CRAWL_DELAY_SECONDS, RobotsTxt
    from strider.politeness.robots.decoding import decode_robots
    from strider.urls import RefusedUrl, host_of, to_wire_url

from tests.unit.fetcher.builders import TRACE, URL, a_request

CLOSED: Final = RedirectRules(AddressPolicy(allowed_ports=frozenset({80, 443})))


def robots(data: bytes) -> None:
    """A robots.txt: every text has a verdict and a bounded delay, and never denies itself."""
    read = RobotsTxt(decode_robots(data))
    read.allows("http://a.test/a/b.html?c=d", "Strider")
    assert read.allows("http://a.test/robots.txt", "Strider")
    assert 0 <= read.delay_seconds("Strider") <= MAX_CRAWL_DELAY_SECONDS
    assert all(read.sitemaps)


def head(data: bytes) -> None:
    """A response head: it always has an outcome, and never leads to a forbidden address."""
    lines = [line.partition(b":") for line in data[1:].split(b"\n")]
    fields = [(name, value.strip()) for name, _, value in lines]
    told = decode_head(200 + 2 * (data[0] if data else 0), fields)
    wanted = a_request(etag='"x"')
    reading = decide_body_policy(wanted, told)
    came = reading if isinstance(reading, FailedFetch) else FetchedResponse(told, b"x", 1)
    ended = interpret_result(wanted, came, trace=TRACE, rules=CLOSED).completed
    if ended.redirect_target and not ended.redirect_refused:
        assert url_refusal(ended.redirect_target, policy=CLOSED.address_policy) is None


def url(data: bytes) -> None:
    """A link or redirect target: a result is HTTP(S), has a host, and is stable."""
    text = data.decode("utf-8", "replace")
    found = to_wire_url(text, URL)
    if isinstance(found, RefusedUrl):
        return
    assert found.startswith(("http://", "https://"))
    assert host_of(found)
    assert to_wire_url(found) == found
    target = resolve_redirect(decode_head(302, [(b"Location", data)]), url=URL, rules=CLOSED)
    assert target.refusal or url_refusal(target.target, policy=CLOSED.address_policy) is None


def cookies(data: bytes) -> None:
    """Set-Cookie lines: the cookies fit one header line, and are sent to their own domain only."""
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
