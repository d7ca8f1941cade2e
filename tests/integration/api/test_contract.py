"""The running API against its own description, by Schemathesis: requests that fit it, and that do not."""

from __future__ import annotations

import asyncio
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from strider.indexer.adapters import PostgresTables
from strider.indexer.core import RowChanges, decision_rows, page_row
from strider.storage.postgres import Postgres
from strider.testing.callers import access_token
from tests.figures import record_figure
from tests.unit.indexer.events import a_decision, a_page

from .test_service import Start, start, topics, url_of

__all__ = ["start", "topics"]

CHECKS = Path(__file__).with_name("schemathesis.toml")
TOOL = Path(sys.executable).with_name("schemathesis")
GENERATED = re.compile(r"^\s*(\d+) generated", re.MULTILINE)


@pytest.mark.fault("S20", part="requests to every route, made from its description")
@pytest.mark.parametrize(
    ("examples", "options"),
    [
        pytest.param(4, ("--seed", "17"), id="short", marks=pytest.mark.timeout(900)),
        pytest.param(1_000, (), id="long", marks=[pytest.mark.slow, pytest.mark.timeout(1_800)]),
    ],
)
async def test_every_request_has_the_response_that_is_described(  # noqa: PLR0917  # fixtures
    topics: str,
    start: Start,
    database: str,
    postgres: Postgres,
    redis_url: str,
    tmp_path: Path,
    examples: int,
    options: tuple[str, ...],
) -> None:
    """No response of 5xx, none that is not described, no request taken that the description forbids."""
    page = a_page("https://www.stored.test/")
    await PostgresTables(postgres).write(
        RowChanges(
            pages=[page_row(page, page.page.text)],
            decisions=[*decision_rows(a_decision("https://www.stored.test/no", reasons=("excluded",)))],
        )
    )
    process = start(topics, database, REDIS_URL=redis_url)
    await asyncio.to_thread(process.wait_for_event, "Service running")
    document = f"{await url_of(process)}/openapi.json"
    command = [
        *(str(TOOL), "--config-file", str(CHECKS), "run", document, "--no-color"),
        *("--header", f"Authorization: Bearer {access_token()}", "--max-examples", str(examples), *options),
    ]
    done = await asyncio.to_thread(
        subprocess.run, command, cwd=tmp_path, capture_output=True, text=True, check=False
    )

    assert done.returncode == 0, done.stdout[-6_000:] + done.stderr[-2_000:]
    generated = GENERATED.search(done.stdout)
    assert generated is not None
    record_figure(f"requests made from the description: sent={generated[1]} findings=0")
    assert int(generated[1]) > 100
    lines = (json.loads(line) for line in process.log.read_text().splitlines() if line.startswith("{"))
    assert [line for line in lines if line["level"] in {"error", "critical"}] == []
    assert await asyncio.to_thread(process.stop) == 0
