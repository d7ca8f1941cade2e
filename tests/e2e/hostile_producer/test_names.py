"""Names and ports that only a name server of the attacker, or of the machine, makes something of.

The sites of the neighbours are found by the same name server, at ports of the web.
"""

from __future__ import annotations

from contextlib import AsyncExitStack
from itertools import pairwise
from urllib.parse import urlsplit

import pytest

from strider.contracts.seed_names import RAW_PREFIX
from strider.testing.name_server import Zone
from strider.testing.named_sites import NamedSites
from strider.testing.site import AccessLogLine, ServedSite
from tests.figures import record_figure
from tests.processes.waiting import until

from .attackers import PAGE, AttackerSite, attacker_site, robots_allowing
from .conftest import SEARCH_DOMAIN
from .neighbours import DELAY_SECONDS, Stage

pytestmark = pytest.mark.timeout(600)

HANGING_DOMAINS = 8
NAMES_OF_EACH = 4
"""As many lookups as would fill a pool of threads."""


@pytest.mark.fault("A8", "A12")
async def test_hanging_name_servers_change_no_run_and_odd_names_reach_no_server(
    stage: Stage, sites_by_name: NamedSites
) -> None:
    """The neighbours' names expire after seconds, so they are looked up while others hang.

    A server that is no site is named by its port, and by names that only the machine's search domain
    completes.
    """
    stage.serve = sites_by_name.serve
    domains = [f"hangs{number}.test" for number in range(HANGING_DOMAINS)]
    hosts = [f"n{number}.{domain}" for domain in domains for number in range(NAMES_OF_EACH)]
    sites_by_name.zones.update({f"*.{domain}": Zone(hangs=True) for domain in domains})

    async with AsyncExitStack() as attack:
        inner = attack.enter_context(attacker_site(lambda path: robots_allowing(path) or PAGE))
        await attack.enter_async_context(stage.unharmed_neighbours("A8 A12 names and ports"))
        run, scheduler = stage.run_of_another_flow("hanging-names"), stage.ring.services["scheduler"]
        own = [
            urlsplit(origin).hostname or "" for each in stage.neighbours for origin in each.site.plan.origins
        ]
        before = {host: sites_by_name.queries(host) for host in own}
        stage.send_all([{"url": f"http://{host}/", "execution_id": run} for host in hosts])
        await until_odd_names_are_refused(stage, sites_by_name, inner)
        await until(
            lambda: any("dns_timeout" in str(event) and run in str(event) for event in scheduler.events()),
            what="the hanging names have failed",
            tell=stage.ring.tell,
            seconds=60,
        )
    assert inner.requests == []
    assert sites_by_name.queries(f".{SEARCH_DOMAIN}") == 0
    for domain in domains:  # what is tried again later ends at once
        del sites_by_name.zones[f"*.{domain}"]
    meanwhile = [sites_by_name.queries(host) - before[host] for host in own]
    record_figure(f"hanging names={len(hosts)}: lookups of each neighbour's name meanwhile {meanwhile}")
    assert min(meanwhile) > 0
    printed = await stage.command("runs", "logs", f"{RAW_PREFIX}{run}")
    assert "hangs" in printed
    assert "dns_timeout" in printed


async def until_odd_names_are_refused(stage: Stage, sites_by_name: NamedSites, inner: AttackerSite) -> None:
    """Send URLs of a server that is no site, and wait until each is refused."""
    port = urlsplit(inner.origin).port
    names = ("database.test", f"database.{SEARCH_DOMAIN}", f"dead.test.{SEARCH_DOMAIN}")
    sites_by_name.zones.update(dict.fromkeys(names, Zone(("127.0.0.1",))))
    odd_ports = [f"http://database.test{rest}" for rest in (f":{port}/", f".:{port}/dot", ":6379/")]
    completed = ["http://database/", "http://dead.test/"]
    stage.send_all([{"url": url} for url in (*odd_ports, *completed)])
    for url in odd_ports:
        await stage.until_refused(url, field="refused_port")
    for url in completed:
        await stage.until_refused(url, field="dns_not_found")


@pytest.mark.slow
@pytest.mark.fault("A12", part="a final dot")
async def test_a_final_dot_makes_no_second_host(stage: Stage, sites_by_name: NamedSites) -> None:
    """Else each spelling of a host would get requests of its own, without the delay between them."""
    stage.serve = sites_by_name.serve
    async with stage.unharmed_neighbours("A12 final dot"):
        owner = stage.neighbour("owner").site
        places = [urlsplit(origin) for origin in owner.plan.origins]
        urls = [f"http://{each.hostname}.:{each.port}/dotted/{n}" for each in places for n in range(3)]
        stage.send_all([{"url": url} for url in urls])
        await until(
            lambda: sum(line.path.startswith("/dotted/") for line in owner.access_log()) == len(urls),
            what="the URLs with a final dot are requested",
            tell=stage.ring.tell,
            seconds=60,
        )
    shortest = min(_without_final_dot(owner).values())
    record_figure(f"final dot: shortest time between requests {shortest:.3f}s of {DELAY_SECONDS:g}s")
    assert shortest >= DELAY_SECONDS


def _without_final_dot(site: ServedSite) -> dict[str, float]:
    """Return the shortest time between requests to each host, however its name was spelt."""
    hosts: dict[str, list[AccessLogLine]] = {}
    for name, lines in site.requests_by_host().items():
        hosts.setdefault(name.replace(".:", ":"), []).extend(lines)
    return {
        host: min(
            after.started - before.earliest
            for before, after in pairwise(sorted(lines, key=lambda line: line.started))
        )
        for host, lines in hosts.items()
    }
