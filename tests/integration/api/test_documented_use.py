"""The lines of docs/api.md, in a shell, against a running API."""

from __future__ import annotations

import asyncio
import json
import os
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

from strider.runtime.access_tokens import Role, verify_token
from strider.testing.callers import AUTH_SETTINGS, JWT_SECRET

from .test_service import Start, ready, start, topics

__all__ = ["start", "topics"]

PAGE = Path(__file__).parents[3] / "docs" / "api.md"
FIND_API = "api=$(strider status"


def shell_lines() -> list[str]:
    """Return the lines of the section about scripts; those that find the local stack are left out."""
    section = PAGE.read_text().split("## Send seeds from a script")[1].split("\n## ")[0]
    lines = re.findall(r"(?m)^    (.*)$", section)
    return [line for line in lines if not line.startswith(FIND_API)]


@pytest.mark.skipif(shutil.which("curl") is None, reason="this machine has no curl")
async def test_the_lines_of_the_page_submit_seeds(
    topics: str, start: Start, database: str, redis_url: str, tmp_path: Path
) -> None:
    process = start(topics, database, REDIS_URL=redis_url)
    async with await ready(process) as client:
        script = "\n".join(["set -e", f"api={client.base_url}", *shell_lines()])
        command = ["bash", "-c", f'strider() {{ {sys.executable} -P -m strider.cli "$@"; }}\n{script}']
        environ = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), **AUTH_SETTINGS}
        runs = [
            await asyncio.to_thread(
                subprocess.run,
                command,
                cwd=tmp_path,
                env=environ,
                capture_output=True,
                text=True,
                check=False,
            )
            for _ in range(2)
        ]

    for done in runs:
        assert done.returncode == 0, done.stdout + done.stderr
        assert done.stdout.count('"accepted":2') == 1
        assert done.stdout.count('"items":[') == 2
    decoder = json.JSONDecoder()
    first, second = (decoder.raw_decode(done.stdout)[0] for done in runs)
    assert first == second


async def test_a_token_of_the_command_is_one_of_the_api(tmp_path: Path) -> None:
    environ = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), **AUTH_SETTINGS}
    command = [sys.executable, "-P", "-m", "strider.cli", "token", "--role", "admin", "--subject", "ada"]
    done = await asyncio.to_thread(
        subprocess.run, command, cwd=tmp_path, env=environ, capture_output=True, text=True, check=True
    )

    caller = verify_token(done.stdout.strip(), JWT_SECRET, now_seconds=time.time())
    assert (caller.subject, caller.role) == ("ada", Role.ADMIN)
