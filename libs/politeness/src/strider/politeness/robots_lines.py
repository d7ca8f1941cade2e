"""Which lines of a robots.txt are worth parsing for one agent?

The parser keeps every rule once for each agent that a group names, and tries every pattern with a
wildcard on every URL. So a file of 500 KiB can ask for gigabytes and minutes. Here such a file is
rewritten into one that says the same to one agent and costs no more than its length. Decides nothing
about URLs; what a line means is the parser's to say, whose reading of fields is followed here.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

MAX_PATTERNS: Final = 2_000
"""Rules with wildcards that are read as such, of the groups that speak to an agent: each is tried on each
URL. From the others only their strictest reading is taken, so that nothing denied is ever asked for."""

_CHEAP_RULES: Final = 100_000
"""Kept rules (lines times agents) that do no harm: nearly all texts stay as they are."""

_NOBODY: Final = "\x01"
"""An agent that nobody is."""

_ANYBODY: Final = "*"
_AGENT: Final = frozenset({"user-agent", "useragent", "user agent"})
_SITEMAP: Final = frozenset({"sitemap", "sitemaps", "site-map"})
_SITE_WIDE: Final = _SITEMAP | {"host"}
_KNOWN: Final = _AGENT | _SITE_WIDE


def narrowed(text: str, agent: str) -> str:
    """Give a text that says the same to this agent, at a bounded cost."""
    if _is_cheap(text):
        return text
    named = [(line, *_directive(line)) for line in text.splitlines()]
    best = _best_name((value for _, field, value in named if field in _AGENT), agent.strip().lower())
    return "\n".join(_rewritten(named, best))


def sitemaps_of(text: str) -> tuple[str, ...]:
    """Name the sitemaps of a text, each once, in their order; they are no agent's."""
    found = (_directive(line) for line in text.splitlines() if "map" in line.lower())
    return tuple(dict.fromkeys(value for field, value in found if value and field in _SITEMAP))


def _is_cheap(text: str) -> bool:
    agents = text.lower().count("agent") + 1
    lines = text.count("\n") + text.count("\r") + 1
    return agents * lines <= _CHEAP_RULES and text.count("*") + text.count("$") <= MAX_PATTERNS


def _rewritten(named: list[tuple[str, str, str]], best: str) -> Iterator[str]:
    is_ours = is_ended = False
    patterns = 0
    for line, field, value in named:
        if field in _AGENT:
            name = _name_for(value, best)
            is_ours = name != _NOBODY or (is_ours and not is_ended)
            is_ended = False
            yield f"User-agent: {name}" if value else line
            continue
        if field and field not in _SITE_WIDE:
            is_ended = True
            if is_ours and ("*" in value or "$" in value):
                patterns += 1
                if patterns > MAX_PATTERNS:
                    yield _strictest(field, value)
                    continue
        yield line


def _directive(line: str) -> tuple[str, str]:
    """Part a line into field and value as the parser does; no field where it is none."""
    line = line.partition("#")[0].strip()
    field, colon, value = line.partition(":")
    name = field.strip().lower()
    if colon and (name in _KNOWN or not value or value[0].isspace()):
        return name, value.strip()
    words = line.split(maxsplit=2)
    for count in (1, 2):
        candidate = " ".join(words[:count]).lower()
        if candidate in _KNOWN:
            return candidate, " ".join(words[count:]).strip()
    return (name, value.strip()) if colon else _without_colon(line)


def _without_colon(line: str) -> tuple[str, str]:
    field, _, value = line.partition(" ")
    return field.lower(), value.strip()


def _best_name(values: Iterator[str], agent: str) -> str:
    """Choose the name that fits an agent best: the longest. Nobody where none does."""
    names = {name for value in values for name in _names(value) if _fits(name, agent)}
    return max(names, key=len, default=_NOBODY)


def _name_for(value: str, best: str) -> str:
    names = _names(value)
    if best in names:
        return best
    return _ANYBODY if _ANYBODY in names else _NOBODY


def _names(value: str) -> tuple[str, ...]:
    name = value.strip().lower()
    return (name,) if name == _ANYBODY else (name, name.replace(_ANYBODY, ""))


def _fits(name: str, agent: str) -> bool:
    """Say whether a name is an agent's: a part of it that begins a word."""
    at = agent.find(name) if name and name != _ANYBODY else -1
    while at != -1:
        if at == 0 or not (agent[at - 1].isalnum() or agent[at - 1] in "-_"):
            return True
        at = agent.find(name, at + 1)
    return False


def _strictest(field: str, value: str) -> str:
    """Read a rule with wildcards as what it denies at most; nothing where it allows."""
    if field.startswith("allow"):
        return ""
    prefix = value.partition("*")[0].partition("$")[0]
    return f"{field}: {prefix or '/'}"
