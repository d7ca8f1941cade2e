"""Rules of one robots.txt: permission for URL and agent, crawl delay, sitemaps.

Takes the text; line, path and group parsing are in the sibling modules. Where the text comes from, and what
applies while there is none, is decided by `freshness`; nothing here waits or reads a clock.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from .matching import robots_path
from .rules import AgentRules, collect_rules
from .tokenizer import RobotsDirective, tokenize

MAX_ROBOTS_BYTES: Final = 500 * 1024
"""Maximum size that is read, the minimum of RFC 9309 §2.5; rules beyond it are ignored."""

MAX_CRAWL_DELAY_SECONDS: Final = 300.0
"""Maximum crawl delay that is obeyed; a longer one is a typing error, or the site could never be crawled."""

ROBOTS_PATH: Final = "/robots.txt"
"""Path that is never denied."""

_CACHED_AGENTS: Final = 4
"""Number of agents whose parsed rules are cached; nearly always there is one."""

_DELAY: Final = re.compile(r"crawl.?delay", re.IGNORECASE)
_COMPATIBLE: Final = re.compile(r"\s*Mozilla/.*[(;]\s*compatible;\s*([^\s/;,)]+)", re.IGNORECASE)
_BYTE_ORDER_MARK: Final = "\ufeff"


@dataclass(frozen=True, slots=True)
class RobotsVerdict:
    """Permission for a URL, and the rule that decided."""

    is_allowed: bool
    group: str = ""
    """Agent of the matching group: a name, `*`, or empty where no group matches."""
    rule: str = ""
    """The deciding line as written; empty where no rule matched, which allows."""
    line: int = 0
    """Number of the line, from 1; 0 where no rule matched."""


class RobotsTxt:
    """One robots.txt, parsed for an agent on first use; most texts are never parsed."""

    __slots__ = ("_by_agent", "_text")

    def __init__(self, text: str) -> None:
        self._text = truncate_robots(text).removeprefix(_BYTE_ORDER_MARK)
        self._by_agent: dict[str, AgentRules] = {}

    def allows(self, url: str, agent: str) -> bool:
        """Whether this agent may fetch a URL; robots.txt itself is always allowed."""
        return self.denial(url, agent) is None

    def denial(self, url: str, agent: str) -> RobotsVerdict | None:
        """Return the verdict with the rule that forbids a URL; None where it is allowed."""
        verdict = self.verdict(url, agent) if self._text else None
        return None if verdict is None or verdict.is_allowed else verdict

    def verdict(self, url: str, agent: str) -> RobotsVerdict:
        """Return whether this agent (a product token) may fetch a URL, and by which line."""
        rules, path = self._rules(agent), robots_path(url)
        rule = None if path.partition("?")[0] == ROBOTS_PATH else rules.deciding_rule(path)
        if rule is None:
            return RobotsVerdict(is_allowed=True, group=rules.group)
        return RobotsVerdict(rule.is_allowed, rules.group, rule.text, rule.line)

    def delay_seconds(self, agent: str) -> float:
        """Return the crawl delay for this agent, clamped; 0 where there is none."""
        return min(self.declared_delay_seconds(agent) or 0.0, MAX_CRAWL_DELAY_SECONDS)

    def declared_delay_seconds(self, agent: str) -> float | None:
        """Return the crawl delay as declared for this agent; None where there is none."""
        return None if _DELAY.search(self._text) is None else self._rules(agent).delay_seconds

    @property
    def sitemaps(self) -> tuple[str, ...]:
        """Sitemaps in their order, without repeats; they apply to all agents."""
        if "map" not in self._text.lower():
            return ()
        named = (line.value for line in tokenize(self._text) if line.directive is RobotsDirective.SITEMAP)
        return tuple(dict.fromkeys(value for value in named if value))

    def clear_cache(self) -> None:
        """Drop the parsed rules; they are parsed again on the next use."""
        self._by_agent.clear()

    def _rules(self, agent: str) -> AgentRules:
        rules = self._by_agent.get(agent)
        if rules is None:
            if len(self._by_agent) >= _CACHED_AGENTS:
                self._by_agent.clear()
            rules = self._by_agent[agent] = collect_rules(tokenize(self._text), agent)
        return rules


def truncate_robots(text: str, *, is_part: bool = False) -> str:
    """Return the text up to the last complete line within the size limit, or of a partial body."""
    if is_part:
        return text[: max(text.rfind("\n"), text.rfind("\r")) + 1]
    if len(text) <= MAX_ROBOTS_BYTES // 4:  # no character takes more than four bytes
        return text
    content = text.encode("utf-8", "replace")
    if len(content) <= MAX_ROBOTS_BYTES:
        return text
    kept = content[:MAX_ROBOTS_BYTES]
    # A truncated rule is a different rule: `Disallow: /private` cut to `Disallow: /` would close the site.
    end = max(kept.rfind(b"\n"), kept.rfind(b"\r")) + 1
    return kept[:end].decode("utf-8", "ignore")


def product_token(user_agent: str) -> str:
    """Return the name by which robots.txt files address the sender of this User-Agent.

    It is the text before the first slash; agents that begin like browsers name themselves after `compatible`.
    """
    named = _COMPATIBLE.match(user_agent)
    if named is not None:
        return named[1]
    words = user_agent.split("/", 1)[0].split()
    return words[0] if words else ""
