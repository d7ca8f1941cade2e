"""Access to the client library's internals, for what its public interface does not give.

Each function says which gap it closes. They hold for AIOKAFKA_VERSION; the contract suite runs through all of
them on a real broker, so that a release that moves something fails there.
"""

# ruff: noqa: SLF001  # reaching inside is what this file is for

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Awaitable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from aiokafka.consumer.fetcher import FetchError
from aiokafka.errors import KafkaConnectionError, NoOffsetForPartitionError, for_code
from aiokafka.protocol.commit import OffsetFetchRequest
from aiokafka.protocol.group import LeaveGroupRequest
from aiokafka.structs import OffsetAndMetadata

from strider.messaging import log_events
from strider.messaging.errors import InfrastructureError
from strider.messaging.log_events import logger
from strider.messaging.ports import TopicPartition

_log = logger(__name__)

_STOP_TIMEOUT_SECONDS: Final = 2.0
"""For tasks that were cancelled and connections that were closed: both end at once unless something hangs."""

_JOIN_TIMEOUT_SECONDS: Final = 3.0
"""Many times what leaving takes when nothing is pending, and well below any shutdown timeout."""

_CURRENT_SECONDS: Final = 5.0
"""Age of a response that still says how the log ends: ten long polls."""
_SENDER_ATTEMPTS: Final = 5
_CANCEL_ATTEMPTS: Final = 4


@dataclass(frozen=True, slots=True)
class PartitionProgress:
    """Progress of one partition, from fetch responses: it costs no request."""

    position: int | None
    """Next offset to be read; None before it is known."""
    end: int | None
    """Where the log (its committed part) ended in the last response; None before the first one."""
    last_response_seconds_ago: float | None
    """Age of the last response for this partition; it grows while the broker is silent or we are stuck."""
    is_held_by_transaction: bool = False
    """Whether all committed records were read, and an open transaction has records behind them."""


def generation_of(consumer: Any) -> int:
    """Return the generation of the membership; below zero where there is none."""
    return int(consumer._coordinator.generation)


def raise_group_errors(client: Any) -> None:
    """Raise the group's own error when its offsets are requested.

    The library, consumer and admin alike, looks at the errors of partitions only, while the broker names the
    group's own beside an empty list: just after a restart, each partition would seem to have no committed
    offset.
    """
    send = client._client.send

    async def send_and_check(node_id: Any, request: Any, **more: Any) -> Any:
        response = await send(node_id, request, **more)
        if isinstance(request, OffsetFetchRequest) and (code := getattr(response, "error_code", 0)):
            raise for_code(code)
        return response

    client._client.send = send_and_check


def forget_missing_offsets(consumer: Any) -> None:
    """Drop cached "no committed offset" errors, so that every partition is looked up again.

    The library keeps one such error a partition and returns one a call: of a dozen partitions the last would
    be reported long after the offsets were written.
    """
    kept = consumer._fetcher._records
    for partition in [name for name, held in kept.items() if _is_missing_offset(held)]:
        del kept[partition]


def _is_missing_offset(held: Any) -> bool:
    return isinstance(held, FetchError) and isinstance(held._error, NoOffsetForPartitionError)


def reset_fetch_context(consumer: Any) -> None:
    """End the fetch that a cancellation or an error cut short.

    The library counts fetches in a context without `finally`: after one exception it believes for ever that a
    poll is running, and never again finds the member idle beyond the poll interval.
    """
    subscription = consumer._subscription
    subscription._fetch_count = 0
    subscription._last_fetch_ended = time.monotonic()


async def commit_once(
    consumer: Any,
    offsets: Mapping[TopicPartition, int],
    *,
    generation: int,
    notes: Mapping[TopicPartition, str],
) -> bool:
    """Send one commit in the given generation; False, and nothing sent, when that one is over.

    The broker keeps the note of a partition beside its offset.

    The library's own `commit` retries under whatever generation it has by then: after a rebalance in between
    it would commit for a partition that another member owns, and the broker cannot tell.
    """
    coordinator = consumer._coordinator
    await coordinator.ensure_coordinator_known()
    async with coordinator._commit_lock:
        if coordinator.generation != generation:
            return False
        wanted = {
            partition: OffsetAndMetadata(offset, notes.get(partition, ""))
            for partition, offset in offsets.items()
        }
        await coordinator._do_commit_offsets(None, wanted)
        return True


async def committed_note(consumer: Any, partition: TopicPartition) -> str:
    """Return the note that was committed with a partition's offset; the library returns the offset alone."""
    found = await consumer._coordinator.fetch_committed_offsets([partition])
    return str(found[partition].metadata) if partition in found else ""


def check_alive(consumer: Any) -> None:
    """Raise when a vital task of the client has died: it would deliver nothing for ever."""
    fetching = consumer._fetcher._fetch_task
    joining = getattr(consumer._coordinator, "_coordination_task", None)
    following = consumer._client._sync_task
    parts = (
        (fetching, "fetching"),
        (joining, "keeping its membership"),
        (following, "refreshing cluster metadata"),
    )
    for task, does in parts:
        if task is not None and task.done() and not task.cancelled():
            raise InfrastructureError(f"the Kafka client has stopped {does}") from task.exception()


def assignment_of(consumer: Any) -> object:
    """Return the assignment object of the client; another object after each rebalance."""
    subscription = consumer._subscription.subscription
    return None if subscription is None else subscription.assignment


def progress_of(consumer: Any, partition: TopicPartition) -> PartitionProgress:
    """Return what the library knows of a partition, without a request."""
    assignment: Any = assignment_of(consumer)
    state = None if assignment is None else assignment.state_value(partition)
    if state is None:
        return PartitionProgress(None, None, None)
    position = state.position if state.has_valid_position else None
    stable = state.lso if state.lso is not None and state.lso >= 0 else state.highwater
    age = None if state.timestamp is None else max(0.0, time.time() - state.timestamp / 1000)
    is_current = age is not None and age < _CURRENT_SECONDS
    is_held = is_current and state.lso is not None and position == state.lso < state.highwater
    return PartitionProgress(position, stable, age, is_held)


async def start_producer(producer: Any, producer_id: int, producer_epoch: int) -> None:
    """Start a bootstrapped transactional producer with an epoch that we requested ourselves."""
    producer._txn_manager.set_pid_and_epoch(producer_id, producer_epoch)
    await producer._sender.start()


async def close_client(client: Any) -> None:
    """Close connections; a peer that reads no more does not hold us up."""
    fetching_metadata = client._sync_task
    await _close_within(client.close(), within_seconds=_STOP_TIMEOUT_SECONDS)
    if fetching_metadata is not None:
        await _cancel_tasks(
            [fetching_metadata]
        )  # a failing connect may have swallowed the first cancellation
    # A wait for metadata would now last for ever: the task that fetches it has ended.
    if client._md_update_fut is not None and not client._md_update_fut.done():
        client._md_update_fut.set_result(False)


async def close_consumer(consumer: Any, *, within_seconds: float) -> None:
    """Leave the group and close; drop everything when that takes too long.

    The library's `stop` waits for a join that is pending, which ends only when the session of a dead member
    does: so it gets a moment, and then the group is left without it.
    """
    stop_seconds = min(within_seconds, _JOIN_TIMEOUT_SECONDS)
    if await _close_within(consumer.stop(), within_seconds=stop_seconds):
        return
    coordinator, fetcher = consumer._coordinator, consumer._fetcher
    await _close_within(_leave_group(coordinator), within_seconds=within_seconds - stop_seconds)
    names = ("_coordination_task", "_heartbeat_task", "_commit_refresh_task", "_reset_committed_task")
    tasks = [getattr(coordinator, name, None) for name in names]
    if fetcher is not None:
        tasks += [fetcher._fetch_task, *fetcher._pending_tasks]
    await close_client(consumer._client)
    await _cancel_tasks([task for task in tasks if task is not None])


async def _leave_group(coordinator: Any) -> None:
    """Leave the group, so that the others need not wait for our session timeout."""
    if (
        coordinator is not None
        and coordinator._group_instance_id is None
        and (member := coordinator.member_id)
    ):
        await coordinator._send_req(LeaveGroupRequest(coordinator.group_id, member))


async def close_producer(producer: Any, *, within_seconds: float) -> None:
    """Flush and close; drop everything when that takes too long.

    The library's `stop` flushes first, and an idempotent batch never expires: with the broker away it would
    wait for ever.
    """
    if within_seconds > 0 and await _close_within(producer.stop(), within_seconds=within_seconds):
        return
    producer._closed = True
    accumulator, sender = producer._message_accumulator, producer._sender
    accumulator._closed = True
    if sender.sender_task is not None:
        sender.sender_task.cancel()
    for _ in range(_SENDER_ATTEMPTS):
        # It waits for its requests, and each of these may connect once more before it gives up.
        await close_client(producer.client)
        if sender.sender_task is None or (await asyncio.wait([sender.sender_task], timeout=0.2))[0]:
            break
    else:
        await _cancel_tasks([sender.sender_task])
    _fail_unsent(accumulator, producer._txn_manager)


def _fail_unsent(accumulator: Any, transactions: Any) -> None:
    """Fail what was never sent, and retrieve the failures, so that nothing waits and nothing is logged."""
    # A batch that waits for a retry is in neither of the library's two collections; its callback minds.
    for batches in accumulator._batches.values():
        accumulator._pending_batches.update(batches)
    accumulator._batches.clear()
    accumulator.fail_all(KafkaConnectionError("closed before this was acknowledged"))
    batches = list(accumulator._pending_batches)
    futures = [future for batch in batches for future in (batch.future, batch._drain_waiter)]
    if transactions is not None and transactions._transaction_waiter is not None:
        futures.append(transactions._transaction_waiter)
    for future in futures:
        if future.done() and not future.cancelled():
            future.exception()


async def _close_within(closing: Awaitable[None], *, within_seconds: float) -> bool:
    """Await the library's own closing; return whether it ended in time and without an error."""
    task = asyncio.ensure_future(closing)
    try:
        done, _ = await asyncio.wait([task], timeout=within_seconds)
    except asyncio.CancelledError:
        task.cancel()
        raise
    if not done:
        await _cancel_tasks([task])
        return False
    # The library's own closing may end as cancelled: it awaits tasks that it has cancelled itself.
    if task.cancelled():
        return False
    if (error := task.exception()) is not None:
        _log.emit(log_events.CLIENT_CLOSE_FAILED, reason=repr(error))
    return error is None


async def _cancel_tasks(tasks: list[asyncio.Future[Any]]) -> None:
    for _ in range(_CANCEL_ATTEMPTS):
        tasks_left = [task for task in tasks if not task.done()]
        if not tasks_left:
            break
        for task in tasks_left:
            task.cancel()
        await asyncio.wait(tasks_left, timeout=_STOP_TIMEOUT_SECONDS / _CANCEL_ATTEMPTS)
    for task in tasks:
        if task.done() and not task.cancelled():
            with contextlib.suppress(Exception):
                task.result()
