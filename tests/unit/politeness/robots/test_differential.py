"""Three robots.txt parsers compared: protego's, robotspy's, and ours.

Texts and URLs come from a grammar of what sites write, and from real files. The two others sometimes differ
from each other; ours may agree with either, but must not differ from both. Where the RFC or Google's
specification requires that, `test_conformance` tests it and the grammar leaves it out.
"""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from protego import Protego
from robots import RobotsParser

from strider.politeness import RobotsTxt
from strider.politeness.robots.decoding import decode_robots

from .test_corpus import FILES

_SEGMENTS = st.sampled_from(["a", "b", "ab", "news", "a.html", "b.php"])
_PATHS = st.lists(_SEGMENTS, max_size=4).map(lambda parts: "/" + "/".join(parts))
_PATTERNS = st.one_of(
    _PATHS,
    _PATHS.map(lambda path: path + "$"),
    st.tuples(_PATHS, _SEGMENTS).map("*".join),
    st.tuples(_PATHS, _SEGMENTS).map(lambda parts: "*".join(parts) + "$"),
)
_RULES = st.tuples(st.sampled_from(["Allow: ", "Disallow: "]), _PATTERNS).map("".join)
_GROUPS = st.tuples(
    st.lists(st.sampled_from(["*", "strider", "OtherBot", "third"]), min_size=1, max_size=2, unique=True),
    st.lists(_RULES, min_size=1, max_size=6),
).map(lambda group: "\n".join([*(f"User-agent: {name}" for name in group[0]), *group[1]]))
_TEXTS = st.lists(_GROUPS, max_size=4).map(lambda groups: "\n\n".join(groups) + "\n")
_QUERIES = st.sampled_from(["", "?a", "?b=a.html"])


@settings(max_examples=150)
@given(_TEXTS, st.lists(st.tuples(_PATHS, _QUERIES).map("".join), min_size=1, max_size=6))
def test_what_sites_usually_write_means_the_same_to_all(text: str, paths: list[str]) -> None:
    ours, protego = RobotsTxt(text), Protego.parse(text)
    spy = RobotsParser.from_string(text)

    for path in paths:
        url = f"http://a.test{path}"
        theirs = (protego.can_fetch(url, "Strider"), spy.can_fetch("Strider", url))
        assert ours.allows(url, "Strider") in theirs, (text, path, theirs)


MOST_PATHS = 60
MOST_AGENTS = 4


@pytest.mark.skipif(not FILES.is_dir(), reason="the corpora are not on this machine")
@pytest.mark.parametrize("name", sorted(path.name for path in FILES.glob("*.txt")))
def test_files_of_real_sites_mean_the_same_to_all(name: str) -> None:
    text = decode_robots((FILES / name).read_bytes())
    ours, protego, spy = RobotsTxt(text), Protego.parse(text), RobotsParser.from_string(text)
    values = [line.partition(":")[2].partition("#")[0].strip() for line in text.splitlines()]
    paths = {value.replace("*", "x").rstrip("$") for value in values if value.startswith(("/", "*"))}
    agents = ["strider", *sorted({value for value in values if value.isalpha()})[:MOST_AGENTS]]

    differing = []
    for path in sorted(paths)[:MOST_PATHS]:
        url = f"http://a.test/{path.lstrip('/')}"
        for agent in agents:
            theirs = {protego.can_fetch(url, agent), spy.can_fetch(agent, url)}
            if ours.allows(url, agent) not in theirs:
                differing.append((path, agent))

    assert differing == []
