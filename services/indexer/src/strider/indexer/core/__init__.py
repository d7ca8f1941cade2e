"""Turn events into rows. Pure: values in, rows out."""

from strider.storage.rows.pages import PageRow
from strider.storage.rows.values import to_datetime

from .decisions import decision_id, decision_rows, noindex_row, rejection_row
from .failures import failure_row
from .frontier import dropped_host_row, dropped_url_row, host_row, url_row
from .pages import page_row, removal_row, touch_row
from .product_row import ProductRow
from .products import product_rows
from .row_models import (
    DecisionRow,
    DroppedHostRow,
    DroppedUrlRow,
    FailureRow,
    HostRow,
    RemovalRow,
    RowChanges,
    TouchRow,
    UrlRow,
)
from .stored_text import choose_stored_text, is_text_in_object, parse_text_object

__all__ = [
    "DecisionRow",
    "DroppedHostRow",
    "DroppedUrlRow",
    "FailureRow",
    "HostRow",
    "PageRow",
    "ProductRow",
    "RemovalRow",
    "RowChanges",
    "TouchRow",
    "UrlRow",
    "choose_stored_text",
    "decision_id",
    "decision_rows",
    "dropped_host_row",
    "dropped_url_row",
    "failure_row",
    "host_row",
    "is_text_in_object",
    "noindex_row",
    "page_row",
    "parse_text_object",
    "product_rows",
    "rejection_row",
    "removal_row",
    "to_datetime",
    "touch_row",
    "url_row",
]
