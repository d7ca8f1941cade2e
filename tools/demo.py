"""Crawls a small site that is served here, with the real command, and shows what came of it and why."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

from demosite import HOSTS, serve
from rich.console import Console
from rich.table import Table

OUTPUT: Final = Path(".strider/demo/pages.jsonl")
STRIDER: Final = ".venv/bin/strider"

WHY: Final = {
    "robots_denied": "robots.txt forbids it, so no request was made",
    "too_deep": "further from the start page than --max-depth: the calendar never ends",
    "refused_file_type": "its file extension is not that of a page",
    "policy_blocked": "a cloud's metadata address: never requested, whatever links or redirects there",
    "not_found": "the server responded 404",
    "retries_exhausted": "the server failed at each try, with growing pauses between them",
    "soft_not_found": "the status is 200, and the text states that there is no page",
    "redirected": "it redirects; the target is an entry of its own, fetched or refused like any other",
}

Line = dict[str, Any]


def main() -> int:
    """Run the demonstration; return the command's exit code."""
    console = Console(highlight=False, soft_wrap=True)
    OUTPUT.parent.mkdir(parents=True, exist_ok=True)
    console.print(f"\n[bold]serving a demo site[/]: {', '.join(HOSTS)}, on loopback only")
    with serve() as url:
        options = [url, "--scope", "any", "--allow-private", "--delay", "0.1", "-o", str(OUTPUT), "-q"]
        console.print(f"[bold]$ strider crawl[/] {' '.join(options)}\n")
        began = time.monotonic()
        code = subprocess.run([STRIDER, "crawl", *options], check=False).returncode  # our own command
        seconds = time.monotonic() - began
    if code:
        return code
    lines = [json.loads(line) for line in OUTPUT.read_text(encoding="utf-8").splitlines()]
    _show_found(console, lines, seconds)
    _show_others(console, lines)
    _show_next(console)
    return 0


def _show_found(console: Console, lines: Sequence[Line], seconds: float) -> None:
    pages = [line for line in lines if line["outcome"] == "page"]
    console.print(f"[bold]{len(pages)} pages[/] in {seconds:.1f} s, one request at a time to each host:")
    table = Table("host", "pages", "deepest", "words", "slowest", box=None, header_style="dim")
    for host in HOSTS:
        here = [line for line in pages if urlsplit(line["url"]).hostname == host]
        words = sum(len(line["text"].split()) for line in here)
        deepest = max((line["depth"] for line in here), default=0)
        slowest = max((line["duration_ms"] for line in here), default=0.0)
        table.add_row(host, str(len(here)), str(deepest), str(words), f"{slowest:.0f} ms")
    console.print(table)
    console.print("the two stories of notes.localhost differ in two words; both are pages, with other hashes")


def _show_others(console: Console, lines: Iterable[Line]) -> None:
    counts: Counter[tuple[str, str]] = Counter()
    examples: dict[tuple[str, str], str] = defaultdict(str)
    for line in lines:
        if line["outcome"] != "page":
            kind = line["outcome"], line["reason"]
            counts[kind] += 1
            examples[kind] = examples[kind] or _brief(line)
    console.print(f"\n[bold]{counts.total()} URLs that are no pages[/], each with its reason:")
    for (outcome, reason), count in sorted(counts.items()):
        words = outcome if reason == outcome else f"{outcome}: {reason}"
        console.print(f" {words:<28}{count:>3}   {examples[outcome, reason]}")
        console.print(f"   {WHY.get(reason, 'see docs/crawl.md')}", style="dim")


def _brief(line: Line) -> str:
    """Give host and path, and where it redirects to."""
    url = urlsplit(line["url"])
    target = urlsplit(line["final_url"]).path if line["outcome"] == "redirected" else ""
    return f"{url.hostname}{url.path}" + (f" → {target}" if target else "")


def _show_next(console: Console) -> None:
    console.print(f"\n[bold]every line is in {OUTPUT}[/]; to look at one:")
    console.print(f"    head -1 {OUTPUT} | python3 -m json.tool")
    console.print("[bold]next[/]")
    console.print("    .venv/bin/strider crawl https://example.com -o pages.jsonl --contact you@example.com")
    console.print("    .venv/bin/strider crawl --help        docs/crawl.md has the fields and the exit codes")
    console.print(
        "    make demo-kafka                       the same runtime on a real Kafka, through a kill -9"
    )


if __name__ == "__main__":
    sys.exit(main())
