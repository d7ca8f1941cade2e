"""I/O of insights: Faust with its table, a monitor, schema lookup and metrics."""

from .application import FaustApplication
from .consumer import SchemaLookup
from .host_table import WRITE_INTERVAL_SECONDS, HostTable, ensure_changelog_topic
from .metrics import GAUGE_INTERVAL_SECONDS, InsightsMetrics, RetentionLossReporter
from .monitor import FaustMonitor, run_periodically

__all__ = [
    "GAUGE_INTERVAL_SECONDS",
    "WRITE_INTERVAL_SECONDS",
    "FaustApplication",
    "FaustMonitor",
    "HostTable",
    "InsightsMetrics",
    "RetentionLossReporter",
    "SchemaLookup",
    "ensure_changelog_topic",
    "run_periodically",
]
