"""The record of jobs in PostgreSQL: every method of the port `JobStore`.

The port describes them. Each is a transaction that is repeated from its beginning after a failure that
passes.
"""

from __future__ import annotations

from strider.jobs.ports import JobStore

from .balance import Balance
from .catalog import Catalog
from .claims import Claims
from .reports import Reports
from .source_states import SourceStates


class PostgresJobStore(Catalog, Claims, Reports, Balance, SourceStates, JobStore):
    """Jobs and executions in PostgreSQL."""
