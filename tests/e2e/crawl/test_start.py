"""Libraries that a crawl imports before it starts."""

from __future__ import annotations

import subprocess
import sys

SERVERS = ("aiokafka", "asyncpg", "redis", "aiohttp.web", "opentelemetry.sdk")


def test_a_crawl_loads_no_library_of_servers() -> None:
    """Each of them takes a tenth of a second or more, and a first crawl takes a few seconds."""
    program = (
        f"import sys; import strider.cli.crawl.options; print([n for n in {SERVERS} if n in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-P", "-c", program], capture_output=True, text=True, check=True, timeout=60
    )
    assert done.stdout.strip() == "[]"
