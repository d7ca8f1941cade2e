"""Rules of a robots.txt for one agent, and the rule that decides about a path.

All groups that name the agent apply together; where none does, the groups for `*` apply (RFC 9309, 2.2.1). Of
the matching rules the longest decides, and of equally long ones the allowing rule. Parsing costs no more than
the length of the text. The work of a decision is bounded: wildcard rules that are left when it is used up are
read in the strictest way, so that nothing denied is ever requested.
Decides nothing about delays between requests or about missing texts.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from operator import attrgetter
from typing import Final

from .matching import RobotsPattern, parse_pattern
from .tokenizer import RobotsDirective, RobotsLine

ANY_AGENT: Final = "*"

MAX_DECISION_WORK: Final = 200_000
"""Work of one decision, in characters of a path that are searched: one to three milliseconds.

500 wildcard rules for a path of 300 characters need less.
"""

_RULE_WORK: Final = 60
"""Work of trying a wildcard rule on any path."""
_PART_WORK: Final = 40
"""Work of each text between its stars."""
_LONG_PART: Final = 32
"""A text of this length may cost twice as much at each character of a path; of twice the length, thrice."""

_TOKEN: Final = re.compile(r"[A-Za-z_-]*")
_NAME: Final = re.compile(r"[^\s/,;*]*")
_SECONDS: Final = re.compile(
    r"\+?([0-9]+(?:[.,][0-9]*)?(?:e[+-]?[0-9]{1,4})?|[.,][0-9]+)\s*(?:s|secs?|seconds?)?\.?", re.IGNORECASE
)
"""A number of seconds as authors write it; minutes and days are not supported."""
_INDEX_PAGE: Final = "/index.htm"


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


@dataclass(frozen=True, slots=True)
class _RankedRule:
    """A rule with its rank, and with the work that its pattern costs at most."""

    rule: RobotsRule
    rank: tuple[int, bool]
    fixed_work: int
    """0 for a pattern that matches every path with its prefix."""
    work_per_character: int


@dataclass(slots=True, eq=False)
class AgentRules:
    """Rules for one agent, filled while the text is read."""

    group: str = ""
    """Name by which the agent is addressed; empty where no group addresses it."""
    is_named: bool = False
    delay_seconds: float | None = None
    """Maximum of the declared delays."""
    _by_first: dict[str, dict[RobotsPattern, RobotsRule]] = field(default_factory=dict)
    _ranked: dict[str, list[_RankedRule]] = field(default_factory=dict)
    """By prefix, best first."""
    _lengths: list[int] = field(default_factory=list)
    """Lengths of the prefixes, longest first: long rules decide."""

    def __iter__(self) -> Iterator[RobotsRule]:
        """Iterate over the rules, those of one path pattern once."""
        for rules in self._by_first.values():
            yield from rules.values()

    def deciding_rule(self, path: str) -> RobotsRule | None:
        """Return the rule that decides about a normalized path, or None where no rule matches."""
        best: _RankedRule | None = None
        work_left = MAX_DECISION_WORK
        for length in self._lengths:
            if length > len(path):
                continue
            for ranked in self._ranked.get(path[:length], ()):
                if best is not None and ranked.rank < best.rank:
                    break
                if ranked.fixed_work:
                    work_left -= ranked.fixed_work + ranked.work_per_character * (len(path) - length)
                    if not (ranked.rule.pattern.matches(path) if work_left >= 0 else not ranked.rank[1]):
                        continue
                best = ranked
                break
        return None if best is None else best.rule

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
        self._lengths = sorted({len(first) for first in self._by_first}, reverse=True)
        for first, rules in self._by_first.items():
            ranked = [_ranked(rule) for rule in rules.values()]
            self._ranked[first] = sorted(ranked, key=attrgetter("rank"), reverse=True)
        return self

    def _keep(self, rule: RobotsRule) -> None:
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


def _ranked(rule: RobotsRule) -> _RankedRule:
    pattern = rule.pattern
    if not (pattern.parts or pattern.is_anchored):
        return _RankedRule(rule, rule.rank, fixed_work=0, work_per_character=0)
    longest = max(map(len, pattern.parts), default=0)
    return _RankedRule(
        rule,
        rule.rank,
        fixed_work=_RULE_WORK + _PART_WORK * len(pattern.parts),
        work_per_character=1 + longest // _LONG_PART if pattern.parts else 0,
    )


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
