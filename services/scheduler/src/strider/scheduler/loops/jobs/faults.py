"""Failures that a loop of jobs survives: it logs them, and tries again later.

Unavailable, ShardFenced       a dependency is away, or a shard has another owner: all waits
StoreFailure, ContractError    a store or a schema refuses something: the execution that it concerns is left
                               for the next time (`log_refusal`), and the others continue
StartRefused                   a setting that a person must change: the process ends, and says so
anything else                  a bug: the process ends, and is started again
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Final

from strider.contracts import ContractError
from strider.messaging.errors import InfrastructureError, StartRefused
from strider.runtime.observability.logging import logger
from strider.scheduler import log_events
from strider.storage.errors import StoreFailure

REFUSALS: Final = (StoreFailure, ContractError)
"""Failures that one job or source may cause."""

_log = logger("scheduler")


async def repeatable(work: Callable[[], Awaitable[object]]) -> bool:
    """Do some work; return False, and log why, where it has to be repeated later."""
    try:
        await work()
    except StartRefused:
        raise
    except (InfrastructureError, *REFUSALS) as failure:
        _log.emit(log_events.JOBS_PAUSED, why=str(failure))
        return False
    return True


def log_refusal(failure: Exception, *, job_id: str, execution_id: str) -> None:
    """Log that one execution is left for later, and delays no other."""
    _log.emit(log_events.JOB_REFUSED, job=job_id, run=execution_id, why=str(failure))
