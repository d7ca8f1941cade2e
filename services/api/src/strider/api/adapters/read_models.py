"""The read models in PostgreSQL."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from strider.api.core import InvalidFilterError, SqlQuery
from strider.messaging.errors import Unavailable
from strider.storage.errors import StoreRejected
from strider.storage.postgres import DEPENDENCY, Postgres

_NOT_OUR_TABLES: Final = frozenset({"42P01", "42703", "42501"})
"""No such table or column, or no right to it: the database must be migrated."""

_DATA_EXCEPTION: Final = "22"
"""Class of the codes for values that cannot be compared with a column: those of the client."""


class PostgresReadModels:
    """Reads rows."""

    def __init__(self, postgres: Postgres) -> None:
        self._postgres = postgres

    async def find(self, query: SqlQuery) -> Sequence[Mapping[str, Any]]:
        """Return the rows of a query."""
        return await self._run(query)

    async def delete(self, statement: SqlQuery) -> bool:
        """Delete a row; return whether there was one."""
        return bool(await self._run(statement))

    async def _run(self, query: SqlQuery) -> Sequence[Mapping[str, Any]]:
        try:
            return [dict(row) for row in await self._postgres.fetch(query.sql, *query.arguments)]
        except StoreRejected as refusal:
            if refusal.code in _NOT_OUR_TABLES:
                raise Unavailable(DEPENDENCY, f"{refusal.detail}; run: strider migrate up") from refusal
            if refusal.code.startswith(_DATA_EXCEPTION):
                raise InvalidFilterError(
                    "filter", f"the database refuses a value: {refusal.code}"
                ) from refusal
            raise
