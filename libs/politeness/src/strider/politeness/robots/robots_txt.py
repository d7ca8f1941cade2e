"""What does a robots.txt say about us?

Takes its text, answers for a URL and an agent: allowed or not and by which line, how long to wait,
where sitemaps are. How lines, paths and groups are read stands in the files beside this one. Where
the text comes from, and what holds while there is none, is `robots_state`'s; nothing here waits or
looks at a clock.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from .matching import robots_path
from .rules import AgentRules, collect_rules
from .tokenizer import RobotsDirective, tokenize

MAX_ROBOTS_BYTES: Final = 500 * 1024
"""What is read of a robots.txt, as RFC 9309 §2.5 asks for at least; rules behind it do not exist."""

MAX_CRAWL_DELAY_SECONDS: Final = 300.0
"""Longest crawl-delay that is obeyed: a day between two pages means a slip, or that a site is never done."""

ROBOTS_PATH: Final = "/robots.txt"
"""Never denied."""

_CACHED_AGENTS: Final = 4
"""Agents for which a text is kept parsed; nearly always there is one."""

_DELAY: Final = re.compile(r"crawl.?delay", re.IGNORECASE)
_COMPATIBLE: Final = re.compile(r"\s*Mozilla/.*[(;]\s*compatible;\s*([^\s/;,)]+)", re.IGNORECASE)
_BYTE_ORDER_MARK: Final = "\ufeff"


@dataclass(frozen=True, slots=True)
class RobotsVerdict:
    """Whether a URL may be fetched, and what says so."""

    is_allowed: bool
    group: str = ""
    """Whom the text speaks to in this: a name, `*`, or nobody at all."""
    rule: str = ""
    """The line that decided, as it stands there; empty where none did, which allows."""
    line: int = 0
    """Its number, from 1; 0 where none decided."""


class RobotsTxt:
    """The rules of one robots.txt: parsed for an agent when it first asks, and never for most texts."""

    __slots__ = ("_by_agent", "_text")

    def __init__(self, text: str) -> None:
        self._text = truncate_robots(text).removeprefix(_BYTE_ORDER_MARK)
        self._by_agent: dict[str, AgentRules] = {}

    def allows(self, url: str, agent: str) -> bool:
        """Say whether this agent may fetch a URL. robots.txt itself always may be."""
        return not self._text or self.verdict(url, agent).is_allowed

    def verdict(self, url: str, agent: str) -> RobotsVerdict:
        """Say whether this agent, known by its product token, may fetch a URL, and by which line."""
        rules, path = self._rules(agent), robots_path(url)
        rule = None if path.partition("?")[0] == ROBOTS_PATH else rules.deciding_rule(path)
        if rule is None:
            return RobotsVerdict(is_allowed=True, group=rules.group)
        return RobotsVerdict(rule.is_allowed, rules.group, rule.text, rule.line)

    def delay_seconds(self, agent: str) -> float:
        """Give the crawl-delay that is asked of this agent, clamped; 0 where none is."""
        return min(self.declared_delay_seconds(agent) or 0.0, MAX_CRAWL_DELAY_SECONDS)

    def declared_delay_seconds(self, agent: str) -> float | None:
        """Give the crawl-delay as it is asked for; None where none is."""
        return None if _DELAY.search(self._text) is None else self._rules(agent).delay_seconds

    @property
    def sitemaps(self) -> tuple[str, ...]:
        """Sitemaps that are named, each once, in their order; they are no agent's."""
        if "map" not in self._text.lower():
            return ()
        named = (line.value for line in tokenize(self._text) if line.directive is RobotsDirective.SITEMAP)
        return tuple(dict.fromkeys(value for value in named if value))

    def clear_cache(self) -> None:
        """Let go of what was parsed; it is parsed again when somebody asks."""
        self._by_agent.clear()

    def _rules(self, agent: str) -> AgentRules:
        rules = self._by_agent.get(agent)
        if rules is None:
            if len(self._by_agent) >= _CACHED_AGENTS:
                self._by_agent.clear()
            rules = self._by_agent[agent] = collect_rules(tokenize(self._text), agent)
        return rules


def truncate_robots(text: str, *, is_part: bool = False) -> str:
    """Give as much of a text as is read, up to the last whole line within the limit, or of a part."""
    if is_part:
        return text[: max(text.rfind("\n"), text.rfind("\r")) + 1]
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
    """Give the name by which robots.txt files know the sender of this User-Agent.

    That is what precedes the first slash; but who begins as browsers do names himself behind `compatible`.
    """
    named = _COMPATIBLE.match(user_agent)
    if named is not None:
        return named[1]
    words = user_agent.split("/", 1)[0].split()
    return words[0] if words else ""
