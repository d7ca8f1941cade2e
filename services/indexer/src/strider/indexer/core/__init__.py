"""What is stored of an event? Values in, rows out."""

from .column_values import moment_of
from .decisions import decision_id, decision_rows, noindex_row, rejection_of
from .failures import failure_of
from .frontier import dropped_host_row, dropped_url_row, host_row, url_row
from .pages import removal_row, row_of, touch_row
from .products import product_rows
from .row_models import (
    DecisionRow,
    DroppedHostRow,
    DroppedUrlRow,
    FailureRow,
    HostRow,
    PageRow,
    ProductRow,
    RemovalRow,
    RowChanges,
    TouchRow,
    UrlRow,
)
from .stored_text import is_text_in_object, parse_text_object, stored_text

__all__ = [
    "Changes",
    "DecisionRow",
    "DroppedHostRow",
    "DroppedUrlRow",
    "FailureRow",
    "HostRow",
    "PageRow",
    "ProductRow",
    "RemovalRow",
    "TouchRow",
    "UrlRow",
    "decision_id",
    "decisions_of",
    "dropped_host_of",
    "dropped_url_of",
    "failure_of",
    "host_row_of",
    "is_elsewhere",
    "moment_of",
    "noindex_decision",
    "product_rows_of",
    "rejection_of",
    "removal_of",
    "row_of",
    "stored_text",
    "text_of_object",
    "touch_of",
    "url_row_of",
]
