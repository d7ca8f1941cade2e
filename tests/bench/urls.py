"""What a link costs: joining, cleaning, key and verdict, in batches of one page."""

from __future__ import annotations

from strider.urls import links

from .measure import Row, interleaved

LINKS = 80


def measure(*, rounds: int) -> list[Row]:
    """All rows of this file."""
    base = "https://www.example.org/articles/2026/streams.html"
    hrefs = [
        f"/section-{number % 7}/page-{number}.html" if number % 3 else f"../other/{number}?b=2&a={number}"
        for number in range(LINKS)
    ]
    found = interleaved({"links": lambda: links(base, hrefs)}, rounds=rounds, times=300)
    return [
        Row("a link, joined, cleaned, keyed and judged", found["links"].median / LINKS * 1e6, "µs CPU", 1.5)
    ]
