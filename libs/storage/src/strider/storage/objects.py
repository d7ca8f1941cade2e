"""Object store client: objects by content under the day they were stored, and by name.

    <day>/<first two of the hash>/<sha-256>        2026-11-18/3f/3f79bb…

The reference is that path and the store's URL is a setting, so that a store can move. Storing is
idempotent (same content, same day, same name), so a repeated put, or one whose reply was lost, does
no harm. Retention deletes by the day prefix; a caller that re-uses a reference past half of its life
stores the content again.

The library is called in threads of ours. Its own asynchronous calls set their result from a thread
that the interpreter does not know, and abort the process when that thread meets the interpreter's end
(seen in a third of the runs that ended right after a failed call).
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import Any, Final, TypeVar
from urllib.parse import unquote, urlsplit

import obstore
from obstore import exceptions
from obstore.store import LocalStore, MemoryStore, from_url

from strider.messaging.errors import StartRefused, Unavailable
from strider.messaging.ports import Clock
from strider.runtime.settings.base import ObjectStoreSettings

from .errors import ObjectChanged, ObjectCorrupt, ObjectMissing, ObjectTooLarge, StoreRejected

DEPENDENCY: Final = "objects"

DEFAULT_MAX_BYTES: Final = 64 * 1024 * 1024
"""Largest object that `get` reads into memory: more than a sitemap of 50 MB."""

THREADS: Final = 16
"""Concurrent calls. They wait for the store, not for the interpreter."""

T = TypeVar("T")

_REFERENCE: Final = re.compile(r"\d{4}-\d{2}-\d{2}/([0-9a-f]{2})/(\1[0-9a-f]{62})")

_DAY: Final = re.compile(r"(?:^|/)(\d{4}-\d{2}-\d{2})/?$")
_RETRY: Final[Any] = {
    "max_retries": 2,
    "retry_timeout": timedelta(seconds=10),
    "backoff": {"init_backoff": timedelta(milliseconds=100), "max_backoff": timedelta(seconds=1), "base": 2},
}
"""The library's default would retry for three minutes; ours takes over after seconds."""


@dataclass(frozen=True, slots=True)
class ObjectOptions:
    """Options of an object store."""

    url: str = field(repr=False)
    """file:///folder, s3://bucket/prefix, gs://bucket/prefix or memory:///; further S3 and GCS settings
    (AWS_ENDPOINT_URL, AWS_ACCESS_KEY_ID, GOOGLE_APPLICATION_CREDENTIALS …) come from the environment."""
    timeout_seconds: float = 10.0
    """Longest single request."""
    allow_http: bool = False
    """Unencrypted S3, for a store on this machine."""


class DeadLetterObjectStore:
    """Stores and reads objects; raises Unavailable or one of the object failures."""

    def __init__(self, store: Any, *, clock: Clock) -> None:
        self._store = store
        self._clock = clock
        self._threads = ThreadPoolExecutor(THREADS, thread_name_prefix="objects")

    async def put(self, content: bytes) -> str:
        """Store content durably and return its reference."""
        digest = sha256(content).hexdigest()
        reference = f"{self._clock.now():%Y-%m-%d}/{digest[:2]}/{digest}"
        try:
            # Overwriting is right: the content is the same, and half an object of a crash is repaired.
            await self._call(obstore.put, self._store, reference, content, use_multipart=False)
        except (exceptions.BaseError, OSError) as failure:
            raise _translate_error(failure) from failure
        return reference

    async def get(self, reference: str, *, max_bytes: int = DEFAULT_MAX_BYTES) -> bytes:
        """Return the content of a reference, checked against its hash."""
        match = _REFERENCE.fullmatch(reference)
        if match is None:
            raise ObjectMissing(f"invalid object reference: {reference[:120]!r}")
        try:
            content = await self._call(_read, self._store, reference, max_bytes=max_bytes)
        except (exceptions.NotFoundError, FileNotFoundError) as failure:
            raise ObjectMissing(f"no object {reference}") from failure
        except (exceptions.BaseError, OSError) as failure:
            raise _translate_error(failure) from failure
        if sha256(content).hexdigest() != match[2]:
            raise ObjectCorrupt(f"{reference} has other content than its hash says ({len(content)} bytes)")
        return content

    async def days(self) -> list[date]:
        """Return the days of which objects are stored, in order."""
        names = await self._listed(obstore.list_with_delimiter, None)
        found = {match[1] for name in names["common_prefixes"] if (match := _DAY.search(name))}
        return sorted(date.fromisoformat(name) for name in found)

    async def references_of(self, day: date) -> AsyncIterator[list[str]]:
        """Yield the references of a day, some at a time."""
        chunks = iter(await self._listed(obstore.list, f"{day:%Y-%m-%d}/"))
        while (chunk := await self._listed(_next_chunk, chunks)) is not None:
            yield [found["path"] for found in chunk if _REFERENCE.fullmatch(found["path"])]

    async def delete(self, references: Sequence[str]) -> None:
        """Delete objects; one that is missing is no failure."""
        for reference in references:
            try:
                await self._call(obstore.delete, self._store, reference)
            except (exceptions.NotFoundError, FileNotFoundError):
                continue
            except (exceptions.BaseError, OSError) as failure:
                raise _translate_error(failure) from failure

    async def put_named(self, name: str, content: bytes) -> None:
        """Store an object under a name, in place of an earlier one."""
        try:
            await self._call(obstore.put, self._store, name, content, use_multipart=False)
        except (exceptions.BaseError, OSError) as failure:
            raise _translate_error(failure) from failure

    async def get_named(self, name: str, *, max_bytes: int = DEFAULT_MAX_BYTES) -> bytes:
        """Return the object of a name; raises ObjectMissing where there is none."""
        try:
            return await self._call(_read, self._store, name, max_bytes=max_bytes)
        except (exceptions.NotFoundError, FileNotFoundError) as failure:
            raise ObjectMissing(f"no object {name}") from failure
        except (exceptions.BaseError, OSError) as failure:
            raise _translate_error(failure) from failure

    async def get_named_range(
        self, name: str, *, start: int, end: int, version: str = ""
    ) -> tuple[bytes, str]:
        """Return the bytes from `start` up to `end` of the object of a name, and its version.

        Raises ObjectMissing where there is none, and ObjectChanged where it has another version.
        """
        options: dict[str, Any] = {"range": (start, end)} | ({"if_match": version} if version else {})
        try:
            return await self._call(_read_range, self._store, name, options=options)
        except exceptions.PreconditionError as failure:
            raise ObjectChanged(f"{name} was replaced meanwhile") from failure
        except (exceptions.NotFoundError, FileNotFoundError) as failure:
            raise ObjectMissing(f"no object {name}") from failure
        except (exceptions.BaseError, OSError) as failure:
            raise _translate_error(failure) from failure

    async def delete_older(self, prefix: str, *, than: datetime) -> int:
        """Delete the objects below a prefix that were stored before a time; return how many."""
        deleted = 0
        chunks = iter(await self._listed(obstore.list, f"{prefix}/"))
        while (chunk := await self._listed(_next_chunk, chunks)) is not None:
            old = [found["path"] for found in chunk if found["last_modified"] < than]
            await self.delete(old)
            deleted += len(old)
        return deleted

    async def _listed(self, function: Callable[..., T], *args: Any) -> T:
        try:
            return await self._call(function, self._store, *args)
        except (exceptions.BaseError, OSError) as failure:
            raise _translate_error(failure) from failure

    async def ping(self) -> None:
        """Raise Unavailable when the store does not answer."""
        try:
            await self._call(obstore.head, self._store, "0000-00-00/00/ping")
        except (exceptions.NotFoundError, FileNotFoundError):
            return
        except (exceptions.BaseError, OSError) as failure:
            raise _translate_error(failure) from failure

    async def close(self) -> None:
        """Start no more calls; calls in flight end by their own timeouts."""
        self._threads.shutdown(wait=False, cancel_futures=True)

    async def _call(self, function: Callable[..., T], *args: Any, **more: Any) -> T:
        return await asyncio.get_running_loop().run_in_executor(
            self._threads, partial(function, *args, **more)
        )


def open_configured_objects(settings: ObjectStoreSettings, *, clock: Clock) -> DeadLetterObjectStore | None:
    """Open the store of the settings, which the process closes; None where no store is configured."""
    url = settings.url.get_secret_value()
    return open_object_store(ObjectOptions(url), clock=clock) if url else None


def open_object_store(options: ObjectOptions, *, clock: Clock) -> DeadLetterObjectStore:
    """Open the store of a URL; raises StartRefused for an invalid one."""
    address = urlsplit(options.url)
    if address.scheme == "file":
        return DeadLetterObjectStore(_open_local(address.netloc, unquote(address.path)), clock=clock)
    if address.scheme == "memory":
        return DeadLetterObjectStore(MemoryStore(), clock=clock)
    if address.scheme not in {"s3", "gs"} or not address.netloc:
        raise StartRefused(
            "OBJECT_STORE_URL must be file:///folder, s3://bucket/prefix or gs://bucket/prefix"
        )
    client: Any = {
        "timeout": timedelta(seconds=options.timeout_seconds),
        "connect_timeout": timedelta(seconds=min(3.0, options.timeout_seconds)),
        "allow_http": options.allow_http,
    }
    try:
        store = from_url(options.url, client_options=client, retry_config=_RETRY)
    except (exceptions.BaseError, ValueError) as failure:
        raise StartRefused(f"cannot use OBJECT_STORE_URL: {failure}") from failure
    return DeadLetterObjectStore(store, clock=clock)


def _open_local(host: str, path: str) -> LocalStore:
    if host not in {"", "localhost"} or not path.startswith("/"):
        raise StartRefused("OBJECT_STORE_URL: write a folder as file:///path/of/the/folder")
    try:
        Path(path).mkdir(parents=True, exist_ok=True)
        return LocalStore(path, automatic_cleanup=True)
    except (exceptions.BaseError, OSError) as failure:
        raise StartRefused(f"OBJECT_STORE_URL: cannot use {path}: {failure}") from failure


def _next_chunk(_store: Any, chunks: Iterator[Any]) -> Any:
    return next(chunks, None)


def _read(store: Any, reference: str, *, max_bytes: int) -> bytes:
    result = obstore.get(store, reference)
    if result.meta["size"] > max_bytes:
        raise ObjectTooLarge(f"{reference} has {result.meta['size']} bytes, the limit is {max_bytes}")
    return bytes(result.bytes())


def _read_range(store: Any, name: str, *, options: Any) -> tuple[bytes, str]:
    result = obstore.get(store, name, options=options)
    return bytes(result.bytes()), str(result.meta["e_tag"] or "")


def _translate_error(failure: Exception) -> Exception:
    # Denied access and odd replies need a person, not another message: they count as unavailability.
    if isinstance(failure, exceptions.InvalidPathError | exceptions.NotSupportedError):
        return StoreRejected(DEPENDENCY, type(failure).__name__, _first_line(failure))
    return Unavailable(DEPENDENCY, _first_line(failure))


def _first_line(failure: Exception) -> str:
    return str(failure).partition("\n")[0][:300] or type(failure).__name__
