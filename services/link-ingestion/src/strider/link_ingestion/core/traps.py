"""Suspect URL templates whose pages bring little new text: calendars, filters, session ids.

    page of a template   ──▶ had it new text?  kept for the last pages of the template
    of the last 50 pages at most two had new text   ──▶ the template is closed: new links to it are refused
    every fourth page has new text again            ──▶ it is open again

For templates with dates, ids or parameters, new text is text in lines that the host's pages of this run had
not before, digits apart: a calendar of empty months has none, and the same list in another order has none
either. Other templates (`/item/{n}`) are closed only where five times as many pages have a text that is not
new as a whole. Nothing here is read for each link, unless a template of its host is closed.

A page counts where its link was found on its own site. Seeds, and links of other sites, are no sign of what
the site links to: else a producer that seeds sixty paths of an honest site that do not exist closes their
template for all others in the same run.

The state is bounded and is not kept: after a restart or a rebalance a trap costs the same number of pages
once more. Knows nothing of the frontier.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final
from zlib import crc32

from strider.contracts.generated.events import PageParsed
from strider.urls import domain_of, host_of
from strider.urls.templates import url_template

DEFAULT_TRAP_PAGES: Final = 50
"""Pages of a template after which it may be closed."""
ORDINARY_FACTOR: Final = 5
"""Times as many pages that are needed of other templates, and of all parameters of a path together."""
CLOSING_DIVISOR: Final = 25
"""A template is closed where at most one of so many pages has new text."""
OPENING_DIVISOR: Final = 4
"""A closed template opens where more than one of so many pages has new text."""
MIN_NEW_SHARE: Final = 0.25
"""Share of a page's characters that must be new."""
MIN_NEW_CHARS: Final = 80
"""So many new characters are new text, whatever their share: menus may be most of an honest page."""

MAX_HOSTS: Final = 2_000
"""Hosts of runs that are watched: at most 50 MB."""
MAX_TEMPLATES: Final = 64
"""Templates of one host that are watched."""
MAX_TEXT_CHARS: Final = 32 * 1024
"""Characters of a page that are compared."""
_SLOTS: Final = 4_096
"""Lines that are remembered of a host; a new one overwrites an old one."""
_CODE_BYTES: Final = 4
_DIGITS: Final = str.maketrans("", "", "0123456789")

RunHost = tuple[str, str]
"""A run, and a host."""

Closed = Mapping[str, frozenset[str]]
"""Closed templates of one run by host."""


@dataclass(slots=True)
class _TemplateHistory:
    """Of the last pages of a template, which ones had new text: a bit each."""

    window: int
    """Number of pages that decide."""
    pages: int = 0
    new_bits: int = 0
    is_closed: bool = False

    def add(self, *, is_new: bool) -> bool:
        """Add a page; return whether this closed or opened the template."""
        self.pages += 1
        self.new_bits = (self.new_bits << 1 | is_new) & ((1 << self.window) - 1)
        new = self.new_bits.bit_count()
        was_closed = self.is_closed
        if was_closed:
            self.is_closed = new <= self.window // OPENING_DIVISOR
        else:
            self.is_closed = self.pages >= self.window and new <= self.window // CLOSING_DIVISOR
        return self.is_closed != was_closed


@dataclass(slots=True)
class _HostHistory:
    """Lines and templates of one host in one run."""

    lines: bytearray = field(default_factory=lambda: bytearray(_CODE_BYTES * _SLOTS))
    templates: OrderedDict[str, _TemplateHistory] = field(default_factory=OrderedDict)

    def remember(self, text: bytes) -> bool:
        """Remember a text; return whether it is new."""
        code = crc32(text) or 1
        at, written = code % _SLOTS * _CODE_BYTES, code.to_bytes(_CODE_BYTES)
        if self.lines[at : at + _CODE_BYTES] == written:
            return False
        self.lines[at : at + _CODE_BYTES] = written
        return True

    def template(self, name: str, window: int) -> _TemplateHistory:
        """Return the history of a template, the oldest one giving way to a new one."""
        found = self.templates.get(name)
        if found is None:
            if len(self.templates) >= MAX_TEMPLATES:
                self.templates.popitem(last=False)
            found = self.templates[name] = _TemplateHistory(window)
        self.templates.move_to_end(name)
        return found


class TrapDetector:
    """Watches the pages of runs, and closes templates that bring nothing new."""

    def __init__(self, trap_pages: int = DEFAULT_TRAP_PAGES) -> None:
        self._trap_pages = trap_pages
        self._hosts: OrderedDict[RunHost, _HostHistory] = OrderedDict()
        self._closed: dict[str, Closed] = {}

    def closed_templates(self, execution_id: str) -> Closed:
        """Return the closed templates of a run by host; the mapping does not change later."""
        return self._closed.get(execution_id, {})

    def observe(self, page: PageParsed) -> list[str]:
        """Add a page that is content; return the templates that it closed."""
        if not self._trap_pages or page.not_modified or not page.is_last_part:
            return []
        if not _was_found_on_its_site(page) or not (template := url_template(page.url)).is_variable:
            return []
        host = host_of(page.url)
        history = self._history(page.execution_id, host)
        is_new = has_new_lines(page, history) if template.is_made_up else _has_new_text(page, history)
        windows = {template.text: self._trap_pages * (1 if template.is_made_up else ORDINARY_FACTOR)}
        if template.wider:
            windows[template.wider] = self._trap_pages * ORDINARY_FACTOR
        changed = [
            name for name, window in windows.items() if history.template(name, window).add(is_new=is_new)
        ]
        if changed:
            self._update_closed(page.execution_id, host, history)
        return [name for name in changed if history.templates[name].is_closed]

    def _history(self, execution_id: str, host: str) -> _HostHistory:
        name = execution_id, host
        history = self._hosts.get(name)
        if history is None:
            if len(self._hosts) >= MAX_HOSTS:
                (run, old_host), _ = self._hosts.popitem(last=False)
                self._update_closed(run, old_host, _HostHistory())
            history = self._hosts[name] = _HostHistory()
        self._hosts.move_to_end(name)
        return history

    def _update_closed(self, execution_id: str, host: str, history: _HostHistory) -> None:
        closed = frozenset(name for name, each in history.templates.items() if each.is_closed)
        others = {name: each for name, each in self.closed_templates(execution_id).items() if name != host}
        if closed:
            others[host] = closed
        if others:
            self._closed[execution_id] = others
        else:
            self._closed.pop(execution_id, None)


def closed_template(url: str, closed: frozenset[str]) -> str:
    """Return the closed template that a URL has; empty for none."""
    template = url_template(url)
    return next((name for name in (template.text, template.wider) if name in closed), "")


def _was_found_on_its_site(page: PageParsed) -> bool:
    """Whether a link of the same domain led to a page; a redirect has the origin of its first URL."""
    found_on = page.referrer or next(iter(page.redirect_chain), "")
    if not page.depth or not found_on:
        return False
    return host_of(found_on) == host_of(page.url) or domain_of(found_on) == domain_of(page.url)


def has_new_lines(page: PageParsed, history: _HostHistory) -> bool:
    """Remember the lines of a page, and return whether enough of them are new."""
    if not page.text:
        return _has_new_text(page, history)
    new = total = 0
    for line in set(page.text[:MAX_TEXT_CHARS].translate(_DIGITS).split("\n")):
        size = len(line)
        total += size
        if history.remember(line.encode("utf-8", "surrogatepass")):
            new += size
    return new >= MIN_NEW_CHARS or new > total * MIN_NEW_SHARE


def _has_new_text(page: PageParsed, history: _HostHistory) -> bool:
    return history.remember((page.text_hash or page.raw_hash).encode())
