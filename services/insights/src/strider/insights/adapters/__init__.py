"""What insights waits for: Faust with its table, a watch over it, schemas, and the process's metrics."""

from .application import FaustApplication
from .changelog import ensure_changelog_topic
from .host_table import WRITE_INTERVAL_SECONDS, HostTable
from .metrics import SHOW_SECONDS, ProcessMeter, RetentionLossReporter
from .monitor import Watch, run_periodically
from .schema_lookup import Schemas

__all__ = [
    "SHOW_SECONDS",
    "WRITE_SECONDS",
    "FaustApplication",
    "HostTable",
    "Losses",
    "ProcessMeter",
    "Schemas",
    "Watch",
    "prepare_changelog",
    "run_periodically",
]
