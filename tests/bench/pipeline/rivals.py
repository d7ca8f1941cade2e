"""Other crawlers and our own command line, run as processes; what each took is reported by the system.

They are installed into a throwaway place under .strider/bench. What cannot be installed here is a
reason, not a failure: its row says so.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parents[3]
PLACE: Final = ROOT / ".strider" / "bench"
RIVALS: Final = Path(__file__).parents[1] / "rivals"
INSTALL_SECONDS: Final = 300.0
RUN_SECONDS: Final = 300.0
FLOOR: Final = "requests and reading alone"


@dataclass(frozen=True, slots=True)
class Missing:
    """A crawler that is not here, and why."""

    why: str


@dataclass(frozen=True, slots=True)
class Run:
    """One run of one crawler."""

    pages: int
    wall_seconds: float
    cpu_seconds: float

    @property
    def pages_per_second(self) -> float:
        """How fast it was."""
        return self.pages / self.wall_seconds

    @property
    def cpu_ms_per_page(self) -> float:
        """What a page took of a core."""
        return self.cpu_seconds * 1000 / self.pages


@dataclass(frozen=True, slots=True)
class Crawler:
    """A program that crawls from a URL and writes a line for each page."""

    name: str
    command: Sequence[str]
    """`{url}`, `{output}` and `{pages}` are filled in."""
    environment: Mapping[str, str]

    def run(self, url: str, output: Path, *, pages: int) -> Run:
        """Crawl once."""
        output.unlink(missing_ok=True)
        words = [word.format(url=url, output=output, pages=pages) for word in self.command]
        environment = {**os.environ, **self.environment, "PYTHONPYCACHEPREFIX": str(PLACE / "compiled")}
        # Where this is set every start compiles every library: a real crawl pays for that once.
        environment.pop("PYTHONDONTWRITEBYTECODE", None)
        began = time.monotonic()
        process = subprocess.Popen(  # the programs are named in this file
            words, env=environment, stdout=subprocess.DEVNULL, cwd=output.parent
        )
        _, status, used = os.wait4(process.pid, 0)
        wall_seconds = time.monotonic() - began
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode != 0:
            raise RuntimeError(f"{self.name} ended with {process.returncode}")
        with output.open("rb") as lines:
            found = sum(1 for _ in lines)
        return Run(found, wall_seconds, used.ru_utime + used.ru_stime)


def strider_crawl() -> Crawler:
    """Our own command, without any server."""
    words = ("crawl", "{url}", "-o", "{output}", "--scope", "any", "--max-depth", "10", "--delay", "0")
    options = ("--allow-private", "--only-pages", "--quiet", "--concurrency", "100")
    return Crawler("strider crawl", (sys.executable, "-P", "-m", "strider.cli", *words, *options), {})


def floor() -> Crawler:
    """Our transport and our reading with nothing around them: what no ring can save."""
    words = (sys.executable, "-m", "tests.bench.pipeline.floor", "{url}", "{output}")
    return Crawler(FLOOR, words, {"PYTHONPATH": str(ROOT)})


def scrapy_python() -> Path | Missing:
    """The Python of Scrapy's own environment."""
    python = PLACE / "scrapy" / "bin" / "python"
    if not python.exists():
        made = _did(sys.executable, "-m", "venv", str(PLACE / "scrapy"))
        made = made or _did(str(python), "-m", "pip", "install", "--quiet", "scrapy")
        if made:
            shutil.rmtree(PLACE / "scrapy", ignore_errors=True)
            return Missing(made)
    return python


def scrapy() -> Crawler | Missing:
    """Scrapy; one process, so one core."""
    python = scrapy_python()
    if isinstance(python, Missing):
        return python
    spider = str(RIVALS / "scrapy_spider.py")
    return Crawler("Scrapy", (str(python), spider, "{url}", "{output}", "{pages}"), {})


def colly() -> Crawler | Missing:
    """Colly, built here where there is Go, and held to one core."""
    program = PLACE / "colly" / "bench"
    if not program.exists():
        if (go := shutil.which("go")) is None:
            return Missing("there is no Go here")
        program.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(RIVALS / "colly" / "main.go", program.parent)
        steps = (("mod", "init", "bench"), ("mod", "tidy"), ("build", "-o", program.name, "."))
        for step in steps:
            if failed := _did(go, *step, place=program.parent):
                shutil.rmtree(program.parent, ignore_errors=True)
                return Missing(failed)
    return Crawler("Colly", (str(program), "{url}", "{output}"), {"GOMAXPROCS": "1"})


def _did(*words: str, place: Path | None = None) -> str:
    """Run a step of an installation; empty where it worked, else why not."""
    try:
        done = subprocess.run(
            words, cwd=place, capture_output=True, text=True, timeout=INSTALL_SECONDS, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as failure:
        return f"{words[0]}: {type(failure).__name__}"
    if done.returncode == 0:
        return ""
    said = (done.stderr or done.stdout).strip().splitlines()
    return f"cannot be installed here: {said[-1][:80] if said else done.returncode}"
