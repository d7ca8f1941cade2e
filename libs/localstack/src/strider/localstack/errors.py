"""Errors on the way to a running stack, one line each.

    StackFailure
    ├── SetupFailure               something is missing that no retry brings (a wheel, a jar, disk, rights)
    ├── StackNotReady              a server does not answer yet, or any more; worth another try
    │   └── DeclarationConflict    ... which only a person can resolve
    └── StackBusy                  another command works on the same stack right now

Each message is a whole sentence for a person: what is missing and how to get it.
"""

from __future__ import annotations

from typing import Final

CRAWL_HINT: Final = "`strider crawl` needs none of this"
"""End of every setup failure: `strider crawl` works without servers."""


class StackFailure(Exception):  # named as what happened, as in strider.runtime
    """Root of the tree."""


class SetupFailure(StackFailure):
    """The stack cannot be started here until a person does what `remedy` says."""

    def __init__(self, missing: str, *, remedy: str) -> None:
        super().__init__(f"{missing}; {remedy}. {CRAWL_HINT}.")
        self.missing = missing
        self.remedy = remedy


class StackNotReady(StackFailure):
    """The server, step or process does not answer as it should."""

    def __init__(self, part: str, reason: str) -> None:
        super().__init__(f"{part} is not ready: {reason}")
        self.name = part
        self.reason = reason


class DeclarationConflict(StackNotReady):
    """Existing topics differ from their declaration, and only a person can choose."""


class StackBusy(StackFailure):
    """Another command works on the same stack."""
