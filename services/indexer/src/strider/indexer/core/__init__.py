"""What is stored of an event? Values in, rows out."""

from .decisions import decision_id, decisions_of, noindex_decision, rejection_of
from .failures import failure_of
from .frontier import dropped_host_of, dropped_url_of, host_row_of, url_row_of
from .pages import removal_of, row_of, touch_of
from .places import moment_of
from .products import product_rows_of
from .rows import (
    Changes,
    DecisionRow,
    DroppedHostRow,
    DroppedUrlRow,
    FailureRow,
    HostRow,
    PageRow,
    ProductRow,
    RemovalRow,
    TouchRow,
    UrlRow,
)
from .texts import is_elsewhere, stored_text, text_of_object

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
