"""Which rules of a robots.txt speak to one agent, and which of them decides about a path?

The groups that name the agent count, all of them together; where none does, those for everybody
(RFC 9309, 2.2.1). Of the rules that mean a path the longest decides, and of equals the one that
allows. Costs no more than the length of the text to read, and for a path no more than its own length
and a bounded number of patterns. Decides nothing about waiting or about what holds without a text.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Final

from .matching import RobotsPattern, broadest_pattern, parse_pattern
from .tokenizer import RobotsDirective, RobotsLine

ANY_AGENT: Final = "*"

MAX_PATTERNS: Final = 2_000
"""Rules with wildcards that are read as such, for one agent: each may be tried on each URL. Of the others
only the strictest reading is taken, so that nothing denied is ever asked for."""

_TOKEN: Final = re.compile(r"[A-Za-z_-]*")
_NAME: Final = re.compile(r"[^\s/,;*]*")
_SECONDS: Final = re.compile(
    r"\+?([0-9]+(?:[.,][0-9]*)?(?:e[+-]?[0-9]{1,4})?|[.,][0-9]+)\s*(?:s|secs?|seconds?)?\.?", re.IGNORECASE
)
"""A number as people write it; of days and minutes nobody speaks."""
_INDEX_PAGE: Final = "/index.htm"


@dataclass(frozen=True, slots=True)
class RobotsRule:
    """One rule, and where it stands."""

    is_allowed: bool
    pattern: RobotsPattern
    line: int
    text: str

    @property
    def rank(self) -> tuple[int, bool]:
        """By which of two rules the one that decides is chosen."""
        return self.pattern.length, self.is_allowed


@dataclass(slots=True, eq=False)
class AgentRules:
    """What is said to one agent. Grows while the text is read."""

    group: str = ""
    """The name by which the agent is spoken to; empty where nobody speaks to it."""
    is_named: bool = False
    delay_seconds: float | None = None
    """The longest that is asked for."""
    _by_first: dict[str, dict[RobotsPattern, RobotsRule]] = field(default_factory=dict)
    _lengths: list[int] = field(default_factory=list)
    _patterns: int = 0

    def deciding_rule(self, path: str) -> RobotsRule | None:
        """Give the rule that decides about a path in the one spelling; None where none means it."""
        best: RobotsRule | None = None
        for length in self._lengths:
            if length > len(path):
                break
            for rule in self._by_first.get(path[:length], _NO_RULES).values():
                if (best is None or rule.rank > best.rank) and rule.pattern.matches(path):
                    best = rule
        return best

    def add_rule(self, line: RobotsLine) -> None:
        """Take in a rule; one without a path says nothing."""
        if not line.value:
            return
        rule = RobotsRule(
            line.directive is RobotsDirective.ALLOW, parse_pattern(line.value), line.number, line.text
        )
        self._keep(rule)
        if rule.is_allowed and (at := line.value.rfind("/")) >= 0 and line.value[at:].startswith(_INDEX_PAGE):
            # Who allows the page of a folder means the folder too, as Google reads it.
            self._keep(replace(rule, pattern=parse_pattern(line.value[: at + 1] + "$")))

    def add_delay(self, value: str) -> None:
        """Take in a delay; what is no length of time says nothing."""
        found = _SECONDS.fullmatch(value)
        if found is None:
            return
        seconds = float(found[1].replace(",", "."))
        if math.isfinite(seconds):
            self.delay_seconds = max(seconds, self.delay_seconds or 0.0)

    def finished(self) -> AgentRules:
        """Make ready to decide."""
        self._lengths = sorted({len(first) for first in self._by_first})
        return self

    def _keep(self, rule: RobotsRule) -> None:
        if rule.pattern.parts or rule.pattern.is_anchored:
            self._patterns += 1
            if self._patterns > MAX_PATTERNS:
                if rule.is_allowed:
                    return
                rule = replace(rule, pattern=broadest_pattern(rule.pattern))
        known = self._by_first.setdefault(rule.pattern.prefix, {})
        before = known.get(rule.pattern)
        if before is None or rule.rank > before.rank:
            known[rule.pattern] = rule


def collect_rules(lines: Iterable[RobotsLine], agent: str) -> AgentRules:
    """Gather what a text says to an agent, which is a product token."""
    name = agent.lower()
    ours, everybodys = AgentRules(), AgentRules(ANY_AGENT)
    group, waiting = _Group(), _Group()
    for line in lines:
        if line.directive is RobotsDirective.AGENT:
            spoken_to = _addressed_rules(line.value, name=name, ours=ours, everybodys=everybodys)
            group.join(spoken_to)
            waiting.join(spoken_to)
        elif line.directive is RobotsDirective.DELAY:
            # A delay ends no group of rules, but is for those alone who were named before it.
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
class _Group:
    """Who is spoken to by the lines that follow."""

    members: list[AgentRules] = field(default_factory=list)
    is_over: bool = False
    """Whether the next name begins another group."""

    def join(self, rules: AgentRules | None) -> None:
        """Take in a name, or none of ours."""
        if self.is_over:
            self.members, self.is_over = [], False
        if rules is not None and rules not in self.members:
            self.members.append(rules)


def _addressed_rules(value: str, *, name: str, ours: AgentRules, everybodys: AgentRules) -> AgentRules | None:
    """Find out whom a name means; what follows it (a version, a remark) does not matter."""
    if value[:1] == ANY_AGENT and not value[1:2].strip():
        everybodys.is_named = True
        return everybodys
    names = {found[0].lower() for found in (_TOKEN.match(value), _NAME.match(value)) if found is not None}
    if name not in names:
        return None
    ours.is_named, ours.group = True, ours.group or value
    return ours


_NO_RULES: Final[dict[RobotsPattern, RobotsRule]] = {}
