"""Errors of a store that answered.

    StoreFailure
    ├── StoreRejected      it refused a command (a constraint, a type, a script): a bug of ours
    ├── ObjectMissing      nothing is stored under this reference (any more)
    ├── ObjectCorrupt      the stored content is not what was put
    ├── ObjectChanged      another content has this name meanwhile
    ├── ObjectTooLarge     larger than the caller's limit
    └── MigrationFailed    the tables cannot be migrated; the message says why
        └── InvalidMigrationRequest   a revision, title or column that was named cannot be used

A store that does not answer is `strider.messaging.errors.Unavailable`. No error of a client library
leaves this package.
"""

from __future__ import annotations

from typing import Final

ESCAPE_HINT: Final = "in a password write / # ? @ : as %2F %23 %3F %40 %3A"
"""Usual cause of an invalid URL."""


class StoreFailure(Exception):
    """Root of the tree."""


class StoreRejected(StoreFailure):
    """The store refused a command; a retry would not help. `code` is the store's reason."""

    def __init__(self, part: str, code: str, detail: str) -> None:
        super().__init__(f"{part} refused ({code}): {detail}")
        self.part = part
        self.code = code
        self.detail = detail


class ObjectMissing(StoreFailure):
    """No object has this reference."""


class ObjectCorrupt(StoreFailure):
    """The content does not match the hash in its reference."""


class ObjectChanged(StoreFailure):
    """The object of a name is no longer the version that was asked for."""


class ObjectTooLarge(StoreFailure):
    """The object is larger than the caller's limit; none of it was kept in memory."""


class MigrationFailed(StoreFailure):
    """The schema stays where the last completed step left it."""


class InvalidMigrationRequest(MigrationFailed):
    """A revision, a title or a column that was named cannot be used; no database state changes that."""
