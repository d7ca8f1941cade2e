"""Services as real processes, which a test kills, freezes and looks at as an operator would.

What is known of them is what everybody can know: their log, their exit code, what their health port
answers. Only processes that were started here are ever signalled.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Any, Final

from strider.runtime.consumer.spec import ConsumerSettings

from .waiting import until

ECHO: Final = ("-m", "strider.echo")
TALLY: Final = ("-m", "strider.tally")
ADJUSTABLE_ECHO: Final = (str(Path(__file__).with_name("adjustable_echo.py")),)

SESSION_SECONDS: Final = 3.0
GRACE_SECONDS: Final = 10.0
ANSWER_SECONDS: Final = 20.0
"""Until a process that lives answers on its health port; on a machine that starts several others, too."""
COMMIT_SECONDS: Final = ConsumerSettings().commit_interval_seconds
"""The loop's own commit interval: what was answered longer ago than about this is not answered again."""

_OWN_PREFIXES: Final = (
    "STRIDER_",
    "KAFKA_",
    "ECHO_",
    "TALLY_",
    "FETCHER_",
    "CRAWLER_",
    "SCHEMA_REGISTRY_",
    "OTEL_",
    "STALL_",
    "REDIS_",
)


class Service:
    """One process, from its start to its end."""

    def __init__(self, name: str, process: subprocess.Popen[bytes], log: Path) -> None:
        self.name = name
        self._process = process
        self._log = log

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def exit_code(self) -> int | None:
        """What it ended with; None while it runs."""
        return self._process.poll()

    def events(self, name: str | None = None) -> list[dict[str, Any]]:
        """What it logged so far, or all of one kind."""
        whole_lines = self._log.read_text(encoding="utf-8").rpartition("\n")[0].splitlines()
        found = [json.loads(line) for line in whole_lines if line.startswith("{")]
        return [event for event in found if name in (None, event["event"])]

    def lines(self) -> list[str]:
        """Everything it wrote so far, other libraries' lines too."""
        return self._log.read_text(encoding="utf-8").splitlines()

    def last_words(self, lines: int = 12) -> str:
        return "\n".join([f"--- {self.name}", *self._log.read_text(encoding="utf-8").splitlines()[-lines:]])

    @property
    def partitions(self) -> int:
        """How many partitions it has, by what it said last."""
        told = [e for e in self.events() if e["event"] in {"Partitions assigned", "Partitions revoked"}]
        return told[-1]["partitions"] if told and told[-1]["event"] == "Partitions assigned" else 0

    async def until(self, condition: Callable[[], bool | Awaitable[bool]], *, what: str) -> float:
        """Wait for something that it does; that it ends instead is said at once."""

        def is_true() -> bool | Awaitable[bool]:
            assert self.exit_code is None, f"ended ({self.exit_code}) before: {what}\n{self.last_words()}"
            return condition()

        return await until(is_true, what=f"{self.name}: {what}", tell=self.last_words)

    async def until_logged(self, event: str) -> dict[str, Any]:
        """Wait for an event of its log; returns the latest."""
        await self.until(lambda: bool(self.events(event)), what=f"logs {event!r}")
        return self.events(event)[-1]

    async def until_ended(self, *, seconds: float = 60.0) -> int:
        await until(
            lambda: self.exit_code is not None,
            what=f"{self.name} ends",
            tell=self.last_words,
            seconds=seconds,
        )
        assert self.exit_code is not None
        return self.exit_code

    async def until_ready(self) -> float:
        return await self.until(self.is_ready, what="is ready")

    async def until_red(self, word: str) -> str:
        """Wait until it says that it is not ready, for a reason that names this word; returns the reason."""
        reasons: list[str] = []

        async def is_red() -> bool:
            try:
                status, report = await self.readiness()
            except OSError:
                return False  # too busy to say anything
            reasons[:] = [reason for reason in report["reasons"] if word in reason]
            return status == 503 and bool(reasons)

        await self.until(is_red, what=f"is not ready because of {word}")
        return reasons[0]

    async def readiness(self) -> tuple[int, dict[str, Any]]:
        """Ask `/readyz`: status and report."""
        status, body = await asyncio.to_thread(self._get, "/readyz")
        return status, json.loads(body)

    async def metric(self, name: str, **labels: str) -> float:
        """Ask `/metrics` for the sum of the series of that name with these labels."""
        _, body = await asyncio.to_thread(self._get, "/metrics")
        wanted = [f'{label}="{value}"' for label, value in labels.items()]
        lines = [line for line in body.decode().splitlines() if line.split("{")[0].split(" ")[0] == name]
        return sum(float(line.rpartition(" ")[2]) for line in lines if all(each in line for each in wanted))

    def kill(self) -> None:
        """SIGKILL, and wait until the system has it gone."""
        self._process.kill()
        self._process.wait()

    def freeze(self) -> None:
        self._process.send_signal(signal.SIGSTOP)

    def thaw(self) -> None:
        self._process.send_signal(signal.SIGCONT)

    def ask_to_stop(self) -> None:
        self._process.send_signal(signal.SIGTERM)

    def close(self) -> None:
        """End it whatever state it is in; in order where it can, so that its group need not wait for it."""
        if self.exit_code is None:
            self.thaw()
            self.ask_to_stop()
            try:
                self._process.wait(GRACE_SECONDS + 10)
            except subprocess.TimeoutExpired:
                self.kill()

    async def is_ready(self) -> bool:
        """Whether it listens, and says that it is ready; who is too busy to answer is not."""
        try:
            return bool(self.events("Health server started")) and (await self.readiness())[0] == 200
        except OSError:
            return False

    def _get(self, path: str) -> tuple[int, bytes]:
        url = self.events("Health server started")[-1]["url"] + path
        try:
            with urllib.request.urlopen(url, timeout=ANSWER_SECONDS) as answer:
                return answer.status, answer.read()
        except urllib.error.HTTPError as refusal:
            with refusal:
                return refusal.code, refusal.read()


def peak_mib(service: Service) -> int:
    """Return the peak of the resident memory of a service."""
    lines = Path(f"/proc/{service.pid}/status").read_text(encoding="ascii").splitlines()
    return next(int(line.split()[1]) // 1024 for line in lines if line.startswith("VmHWM"))


class Yard:
    """Starts services against one broker, and ends all of them."""

    def __init__(self, bootstrap: str, directory: Path, *, shards: int) -> None:
        self._directory = directory
        self._environment = {
            **{k: v for k, v in os.environ.items() if not k.startswith(_OWN_PREFIXES)},
            "KAFKA_BOOTSTRAP_SERVERS": bootstrap,
            "KAFKA_SESSION_TIMEOUT": f"{SESSION_SECONDS:g}",
            "STRIDER_SHARDS": str(shards),
            "STRIDER_GRACE": f"{GRACE_SECONDS:g}",
        }
        self.started: list[Service] = []

    def start(self, program: tuple[str, ...], settings: Mapping[str, str] | None = None) -> Service:
        """Start a program with these further variables; returns at once."""
        stem = Path(program[-1]).name.removeprefix("strider.").removesuffix(".py")
        name = f"{stem}-{len(self.started)}"
        log = self._directory / f"{name}.log"
        with log.open("wb") as stream:
            process = subprocess.Popen(
                [sys.executable, *program],
                env={**self._environment, **(settings or {})},
                stdin=subprocess.DEVNULL,
                stdout=stream,
                stderr=stream,
            )
        service = Service(name, process, log)
        self.started.append(service)
        return service

    def close(self) -> None:
        running = [service for service in self.started if service.exit_code is None]
        for service in running:
            service.thaw()
            service.ask_to_stop()
        for service in running:
            service.close()
