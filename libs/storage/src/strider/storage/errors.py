"""What can be wrong with a store that did answer.

    StoreFailure
    ├── Rejected           it understood and refused (a constraint, a type, a script): a bug of ours
    ├── ObjectMissing      nothing is kept under this reference (any more)
    ├── ObjectCorrupt      what is kept is not what was put
    ├── ObjectTooLarge     more than the caller is ready to hold
    └── MigrationFailed    the tables cannot be brought to where they should be; the message says why

A store that does not answer is `strider.runtime.errors.Unavailable`. No error of a client library
leaves this package.
"""

from __future__ import annotations

from typing import Final

ESCAPE_HINT: Final = "in a password write / # ? @ : as %2F %23 %3F %40 %3A"
"""What is usually wrong with an address that cannot be read."""


class StoreFailure(Exception):
    """Root of the tree."""


class StoreRejected(StoreFailure):
    """The store refused what was asked; trying again would not help. `code` is its own word for why."""

    def __init__(self, part: str, code: str, detail: str) -> None:
        super().__init__(f"{part} refused ({code}): {detail}")
        self.part = part
        self.code = code
        self.detail = detail


class ObjectMissing(StoreFailure):
    """No object has this reference."""


class ObjectCorrupt(StoreFailure):
    """The content does not hash to its name."""


class ObjectTooLarge(StoreFailure):
    """The object is larger than the caller's limit; nothing of it was kept in memory."""


class MigrationFailed(StoreFailure):
    """The schema stayed where the last completed step left it."""
