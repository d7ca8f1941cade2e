"""What insights waits for: Faust with its table, a watch over it, schemas, and the process's metrics."""

from .application import Application
from .changelog import prepare_changelog
from .meter import SHOW_SECONDS, Losses, ProcessMeter
from .schemas import Schemas
from .tables import WRITE_SECONDS, HostTable
from .watch import Watch, repeat

__all__ = [
    "SHOW_SECONDS",
    "WRITE_SECONDS",
    "Application",
    "HostTable",
    "Losses",
    "ProcessMeter",
    "Schemas",
    "Watch",
    "prepare_changelog",
    "repeat",
]
