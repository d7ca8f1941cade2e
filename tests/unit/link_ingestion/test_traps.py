"""Sites that make URLs without end cost a bounded number of pages; honest ones are fetched whole."""

from __future__ import annotations

import hashlib
import random
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from datetime import date
from urllib.parse import parse_qsl, urlencode, urljoin, urlsplit

import pytest

from strider.contracts.generated.events import PageParsed
from strider.link_ingestion.core import LinkFilters, TrapDetector, admit_links
from strider.link_ingestion.core.traps import MAX_HOSTS, MAX_TEMPLATES
from tests.figures import record_figure

from .builders import a_page, numbered, refused, some_rules, taken

HOME = "https://www.a.test"
MONTHS = [date(2026, number, 1).strftime("%B") for number in range(1, 13)]
Site = Callable[[str], tuple[str, Sequence[str]]]
"""Text and links of a URL's page."""


def page_of(url: str, text: str, links: Iterable[str] = (), **changes: object) -> PageParsed:
    """Return a page that was found on the home page of its host, unless the changes say otherwise."""
    digest = hashlib.sha256(text.encode()).hexdigest()
    found = {"depth": 1, "referrer": urljoin(url, "/")} | changes
    return a_page(*links, url=url, text=text, text_hash=digest, raw_hash=digest, **found)


def crawl(site: Site, *, most: int) -> tuple[list[str], set[str]]:
    """Fetch a site in the order of discovery, without a limit of depth; return URLs and refused ones."""
    traps, filters, rules = TrapDetector(), LinkFilters(allow_private=False), some_rules()
    queue, seen = deque([f"{HOME}/"]), {f"{HOME}/"}
    fetched: list[str] = []
    suspected: set[str] = set()
    while queue and len(fetched) < most:
        url = queue.popleft()
        fetched.append(url)
        page = page_of(url, *site(url))
        traps.observe(page)
        closed = traps.closed_templates(page.execution_id)
        admission = admit_links(page, filters.filter_for(url, rules), listed=999, closed=closed)
        new = [link for link in taken(admission) if link not in seen]
        suspected.update(
            link for each in admission.candidates for link in each.urls if link not in taken(admission)
        )
        suspected.update(link for link, reason in refused(admission).items() if reason == "trap_suspected")
        seen.update(new)
        queue.extend(new)
    return fetched, suspected


def paragraph(seed: object, words: int = 60) -> str:
    chance = random.Random(str(seed))
    return " ".join("".join(chance.choices("abcdefghijklmnop", k=6)) for _ in range(words))


def calendar(url: str) -> tuple[str, Sequence[str]]:
    """A page for each month, from the year dot to the end of time, and twenty real ones."""
    path = urlsplit(url).path
    if path.startswith("/page"):
        return paragraph(path), ()
    year, month = map(int, path.removeprefix("/events/").split("/")) if "events" in path else (2026, 1)
    around = [(year + (month + step - 1) // 12, (month + step - 1) % 12 + 1) for step in (-12, -1, 1, 12)]
    links = [f"{HOME}/events/{at}/{number:02}" for at, number in around if 1900 <= at < 10_000]
    days = "\n".join(f"{MONTHS[month - 1]} {day}\nNo events" for day in range(1, 29))
    return f"{MONTHS[month - 1]} {year}\n{days}", [*links, *(f"{HOME}/page-{n}" for n in range(20))]


def facets(url: str) -> tuple[str, Sequence[str]]:
    """A shop of 40 products, filtered by any of six properties of five values each."""
    parts = urlsplit(url)
    if parts.path.startswith("/product"):
        return paragraph(parts.path), ()
    chosen = dict(parse_qsl(parts.query))
    fitting = [n for n in range(40) if all((n + int(v)) % 2 == 0 for v in chosen.values())]
    listed = "\n".join(f"Product {paragraph(n, 3)}\n{paragraph(n, 12)}" for n in fitting)
    more = [
        f"{HOME}/shop?{urlencode(sorted((chosen | {name: str(value)}).items()))}"
        for name in ("size", "color", "brand", "price", "rating", "stock")
        for value in range(5)
    ]
    return f"Our shop\n{listed or 'Nothing found'}", [*more, *(f"{HOME}/product-{n}" for n in fitting)]


def sessions(url: str) -> tuple[str, Sequence[str]]:
    """Thirty pages, whose links have a session id of their own in each response."""
    path = urlsplit(url).path
    token = hashlib.sha256(url.encode()).hexdigest()[:20]
    return paragraph(path), [f"{HOME}/page-{n}?sid={token}" for n in range(30)]


def path_sessions(url: str) -> tuple[str, Sequence[str]]:
    text, links = sessions(url.split("/s/", maxsplit=1)[0] + "/" + url.rsplit("/", 1)[-1])
    token = hashlib.sha256(url.encode()).hexdigest()[:20]
    return text, [f"{HOME}/s/{token}/{urlsplit(link).path[1:]}" for link in links]


def relative(url: str) -> tuple[str, Sequence[str]]:
    """Every path below a page is answered with that page, whose links are relative."""
    base = url.rstrip("/")
    return paragraph("same"), [f"{base}/about", f"{base}/news/latest"]


@pytest.mark.fault("S16", part="calendars, filters, session ids, repeated paths")
@pytest.mark.parametrize(
    ("site", "honest", "bound"),
    [
        pytest.param(calendar, 20, 400, id="calendar"),
        pytest.param(facets, 40, 3_000, id="facets"),
        pytest.param(sessions, 30, 3_000, id="session-ids"),
        pytest.param(path_sessions, 30, 3_000, id="session-ids-in-paths"),
        pytest.param(relative, 1, 3_000, id="repeated-paths"),
    ],
)
def test_a_crawl_of_a_trap_ends_by_itself(site: Site, honest: int, bound: int) -> None:
    """The site has no end; all its real texts are found."""
    fetched, suspected = crawl(site, most=20_000)

    texts = {site(url)[0] for url in fetched}
    record_figure(f"{site.__name__}: pages={len(fetched)} texts={len(texts)} refused={len(suspected)}")
    assert len(fetched) <= bound
    assert suspected
    assert len(texts) >= honest


def archive(*, path: str, text: Callable[[int], str]) -> Site:
    """2,000 pages, in lists of 50."""

    def site(url: str) -> tuple[str, Sequence[str]]:
        parts = urlsplit(url)
        if parts.path == "/":
            return "Archive", [f"{HOME}/list/{n}" for n in range(40)]
        if parts.path.startswith("/list/"):
            first = int(parts.path.rsplit("/", 1)[1]) * 50
            return paragraph(url), [
                f"{HOME}{path.format(n=n, year=1990 + n // 100)}" for n in range(first, first + 50)
            ]
        return text(int(url.rsplit("-", 1)[1])), ()

    return site


ARTICLES = {"words": paragraph, "short": lambda n: f"Home\nArchive\n{paragraph(n, 6)}\nImprint\n{n}"}


@pytest.mark.parametrize(
    "path", ["/item-{n}", "/{year}/12/24/story-{n}", "/show?id=no-{n}", "/v?a=1&b=2&c=no-{n}"]
)
@pytest.mark.parametrize("text", ARTICLES)
def test_an_honest_archive_is_fetched_whole(path: str, text: str) -> None:
    """Pages of one template, each with a few words of its own between the same menus."""
    fetched, suspected = crawl(archive(path=path, text=ARTICLES[text]), most=20_000)

    assert (len(fetched), suspected) == (2_041, set())


def test_a_closed_template_opens_when_it_brings_new_text_again() -> None:
    """Pages that were accepted before are still fetched, and may show that the suspicion was wrong."""
    traps = TrapDetector()
    for number in range(60):
        traps.observe(page_of(f"{HOME}/show?id={number}", "Nothing here"))
    assert traps.closed_templates(a_page().execution_id) == {"www.a.test": frozenset({"/show?id"})}

    for number in range(20):
        traps.observe(page_of(f"{HOME}/show?id=x{number}", paragraph(number)))

    assert traps.closed_templates(a_page().execution_id) == {}


def test_runs_and_hosts_are_watched_apart() -> None:
    """One run's trap is no other run's, since its crawl spec may have other rules."""
    traps = TrapDetector()
    closed = [
        traps.observe(page_of(f"{HOME}/c?d={number}", "Nothing", execution_id="one")) for number in range(50)
    ]

    assert closed[-1] == ["/c?d"]
    assert not any(closed[:-1])
    assert traps.closed_templates("two") == {}


ELSEWHERE = "https://attacker.test/list"


@pytest.mark.fault("S16", part="a template that a stranger wants closed")
@pytest.mark.parametrize(
    "found",
    [
        pytest.param({"depth": 0, "referrer": "", "is_start": True}, id="seeds"),
        pytest.param({"depth": 0, "referrer": "", "redirect_chain": (f"{HOME}/r",)}, id="redirected-seeds"),
        pytest.param({"depth": 1, "referrer": ELSEWHERE}, id="links-of-another-site"),
        pytest.param(
            {"depth": 1, "referrer": "", "redirect_chain": (ELSEWHERE,)}, id="redirects-of-another-site"
        ),
    ],
)
def test_seeds_and_links_of_other_sites_close_no_template(found: dict[str, object]) -> None:
    """Made-up paths of a site that answers unknown ones with one text, in the run that raw seeds share."""
    traps = TrapDetector()
    for number in range(500):
        assert traps.observe(page_of(f"{HOME}/p{number}", "Nothing here", **found)) == []

    assert traps.closed_templates(a_page().execution_id) == {}


@pytest.mark.parametrize(
    "found",
    [
        pytest.param({"referrer": "https://shop.a.test/list"}, id="another-host-of-the-domain"),
        pytest.param({"referrer": "", "redirect_chain": (f"{HOME}/r",)}, id="a-redirect-of-the-site"),
    ],
)
def test_links_of_the_same_domain_close_a_template(found: dict[str, object]) -> None:
    traps = TrapDetector()
    closed = [traps.observe(page_of(f"{HOME}/c?d={number}", "Nothing", **found)) for number in range(50)]

    assert closed[-1] == ["/c?d"]


def test_zero_pages_turn_the_detector_off() -> None:
    traps = TrapDetector(0)
    for number in range(500):
        traps.observe(page_of(f"{HOME}/c?d={number}", "Nothing"))

    assert traps.closed_templates(a_page().execution_id) == {}


def test_the_state_is_bounded() -> None:
    """Hosts and templates without end."""
    traps = TrapDetector(1)
    for number in range(MAX_HOSTS + 10):
        traps.observe(page_of(f"https://h{number}.test/c?d=1", "Nothing"))
    for number in range(MAX_TEMPLATES + 10):
        traps.observe(page_of(f"{HOME}/c?name{chr(97 + number % 26) * (number // 26 + 1)}=1", "Nothing"))

    assert len(traps._hosts) == MAX_HOSTS
    assert max(len(each.templates) for each in traps._hosts.values()) == MAX_TEMPLATES
    assert sum(map(len, traps._closed.values())) <= MAX_HOSTS


def test_a_known_link_of_a_closed_template_is_no_objection() -> None:
    """Objections count for new links only; other reasons win."""
    page = a_page(*numbered(2), url=f"{HOME}/x", depth=3)
    closed = {"www.a.test": frozenset({"/n/{n}"})}
    rules = some_rules(max_depth=3)
    admission = admit_links(
        page, LinkFilters(allow_private=False).filter_for(page.url, rules), listed=9, closed=closed
    )

    assert [reason for each in admission.candidates for reason in each.objections] == ["too_deep"] * 2
