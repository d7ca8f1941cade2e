"""What does a robots.txt say about us?

Takes its text, answers for a URL and an agent: allowed or not, how long to wait, where sitemaps are.
The parser is protego, and this is the only module that knows so. Where the text comes from, and
what holds while there is none, is `robots_state`'s; nothing here waits or looks at a clock.
"""

from __future__ import annotations

from typing import Final

from protego import Protego

MAX_ROBOTS_BYTES: Final = 500 * 1024
"""What is read of a robots.txt, as RFC 9309 §2.5 asks for at least; rules behind it do not exist."""

MAX_CRAWL_DELAY_SECONDS: Final = 300.0
"""Longest crawl-delay that is obeyed: a day between two pages means a slip, or that a site is never done."""

_BYTE_ORDER_MARK: Final = "\ufeff"


class Robots:
    """The rules of one robots.txt."""

    __slots__ = ("_rules",)

    def __init__(self, text: str) -> None:
        self._rules = Protego.parse(cut(text).removeprefix(_BYTE_ORDER_MARK))

    def allows(self, url: str, agent: str) -> bool:
        """Say whether this agent may fetch a URL. robots.txt itself always may be."""
        return self._rules.can_fetch(url, agent)

    def delay_seconds(self, agent: str) -> float:
        """Give the crawl-delay that is asked of this agent, clamped; 0 where none is."""
        asked = self._rules.crawl_delay(agent)
        return 0.0 if asked is None else min(max(asked, 0.0), MAX_CRAWL_DELAY_SECONDS)

    @property
    def sitemaps(self) -> tuple[str, ...]:
        """Sitemaps that are named, each once, in their order."""
        return tuple(dict.fromkeys(self._rules.sitemaps))


def cut(text: str) -> str:
    """Give as much of a text as is read, up to the last whole line within the limit."""
    if len(text) <= MAX_ROBOTS_BYTES // 4:  # no character takes more than four bytes
        return text
    content = text.encode("utf-8", "replace")
    if len(content) <= MAX_ROBOTS_BYTES:
        return text
    kept = content[:MAX_ROBOTS_BYTES]
    # Half a rule is another rule: `Disallow: /private` cut to `Disallow: /` would close the site.
    end = max(kept.rfind(b"\n"), kept.rfind(b"\r")) + 1
    return kept[:end].decode("utf-8", "ignore")


def product_token(user_agent: str) -> str:
    """Give the name by which robots.txt files know the sender of this User-Agent: what precedes the slash."""
    words = user_agent.split("/", 1)[0].split()
    return words[0] if words else ""
