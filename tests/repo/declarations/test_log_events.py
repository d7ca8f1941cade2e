"""The page of log events has every declared event, under the member that declares it."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path

from tests.repo.rules import sentences
from tests.repo.rules.sources import load_tool

ROOT = Path(__file__).parents[3]

pages = load_tool("log_event_pages")


def test_the_page_finds_every_registry() -> None:
    declared = defaultdict(set)
    for place, name, _ in sentences.declared_log_events(ROOT):
        declared[Path(place).parts[1]].add(name)

    assert {member: set(events) for member, events in pages.registries().items()} == declared


def test_every_event_has_a_row_with_level_and_meaning_below_its_member() -> None:
    sections = {part.partition("\n")[0]: part for part in pages.render().split("\n## ")}

    for member, events in pages.registries().items():
        for event in events.values():
            assert f"| {event.text} | {event.level} | {event.meaning} |\n" in sections[member]
