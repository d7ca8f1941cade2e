"""Priority of links."""

from __future__ import annotations

import pytest

from strider.scheduler.core.release.priority import priority_of
from tests.unit.scheduler.builders import a_candidate, an_origin


@pytest.mark.parametrize(
    ("url", "depth", "expected"),
    [
        pytest.param("http://a.test/", 9, 3, id="home", marks=pytest.mark.req("S3.5.5")),
        pytest.param(
            "http://a.test/news",
            1,
            3,
            id="shallow",
            marks=[
                pytest.mark.req("S3.5.5"),
                pytest.mark.req("S3.2.6", part="shallow pages have the highest priority"),
            ],
        ),
        pytest.param("http://a.test/news/x", 2, 3, id="two-links-deep", marks=pytest.mark.req("S3.5.5")),
        pytest.param("http://a.test/news/x", 3, 2, id="content", marks=pytest.mark.req("S3.5.6")),
        pytest.param("http://a.test/about", 4, 2, id="about", marks=pytest.mark.req("S3.5.6")),
        pytest.param("http://a.test/contact", 4, 2, id="contact", marks=pytest.mark.req("S3.5.6")),
        pytest.param("http://a.test/2024/05/a-post", 4, 2, id="post", marks=pytest.mark.req("S3.5.6")),
        pytest.param("http://a.test/news?page=2", 1, 1, id="paginated", marks=pytest.mark.req("S3.5.7")),
        pytest.param("http://a.test/news/page/2", 2, 1, id="paginated-path", marks=pytest.mark.req("S3.5.7")),
        pytest.param("http://a.test/archive/2019", 1, 1, id="archive", marks=pytest.mark.req("S3.5.7")),
        pytest.param("http://a.test/2019/04/", 1, 1, id="month", marks=pytest.mark.req("S3.5.7")),
        pytest.param("http://a.test/tag/x", 2, 1, id="tag", marks=pytest.mark.req("S3.5.7")),
        pytest.param("http://a.test/news/x", 6, 1, id="deep", marks=pytest.mark.req("S3.5.7")),
        pytest.param("http://a.test/homepage", 3, 2, id="a-word-that-has-page-in-it"),
        pytest.param("http://a.test/archived-by-me", 3, 2, id="a-word-that-has-archive-in-it"),
    ],
)
def test_a_link_is_as_urgent_as_it_looks(url: str, depth: int, expected: int) -> None:
    assert priority_of(a_candidate(url, depth=depth, priority=1)) == expected


@pytest.mark.req("S3.5.5")
@pytest.mark.req("S4.1.6", part="priority of a seed and of a crawl spec")
@pytest.mark.parametrize("via", ["seed", "redirect"])
@pytest.mark.parametrize("given", [0, 1, 2, 3])
def test_seeds_and_what_they_redirect_to_keep_what_they_were_given(via: str, given: int) -> None:
    candidate = a_candidate("http://a.test/news?page=9", depth=0, priority=given, origin=an_origin(via=via))

    assert priority_of(candidate) == given


@pytest.mark.req("S4.1.6", part="priority of a seed and of a crawl spec")
@pytest.mark.parametrize(
    ("of_spec", "expected"),
    [
        pytest.param(0, 0, id="discovery"),
        pytest.param(1, 1, id="as-it-looks"),
        pytest.param(2, 2, id="lifted"),
        pytest.param(3, 3, id="lifted-to-the-top"),
        pytest.param(99, 3, id="more-than-there-is"),
        pytest.param(-5, 0, id="less-than-there-is"),
    ],
)
def test_a_crawl_spec_lifts_its_links(of_spec: int, expected: int) -> None:
    assert priority_of(a_candidate("http://a.test/news?page=2", depth=1, priority=of_spec)) == expected
