"""URL keys: which URLs are one entry, and which must stay two."""

from __future__ import annotations

import pytest

from strider.urls import RefusedUrl, UrlKeyRules, url_hash, url_key_of, url_key_of_text

KEEP_SLASH = UrlKeyRules(drop_trailing_slash=False)


@pytest.mark.parametrize(
    ("url", "normal"),
    [
        pytest.param("HTTP://EXAMPLE.org/", "http://example.org/", id="case"),
        pytest.param("http://example.org./a", "http://example.org/a", id="last-dot"),
        pytest.param("http://example.org.:8080/a", "http://example.org:8080/a", id="last-dot-before-port"),
        pytest.param("http://a.test/b/", "http://a.test/b", id="last-slash"),
        pytest.param("http://a.test/b//", "http://a.test/b", id="last-slashes"),
        pytest.param("http://a.test//", "http://a.test/", id="root-keeps-one"),
        pytest.param("http://a.test/b/?c", "http://a.test/b?c", id="last-slash-before-query"),
        pytest.param("http://a.test/?b=1&a=2", "http://a.test/?a=2&b=1", id="sorted"),
        pytest.param("http://a.test/?b=2&a=1&b=1", "http://a.test/?a=1&b=2&b=1", id="equal-names-keep-order"),
        pytest.param("http://a.test/?a-b=1&a=1", "http://a.test/?a=1&a-b=1", id="sorted-by-name-alone"),
        pytest.param("http://a.test/?a=&b", "http://a.test/?a&b", id="empty-value-is-none"),
        pytest.param("http://a.test/?&=&a&&", "http://a.test/?a", id="nothings"),
        pytest.param("http://a.test/?=1", "http://a.test/?=1", id="nameless-value-is-kept"),
        pytest.param("http://a.test/?a=b=", "http://a.test/?a=b=", id="equals-in-value"),
        pytest.param("http://a.test/?ref=x&source=y&a", "http://a.test/?a", id="referrers"),
        pytest.param("http://a.test/?re%66=x&%75tm_id=1", "http://a.test/", id="escaped-names-are-read"),
        pytest.param("http://a.test/?Ref=x", "http://a.test/?Ref=x", id="another-spelling-is-another-name"),
        pytest.param("http://a.test/?UTM_Source=x&FBCLID=1", "http://a.test/", id="tracking-in-any-case"),
        pytest.param("http://a.test/?", "http://a.test/", id="empty-query"),
        pytest.param("http://a.test/%7euser/%41%2d", "http://a.test/~user/A-", id="escapes-that-need-not-be"),
        pytest.param("http://a.test/a%2fb%c3%bc", "http://a.test/a%2Fb%C3%BC", id="escapes-that-must-be"),
        pytest.param("http://a.test/50%/%zz", "http://a.test/50%25/%25zz", id="lone-percent"),
        pytest.param("http://a.test/%%34%31", "http://a.test/%2541", id="no-second-reading"),
        pytest.param("http://a.test/?x[]=1", "http://a.test/?x%5B%5D=1", id="brackets"),
        pytest.param("http://a.test/a|b?a|b", "http://a.test/a%7Cb?a%7Cb", id="pipes"),
        pytest.param("http://a.test/?q=a+b", "http://a.test/?q=a+b", id="plus-stays"),
        pytest.param("http://a.test/?tl;dr", "http://a.test/?tl;dr", id="semicolon-parts-nothing"),
        pytest.param("http://a.test//b", "http://a.test//b", id="slashes-within-stay"),
        pytest.param("http://[::1]:80/", "http://[::1]/", id="ipv6"),
    ],
)
@pytest.mark.req("S3.9.9", "S3.10.1", "S3.10.2", "S3.10.3", "S3.10.4", "S3.10.5", "S3.10.7", "S4.11.6")
@pytest.mark.req("S3.10.6", part="removed")
def test_a_url_has_one_normal_form(url: str, normal: str) -> None:
    """URLs that servers answer alike are one entry."""
    assert url_key_of_text(url) == normal


@pytest.mark.parametrize(
    ("one", "other"),
    [
        pytest.param("http://a.test/", "https://a.test/", id="scheme"),
        pytest.param("http://a.test:443/", "http://a.test/", id="the-other-default-port"),
        pytest.param("http://a.test/A", "http://a.test/a", id="case-of-path"),
        pytest.param("http://a.test/a%2Fb", "http://a.test/a/b", id="escaped-slash"),
        pytest.param("http://a.test/?a=1&a=2", "http://a.test/?a=2&a=1", id="order-of-equal-names"),
        pytest.param("http://a.test/?q=a%26b", "http://a.test/?q=a&b", id="escaped-ampersand"),
        pytest.param("http://a.test/a//b", "http://a.test/a/b", id="double-slash"),
        pytest.param("http://www.a.test/", "http://a.test/", id="www"),
    ],
)
def test_different_urls_stay_different(one: str, other: str) -> None:
    """A page merged by mistake is never fetched."""
    assert url_key_of_text(one) != url_key_of_text(other)


@pytest.mark.req("S3.10.6", part="kept by a rule of the library, which no setting reaches")
def test_the_last_slash_can_be_kept() -> None:
    """Some sites distinguish them."""
    assert url_key_of_text("http://a.test/b/", rules=KEEP_SLASH) == "http://a.test/b/"
    assert url_key_of_text("http://a.test/b/?c", rules=KEEP_SLASH) == "http://a.test/b/?c"


def test_a_refused_url_has_no_key() -> None:
    """The same reasons as for wire URLs."""
    assert url_key_of_text("tel:1") == RefusedUrl("refused_scheme", "no_page")


@pytest.mark.req("S3.6.1", "S4.11.6", "S4.14.1")
def test_the_hash_names_the_normal_form() -> None:
    """Golden values: another hash would make a new entry of every known URL."""
    text = url_key_of("http://example.org/?b=1&a=2")

    assert url_hash(text) == "25a301ceaf34ae21c51ea1443caf3b2fccd26498be3ab0d980ca3c90c2e94a37"
