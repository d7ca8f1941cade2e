"""Rules of a robots.txt for one agent, and the rule that decides about a path.

All groups that name the agent apply together; where none does, the groups for `*` apply (RFC 9309, 2.2.1). Of
the matching rules the longest decides, and of equally long ones the allowing rule. Parsing costs no more than
the length of the text; a decision costs no more than the length of the path and a bounded number of patterns.
Decides nothing about delays between requests or about missing texts.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import Final

from .matching import RobotsPattern, broadest_pattern, parse_pattern
from .tokenizer import RobotsDirective, RobotsLine

ANY_AGENT: Final = "*"

MAX_WILDCARD_RULES: Final = 2_000
"""Maximum number of wildcard rules for one agent, since each may be tried on each URL. Of further ones only
the strictest reading is used, so that nothing denied is ever requested.
"""

_TOKEN: Final = re.compile(r"[A-Za-z_-]*")
_NAME: Final = re.compile(r"[^\s/,;*]*")
_SECONDS: Final = re.compile(
    r"\+?([0-9]+(?:[.,][0-9]*)?(?:e[+-]?[0-9]{1,4})?|[.,][0-9]+)\s*(?:s|secs?|seconds?)?\.?", re.IGNORECASE
)
"""A number of seconds as authors write it; minutes and days are not supported."""
_INDEX_PAGE: Final = "/index.htm"


_NO_RULES: Final[dict[RobotsPattern, RobotsRule]] = {}


@dataclass(frozen=True, slots=True)
class RobotsRule:
    """One rule with its line."""

    is_allowed: bool
    pattern: RobotsPattern
    line: int
    text: str
    path: str = ""
    """Path pattern as written."""

    @property
    def rank(self) -> tuple[int, bool]:
        """Order by which the deciding rule is chosen."""
        return self.pattern.length, self.is_allowed


@dataclass(slots=True, eq=False)
class AgentRules:
    """Rules for one agent, filled while the text is read."""

    group: str = ""
    """Name by which the agent is addressed; empty where no group addresses it."""
    is_named: bool = False
    delay_seconds: float | None = None
    """Maximum of the declared delays."""
    _by_first: dict[str, dict[RobotsPattern, RobotsRule]] = field(default_factory=dict)
    _lengths: list[int] = field(default_factory=list)
    _patterns: int = 0

    def __iter__(self) -> Iterator[RobotsRule]:
        """Iterate over the rules, those of one path pattern once."""
        for rules in self._by_first.values():
            yield from rules.values()

    def deciding_rule(self, path: str) -> RobotsRule | None:
        """Return the rule that decides about a normalized path, or None where no rule matches."""
        best: RobotsRule | None = None
        for length in self._lengths:
            if length > len(path):
                break
            for rule in self._by_first.get(path[:length], _NO_RULES).values():
                if (best is None or rule.rank > best.rank) and rule.pattern.matches(path):
                    best = rule
        return best

    def add_rule(self, line: RobotsLine) -> None:
        """Add a rule; a rule without a path has no effect."""
        if not line.value:
            return
        rule = RobotsRule(
            line.directive is RobotsDirective.ALLOW,
            parse_pattern(line.value),
            line.number,
            line.text,
            line.value,
        )
        self._keep(rule)
        if rule.is_allowed and (at := line.value.rfind("/")) >= 0 and line.value[at:].startswith(_INDEX_PAGE):
            # A rule that allows the index page of a folder allows the folder too, as Google reads it.
            self._keep(replace(rule, pattern=parse_pattern(line.value[: at + 1] + "$")))

    def add_delay(self, value: str) -> None:
        """Add a delay; a value that is not a number of seconds has no effect."""
        found = _SECONDS.fullmatch(value)
        if found is None:
            return
        seconds = float(found[1].replace(",", "."))
        if math.isfinite(seconds):
            self.delay_seconds = max(seconds, self.delay_seconds or 0.0)

    def finished(self) -> AgentRules:
        """Prepare for decisions and return itself."""
        self._lengths = sorted({len(first) for first in self._by_first})
        return self

    def _keep(self, rule: RobotsRule) -> None:
        if rule.pattern.parts or rule.pattern.is_anchored:
            self._patterns += 1
            if self._patterns > MAX_WILDCARD_RULES:
                if rule.is_allowed:
                    return
                rule = replace(rule, pattern=broadest_pattern(rule.pattern))
        known = self._by_first.setdefault(rule.pattern.prefix, {})
        before = known.get(rule.pattern)
        if before is None or rule.rank > before.rank:
            known[rule.pattern] = rule


def collect_rules(lines: Iterable[RobotsLine], agent: str) -> AgentRules:
    """Collect the rules of a text for an agent, which is a product token."""
    name = agent.lower()
    ours, everybodys = AgentRules(), AgentRules(ANY_AGENT)
    group, waiting = _RobotsGroup(), _RobotsGroup()
    for line in lines:
        if line.directive is RobotsDirective.AGENT:
            addressed = _addressed_rules(line.value, name=name, ours=ours, everybodys=everybodys)
            group.add(addressed)
            waiting.add(addressed)
        elif line.directive is RobotsDirective.DELAY:
            # A delay does not end a group of rules, but applies only to agents that were named before it.
            waiting.is_over = True
            for rules in waiting.members:
                rules.add_delay(line.value)
        elif line.directive is not RobotsDirective.SITEMAP:
            group.is_over = waiting.is_over = True
            for rules in group.members:
                rules.add_rule(line)
    chosen = ours if ours.is_named else everybodys
    return chosen.finished() if chosen.is_named else AgentRules()


@dataclass(slots=True)
class _RobotsGroup:
    """Rules of the agents that the following lines address."""

    members: list[AgentRules] = field(default_factory=list)
    is_over: bool = False
    """Whether the next name begins another group."""

    def add(self, rules: AgentRules | None) -> None:
        """Add the rules of a named agent, or None for another agent."""
        if self.is_over:
            self.members, self.is_over = [], False
        if rules is not None and rules not in self.members:
            self.members.append(rules)


def _addressed_rules(value: str, *, name: str, ours: AgentRules, everybodys: AgentRules) -> AgentRules | None:
    """Return the rules that a name addresses; text after the name (a version, a remark) is ignored."""
    if value[:1] == ANY_AGENT and not value[1:2].strip():
        everybodys.is_named = True
        return everybodys
    names = {found[0].lower() for found in (_TOKEN.match(value), _NAME.match(value)) if found is not None}
    if name not in names:
        return None
    ours.is_named, ours.group = True, ours.group or value
    return ours
