"""Excerpt of a long robots.txt: what is kept of it, never more permissive than the text.

A text of up to 16 KiB is kept as it is. Of a longer one the rules for our own agent and those for `*` are
kept, the longest crawl delay of each, and some sitemaps; other agents that it names are denied all. Rules
that do not fit are made stricter: allowing ones are dropped, then the patterns of denying ones are cut to a
common length, so that each matches at least what it matched before.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Final

from .matching import normalize_escapes
from .rules import ANY_AGENT, AgentRules, RobotsRule, collect_rules
from .tokenizer import RobotsDirective, RobotsLine, tokenize

MAX_EXCERPT_BYTES: Final = 16 * 1024
"""Longest robots.txt that is kept of an origin; ninety-nine of a hundred sites have a shorter one."""

MAX_SITEMAP_BYTES: Final = 1_500
MAX_NAMES_BYTES: Final = 2_000
"""Names of other agents; where a text has more, every agent but ours is denied all."""

_FIXED_BYTES: Final = 700
"""Room for the lines between the rules, with the name of our agent."""

_NO_AGENT: Final = " "
"""Agent that no text can name."""

_DENY_ALL: Final = "Disallow: /"
_ESCAPE_CUT: Final = re.compile(r"%[0-9A-F]?$")


def excerpt_robots(text: str, agent: str) -> str:
    """Return what is kept of a robots.txt for this agent, a product token: at most 16 KiB."""
    if _byte_count(text) <= MAX_EXCERPT_BYTES:
        return text
    lines = list(tokenize(text))
    own = collect_rules(lines, agent)
    has_own = own.group not in {"", ANY_AGENT}
    others = collect_rules(lines, _NO_AGENT) if has_own else own
    sitemaps = _fitting(_values(lines, RobotsDirective.SITEMAP), "Sitemap: ", MAX_SITEMAP_BYTES)
    named = _values(lines, RobotsDirective.AGENT)
    names = [f"User-agent: {name}" for name in named if name[:1] != ANY_AGENT]
    has_all_names = _byte_count("\n".join(names)) <= MAX_NAMES_BYTES
    max_bytes = MAX_EXCERPT_BYTES - MAX_SITEMAP_BYTES - MAX_NAMES_BYTES - _FIXED_BYTES
    kept = [f"# Excerpt of {_byte_count(text)} bytes; rules that do not fit are stricter here."]
    if has_own:
        max_bytes //= 2
    if has_own or not has_all_names:
        kept += _group(agent, own, max_bytes)
    kept += _group(ANY_AGENT, others, max_bytes) if has_all_names else [f"User-agent: {ANY_AGENT}", _DENY_ALL]
    if has_all_names and (rest := [each for each in names if not _addresses(each, agent)]):
        kept += [*rest, _DENY_ALL]
    return "\n".join([*kept, *sitemaps, ""])


def _group(name: str, rules: AgentRules, max_bytes: int) -> list[str]:
    if not rules.is_named and name == ANY_AGENT:
        return []
    delay = [] if rules.delay_seconds is None else [f"Crawl-delay: {rules.delay_seconds!r}"]
    # A group without rules needs one: the names before and after it would be one group.
    return [f"User-agent: {name}", *delay, *(_fit_rules(list(rules), max_bytes) or ["Disallow:"])]


def _fit_rules(rules: Sequence[RobotsRule], max_bytes: int) -> list[str]:
    """Return the lines of rules, or where they do not fit, of stricter ones."""
    lines = list(
        dict.fromkeys(
            f"{'Allow' if rule.is_allowed else 'Disallow'}: {normalize_escapes(rule.path)}" for rule in rules
        )
    )
    if _line_bytes(lines) <= max_bytes:
        return lines
    # Sorted once: cut to one length, they stay in order but for a few.
    denied = sorted(
        _with_literal_dollars(normalize_escapes(rule.path)) for rule in rules if not rule.is_allowed
    )
    low, high = 1, max(map(len, denied), default=1)
    while low < high:  # the greatest length at which they fit; at length 1 all of them are one
        middle = (low + high + 1) // 2
        low, high = (
            (middle, high) if _line_bytes(_denials(denied, middle)) <= max_bytes else (low, middle - 1)
        )
    return _denials(denied, low)


def _denials(patterns: Iterable[str], length: int) -> list[str]:
    """Return denying lines whose patterns are cut to a length; one that another covers is left out."""
    kept: list[str] = []
    last = ""
    for pattern in sorted(dict.fromkeys(_cut(each, length) for each in patterns)):
        if last and pattern.startswith(last):
            continue
        kept.append(f"Disallow: {pattern}")
        if not ("*" in pattern or pattern.endswith("$")):
            last = pattern
    return kept


def _cut(pattern: str, length: int) -> str:
    """Cut a pattern so that it matches at least as much."""
    if len(pattern) <= length:
        return pattern
    return _ESCAPE_CUT.sub("", pattern[:length]) or "/"


def _with_literal_dollars(pattern: str) -> str:
    """Escape the dollars that do not end a pattern: cut behind one, it would end there."""
    return pattern[:-1].replace("$", "%24") + pattern[-1:]


def _addresses(line: str, agent: str) -> bool:
    """Whether a line with a name begins a group of this agent."""
    return bool(collect_rules(tokenize(line), agent).group)


def _values(lines: Iterable[RobotsLine], directive: RobotsDirective) -> list[str]:
    return list(dict.fromkeys(line.value for line in lines if line.directive is directive and line.value))


def _fitting(values: Iterable[str], name: str, bytes_left: int) -> list[str]:
    """Return the first lines that fit."""
    kept: list[str] = []
    for value in values:
        bytes_left -= _byte_count(name + value) + 1
        if bytes_left < 0:
            break
        kept.append(name + value)
    return kept


def _line_bytes(lines: Iterable[str]) -> int:
    return sum(_byte_count(line) + 1 for line in lines)


def _byte_count(text: str) -> int:
    return len(text.encode("utf-8", "replace"))
