"""What a link costs: joining, cleaning, key and verdict, in batches of one page."""

from __future__ import annotations

from strider.urls import resolve_links

from .measure import Row, interleaved

LINKS = 80
BASE = "https://www.example.org/articles/2026/streams.html"


def measure(*, rounds: int) -> list[Row]:
    """All rows of this file."""
    plain = [f"/section-{number % 7}/page-{number}.html" for number in range(LINKS)]
    asking = [f"../other/{number}?b=2&a={number}" for number in range(LINKS)]
    foreign = [f"https://h{number}.example.net/page-{number}.html" for number in range(LINKS)]
    found = interleaved(
        {
            "plain": lambda: resolve_links(BASE, plain),
            "asking": lambda: resolve_links(BASE, asking),
            "again": lambda: resolve_links(BASE, foreign),
        },
        rounds=rounds,
        times=300,
    )
    what = "joined, cleaned, keyed and judged"
    return [
        Row(f"a link, {what}", found["plain"].median / LINKS * 1e6, "µs CPU", 1.5),
        Row(f"a link with two parameters, {what}", found["asking"].median / LINKS * 1e6, "µs CPU", None),
        Row("an absolute link that was met before", found["again"].median / LINKS * 1e6, "µs CPU", None),
    ]
