"""What can go wrong on the way to a running stack, told in one line each.

    StackFailure
    ├── SetupFailure      something is missing that no retry brings (a wheel, a jar, disk, rights)
    ├── NotReady          a part does not answer yet, or does not answer any more; worth another try
    │   └── Refused       … and no try will change that, before a person does
    └── Busy              another command works on the same stack right now

The message of each is a whole sentence for a person: what is missing and how to get it.
"""

from __future__ import annotations

from typing import Final

CRAWL_HINT: Final = "`strider crawl` needs none of this"
"""The last words of every refusal: a user who only wants to crawl is not stuck."""


class StackFailure(Exception):  # the tree reads as what happened, as in strider.runtime
    """Root of the tree."""


class SetupFailure(StackFailure):
    """The stack cannot be started here until somebody does what `remedy` says."""

    def __init__(self, missing: str, *, remedy: str) -> None:
        super().__init__(f"{missing}; {remedy}. {CRAWL_HINT}.")
        self.missing = missing
        self.remedy = remedy


class StackNotReady(StackFailure):
    """The part of that name does not answer as it should."""

    def __init__(self, part: str, reason: str) -> None:
        super().__init__(f"{part} is not ready: {reason}")
        self.name = part
        self.reason = reason


class DeclarationConflict(StackNotReady):
    """What is there is not what is declared, and only a person can choose between them."""


class StackBusy(StackFailure):
    """A second command was started on the same stack while the first one is at work."""
