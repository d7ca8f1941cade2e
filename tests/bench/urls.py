"""What a link costs: joining, cleaning, key and verdict, in batches of one page."""

from __future__ import annotations

from functools import partial

from strider.urls import CrawlScope, build_scope, resolve_links

from .measure import Row, Spread, interleaved

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
    matched = _matched(plain, rounds=rounds)
    what = "joined, cleaned, keyed and judged"
    return [
        Row(f"a link, {what}", found["plain"].median / LINKS * 1e6, "µs CPU", 1.5),
        Row(f"a link with two parameters, {what}", found["asking"].median / LINKS * 1e6, "µs CPU", None),
        Row("an absolute link that was met before", found["again"].median / LINKS * 1e6, "µs CPU", None),
        Row("a link compared with one pattern", matched["1"].median / LINKS * 1e6, "µs CPU", None),
        Row("a link compared with eight patterns", matched["8"].median / LINKS * 1e6, "µs CPU", None),
    ]


def _matched(paths: list[str], *, rounds: int) -> dict[str, Spread]:
    """Links that no exclude pattern matches."""
    urls = [f"https://www.example.org{path}" for path in paths]
    globs = ["*.pdf", "/login*", "*?print=*", "/tag/*/feed", "*/edit", "/search?*", "*sort=*", "/a/*/b"]

    def compare(scope: CrawlScope) -> None:
        for url in urls:
            scope.path_refusal_reason(url)

    scopes = {str(count): build_scope("any", exclude=globs[:count]) for count in (1, 8)}
    return interleaved(
        {name: partial(compare, scope) for name, scope in scopes.items() if isinstance(scope, CrawlScope)},
        rounds=rounds,
        times=300,
    )
