"""Decisions of the API: parse a request, build a query, shape a response."""

from .addresses import is_loopback, is_own_name
from .filters import (
    KEY_PATTERN,
    MAX_CURSOR_CHARACTERS,
    InvalidCursorError,
    InvalidFilterError,
    ListCursor,
    ListFilters,
    check_names,
    host_filter,
    key_filter,
    read_cursor,
    text_filter,
    time_filter,
    url_to_key,
    write_cursor,
)
from .queries import DECISION_COLUMNS, SqlQuery, decisions_query, page_query, pages_query
from .seeds import BAD_SEED, InvalidBodyError, SeedDocument, SeedResult, read_body, refused, validate_seed
from .serializers import decision_view, page_view

__all__ = [
    "BAD_SEED",
    "DECISION_COLUMNS",
    "KEY_PATTERN",
    "MAX_CURSOR_CHARACTERS",
    "InvalidBodyError",
    "InvalidCursorError",
    "InvalidFilterError",
    "ListCursor",
    "ListFilters",
    "SeedDocument",
    "SeedResult",
    "SqlQuery",
    "check_names",
    "decision_view",
    "decisions_query",
    "host_filter",
    "is_loopback",
    "is_own_name",
    "key_filter",
    "page_query",
    "page_view",
    "pages_query",
    "read_body",
    "read_cursor",
    "refused",
    "text_filter",
    "time_filter",
    "url_to_key",
    "validate_seed",
    "write_cursor",
]
