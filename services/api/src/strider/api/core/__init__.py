"""What a request asks for, and what an answer looks like. Values in, values out."""

from .addresses import is_loopback, is_own_name
from .cursors import BadCursor, Cursor, read_cursor, write_cursor
from .filters import BadFilter, Filters, check_names, host_filter, key_filter, key_of_url
from .queries import DECISION_COLUMNS, PAGE_COLUMNS, Query, decisions_query, page_query, pages_query
from .seeds import Answer, BadBody, Sent, judge, read_body, refused
from .views import decision_view, page_view

__all__ = [
    "DECISION_COLUMNS",
    "PAGE_COLUMNS",
    "Answer",
    "BadBody",
    "BadCursor",
    "BadFilter",
    "Cursor",
    "Filters",
    "Query",
    "Sent",
    "check_names",
    "decision_view",
    "decisions_query",
    "host_filter",
    "is_loopback",
    "is_own_name",
    "judge",
    "key_filter",
    "key_of_url",
    "page_query",
    "page_view",
    "pages_query",
    "read_body",
    "read_cursor",
    "refused",
    "write_cursor",
]
