"""Templates of URLs, and paths that repeat themselves."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from strider.urls.templates import MIN_REPEATING_SLASHES, UrlTemplate, repeated_path, url_template

A = "https://a.test"
UUID = "123e4567-e89b-12d3-a456-426614174000"


@pytest.mark.parametrize(
    ("path", "template"),
    [
        pytest.param("/about/us", UrlTemplate("/about/us"), id="words"),
        pytest.param("/item/4711", UrlTemplate("/item/{n}", is_variable=True), id="number"),
        pytest.param(
            "/top-10-of-2024", UrlTemplate("/top-{n}-of-{n}", is_variable=True), id="numbers-in-words"
        ),
        pytest.param(
            "/cal/2031/07", UrlTemplate("/cal/{n}/{n}", is_variable=True, is_made_up=True), id="month"
        ),
        pytest.param("/d/20310701", UrlTemplate("/d/{id}", is_variable=True, is_made_up=True), id="date"),
        pytest.param(
            "/e/2031-07-01", UrlTemplate("/e/{n}-{n}-{n}", is_variable=True, is_made_up=True), id="iso"
        ),
        pytest.param(f"/s/{UUID}/x", UrlTemplate("/s/{id}/x", is_variable=True, is_made_up=True), id="uuid"),
        pytest.param("/s/9f86d081", UrlTemplate("/s/{id}", is_variable=True, is_made_up=True), id="hash"),
        pytest.param(
            "/a;jsessionid=9F8A", UrlTemplate("/a;jsessionid", is_variable=True, is_made_up=True), id="path"
        ),
        pytest.param(
            "/a/b/2/2/a", UrlTemplate("/a/b/{repeated}", is_variable=True, is_made_up=True), id="a-word-again"
        ),
        pytest.param("/s?sid=1", UrlTemplate("/s?sid", is_variable=True, is_made_up=True), id="parameter"),
        pytest.param(
            "/s?size=m&color=red&size=l",
            UrlTemplate("/s?color&size", is_variable=True, is_made_up=True, wider="/s?*"),
            id="sorted-parameters",
        ),
        pytest.param("/deadbeef", UrlTemplate("/deadbeef"), id="a-word-of-hex-letters"),
    ],
)
def test_a_template_has_no_values(path: str, template: UrlTemplate) -> None:
    """Numbers, dates, ids and values of parameters differ within one template."""
    found = url_template(f"{A}{path}")

    assert (found.text, found.is_variable or found.is_made_up, found.is_made_up, found.wider) == (
        template.text,
        template.is_variable,
        template.is_made_up,
        template.wider,
    )


@pytest.mark.parametrize(
    ("path", "part"),
    [
        pytest.param("/a/b/a/b/a/b/a/b", "/a/b", id="two-segments"),
        pytest.param("/x/a/a/a/a", "/a", id="one-segment"),
        pytest.param("/a/a/a", "", id="three-times"),
        pytest.param("/a/b/a/b/a/b/c", "", id="three-times-two"),
        pytest.param("/a/b/a/c/a/b/a/d", "", id="not-in-a-row"),
        pytest.param("/1/2/3/4/5/6/7/8/9", "", id="long"),
        pytest.param("/" + "d/e/f/" * 300, "/d/e/f", id="very-long"),
        pytest.param("/x?/a/a/a/a/a/a", "", id="in-the-query"),
        pytest.param("/a////////b", "", id="empty-segments"),
    ],
)
def test_a_part_that_follows_itself_four_times_is_found(path: str, part: str) -> None:
    """Relative links of pages that a server returns for each path below them."""
    found = repeated_path(f"{A}{path}")

    assert sorted(found.split("/")) == sorted(part.split("/"))


@given(st.lists(st.sampled_from("abc"), max_size=30))
def test_a_repeated_path_has_as_many_slashes_as_are_looked_for(segments: list[str]) -> None:
    """The count of slashes is all that is spent on other URLs."""
    url = f"{A}/{'/'.join(segments)}"
    part = repeated_path(url)

    assert not part or url.count("/") >= MIN_REPEATING_SLASHES
    assert not part or len(part) * 4 <= len(url)
