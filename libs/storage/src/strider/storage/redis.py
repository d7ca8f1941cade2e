"""Redis (or Valkey) client: bounded waits, translated errors, scripts by name.

Scripts share one connection (`redis_pipeline`), other commands use a pool. The library's own retries are off:
it would spend ten times the timeout on a server that does not answer. Ours (`REDIS_RETRY`) share the time of
one command; what they repeat may have run, so scripts and commands must be idempotent, or not mind. Then
callers pause, and continue by `strider.runtime.retry`. A command of the pool that is cancelled while its
reply is in transit closes its connection, so that the reply can never be taken for another command's; a
canary test holds the library to that.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from typing import Any, Final, TypeVar, cast
from urllib.parse import urlsplit

from strider.messaging.errors import StartRefused, Unavailable
from strider.politeness import REDIS_RETRY, RetryPolicy
from strider.runtime.clocks import SystemClock, SystemRandomness
from strider.runtime.lazy_imports import hidden_modules
from strider.runtime.retry import retry
from strider.runtime.settings.base import RedisSettings

from .errors import ESCAPE_HINT, StoreRejected
from .lua_files import LuaScript

# It would import the metrics of OpenTelemetry, a fourteenth of a service's start; ours are counted elsewhere.
with hidden_modules("opentelemetry"):
    from redis import exceptions
    from redis.asyncio import BlockingConnectionPool
    from redis.asyncio import Redis as Client
    from redis.asyncio.retry import Retry
    from redis.backoff import NoBackoff

    from .redis_pipeline import RedisPipeline

DEPENDENCY: Final = "redis"

T = TypeVar("T")

NO_EVICTION: Final = "noeviction"
"""The only policy of a full server that keeps existing keys."""

_CLOCK: Final = SystemClock()
_CHANCE: Final = SystemRandomness()

_SERVER_STATE_CODES: Final = (
    "BUSY", "CLUSTERDOWN", "LOADING", "MASTERDOWN", "MISCONF", "NOAUTH", "NOPERM", "NOREPLICAS", "OOM",
    "READONLY", "TRYAGAIN", "UNKILLABLE", "WRONGPASS",
)  # fmt: skip
"""First words of error replies about the server, not the command: they pass, or a person must act."""


_FUNCTION_NOT_FOUND: Final = "Function not found"


@dataclass(frozen=True, slots=True)
class RedisOptions:
    """Options of a server connection."""

    url: str = field(repr=False)
    """redis://, rediss:// (encrypted) or unix://, with user, password and database as usual."""
    timeout_seconds: float = 1.0
    """Longest wait for a connection, and for a reply."""
    max_connections: int = 32
    """A command waits for a free one, as long as for a reply."""
    health_check_seconds: int = 30
    """A connection idle for longer is checked before it is used."""
    ca_file: str = ""
    """Trusted authorities (PEM) with rediss://; the system's where empty."""


ScriptCall = tuple[Sequence[str], Sequence[str | bytes | int]]
"""Keys and arguments of a script."""


class Redis:
    """A pool of connections. Every error of the library is raised as Unavailable or StoreRejected."""

    def __init__(
        self,
        client: Client,
        pipeline: RedisPipeline | None = None,
        *,
        retry_policy: RetryPolicy = REDIS_RETRY,
    ) -> None:
        self._client = client
        self._retry_policy = retry_policy
        self._pipeline = pipeline
        """For scripts; without it they use the client, which knows the nodes of a cluster."""

    async def run(
        self, script: LuaScript, *, keys: Sequence[str], args: Sequence[str | bytes | int] = ()
    ) -> Any:
        """Run a script; load it first where the server does not know it (any more)."""
        return await self._retry(lambda: self._run_once(script, keys, args))

    async def _run_once(
        self, script: LuaScript, keys: Sequence[str], args: Sequence[str | bytes | int]
    ) -> Any:
        word, name = _command_of(script)
        async with translate_errors():
            try:
                return await self._execute(word, name, len(keys), *keys, *args)
            except exceptions.ResponseError as failure:
                if not _is_unknown_script(failure):
                    raise
            if not script.is_function:
                return await self._execute("EVAL", script.text, len(keys), *keys, *args)
            await self._client.function_load(script.text, replace=True)
            return await self._execute(word, name, len(keys), *keys, *args)

    async def _execute(self, *words: str | bytes | int) -> Any:
        if self._pipeline is None:
            return await self._client.execute_command(*words)  # type: ignore[no-untyped-call]  # the library's
        return await self._pipeline.execute(words)

    async def command(self, *words: str | bytes | float) -> Any:
        """Send one command, written as on the command line."""
        return await self._retry(lambda: self._command_once(*words))

    async def _command_once(self, *words: str | bytes | float) -> Any:
        async with translate_errors():
            return await self._client.execute_command(*words)  # type: ignore[no-untyped-call]  # the library's

    async def run_all(self, script: LuaScript, calls: Sequence[ScriptCall]) -> list[Any]:
        """Run a script several times: one connection, one write, one wait for all of them.

        A call with an error reply is repeated by itself: it must be idempotent.
        """
        if self._pipeline is None:  # in a cluster each node has its own calls
            return await asyncio.gather(*(self.run(script, keys=keys, args=args) for keys, args in calls))
        answers = await self._retry(lambda: self._run_all_once(script, calls))
        return [
            await self.run(script, keys=keys, args=args)
            if isinstance(answer, exceptions.ResponseError)
            else answer
            for answer, (keys, args) in zip(answers, calls, strict=True)
        ]

    async def _run_all_once(self, script: LuaScript, calls: Sequence[ScriptCall]) -> list[Any]:
        assert self._pipeline is not None
        word, name = _command_of(script)
        async with translate_errors():
            return await self._pipeline.execute_all(
                (word, name, len(keys), *keys, *args) for keys, args in calls
            )

    async def _retry(self, attempt: Callable[[], Awaitable[T]]) -> T:
        return await retry(self._retry_policy, attempt, clock=_CLOCK, chance=_CHANCE, dependency=DEPENDENCY)

    async def require_noeviction(self) -> None:
        """Raise StartRefused where the server evicts keys when its memory is full."""
        reply = await self.command("INFO", "memory")
        policy = str(reply.get("maxmemory_policy", NO_EVICTION))
        if policy != NO_EVICTION:
            raise StartRefused(
                f"the server at REDIS_URL has the maxmemory-policy {policy}, so it evicts keys when "
                f"its memory is full; set: CONFIG SET maxmemory-policy {NO_EVICTION}"
            )

    async def ping(self) -> None:
        """Raise Unavailable when the server does not answer; tried once, for readiness."""
        await self._command_once("PING")

    async def close(self) -> None:
        """Close all connections; commands under way fail."""
        if self._pipeline is not None:
            await self._pipeline.close()
        await self._client.aclose()


def redis_options(settings: RedisSettings, *, url: str = "", **more: Any) -> RedisOptions:
    """Return the options for the server of the settings, or for another URL with the same TLS."""
    return RedisOptions(url or settings.url.get_secret_value(), ca_file=settings.ca_file, **more)


def connect(options: RedisOptions) -> Redis:
    """Return a client; the first command opens the first connection. StartRefused for an invalid URL."""
    url = options.url
    if urlsplit(url).scheme not in {"redis", "rediss", "unix"}:
        raise StartRefused("REDIS_URL must begin with redis://, rediss:// or unix://")
    more: dict[str, Any] = {}
    if url.startswith("rediss://"):
        more = {"ssl_cert_reqs": "required", "ssl_check_hostname": True}
        if options.ca_file:
            more["ssl_ca_certs"] = options.ca_file
    try:
        pool = BlockingConnectionPool.from_url(
            url,
            timeout=options.timeout_seconds,
            socket_timeout=options.timeout_seconds,
            socket_connect_timeout=options.timeout_seconds,
            socket_keepalive=True,
            health_check_interval=options.health_check_seconds,
            max_connections=options.max_connections,
            retry=Retry(NoBackoff(), 0),
            client_name="strider",
            **more,
        )
    except ValueError:
        # The library's message quotes what it could not read, which may be a part of the password.
        raise StartRefused(f"REDIS_URL is not a valid URL ({ESCAPE_HINT})") from None
    line = RedisPipeline(
        lambda: pool.connection_class(**{**pool.connection_kwargs, "socket_timeout": None}),
        timeout_seconds=options.timeout_seconds,
        idle_seconds=options.health_check_seconds,
    )
    deadline_seconds = max(REDIS_RETRY.deadline_seconds, options.timeout_seconds)
    return Redis(
        Client.from_pool(pool), line, retry_policy=replace(REDIS_RETRY, deadline_seconds=deadline_seconds)
    )


def _command_of(script: LuaScript) -> tuple[str, str]:
    """Return the command that runs a script, and the name that the server knows it by."""
    return ("FCALL", script.name) if script.is_function else ("EVALSHA", script.sha)


@asynccontextmanager
async def translate_errors() -> AsyncIterator[None]:
    """Translate the library's errors into ours."""
    try:
        yield
    except (exceptions.AuthenticationError, exceptions.ConnectionError, exceptions.TimeoutError) as failure:
        raise Unavailable(DEPENDENCY, _message(failure)) from failure
    except exceptions.RedisError as failure:
        raise _translate_error(failure) from failure
    except (OSError, asyncio.IncompleteReadError) as failure:
        raise Unavailable(DEPENDENCY, _message(failure)) from failure


def _translate_error(failure: exceptions.RedisError) -> Exception:
    # The library strips the first word of replies that it has a class for, and keeps it in others.
    code = str(failure).split(" ", 1)[0]
    is_state = code in _SERVER_STATE_CODES or isinstance(
        failure,
        (
            exceptions.BusyLoadingError,
            exceptions.ClusterDownError,
            exceptions.MasterDownError,
            exceptions.NoPermissionError,
            exceptions.OutOfMemoryError,
            exceptions.ReadOnlyError,
            exceptions.TryAgainError,
        ),
    )
    if is_state:
        return Unavailable(DEPENDENCY, _message(failure))
    return StoreRejected(DEPENDENCY, cast("str", getattr(failure, "status_code", None)) or code, str(failure))


def _is_unknown_script(failure: exceptions.ResponseError) -> bool:
    return isinstance(failure, exceptions.NoScriptError) or _FUNCTION_NOT_FOUND in str(failure)


def _message(failure: BaseException) -> str:
    return str(failure) or type(failure).__name__
