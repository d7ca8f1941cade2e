"""Reading of whole trees: elements, anchors, frames and visible text."""

from __future__ import annotations

import pytest

from strider.contracts.generated.enums import ExtractionLevel
from strider.parser.adapters.html_tree.reader import read_html
from strider.parser.core import ParseLimits
from strider.parser.core.html.models import (
    ASIDE,
    ELSEWHERE,
    FOOTER,
    HEADER,
    MAIN,
    NAVIGATION,
    Anchor,
    ExtractionDepth,
    LinkTag,
)
from tests.processor_cost import assert_cheap
from tests.unit.parser.pages import read

DEEP = ExtractionDepth(has_blocks=True)


@pytest.mark.req("S3.9.4")
@pytest.mark.parametrize(
    ("body", "expected"),
    [
        pytest.param("<p>one</p><p>two</p>", "one\ntwo", id="a-line-for-each-block"),
        pytest.param("<p><b>J</b>ohn <i>Doe</i></p>", "John Doe", id="inline-elements-part-no-words"),
        pytest.param("<p> a \n\t b&nbsp;&nbsp;c </p>", "a b c", id="single-spaces"),
        pytest.param("one<br>two", "one\ntwo", id="line-break"),
        pytest.param("super<wbr>long", "superlong", id="possible-break"),
        pytest.param("<p>see <img alt=x src=y> here</p>", "see here", id="picture-within-a-line"),
        pytest.param("<ul><li>a<li>b</ul><table><tr><td>c<td>d</table>", "a\nb\nc\nd", id="lists-and-tables"),
        pytest.param(
            "a<script>x()</script><style>p{}</style><template><p>t</p></template>b",
            "ab",
            id="code-is-no-text",
        ),
        pytest.param("<noscript>turn it on</noscript>x", "x", id="noscript-is-distinguished"),
        pytest.param(
            "<select><option>o</select><textarea>t</textarea><iframe>i</iframe>x", "x", id="fields-and-frames"
        ),
        pytest.param("<svg><title>t</title><text>s</text></svg>x", "x", id="drawings"),
        pytest.param(
            "<div hidden>h<div hidden>i</div></div><p style='color:red;DISPLAY: none'>n</p>x",
            "x",
            id="hidden",
        ),
        pytest.param("1<span hidden>h</span><a href=/h style='display:none'>n</a>2", "12", id="hidden-words"),
        pytest.param("<p>a  b<p>c\n d<p>e &nbsp; f", "a b\nc d\ne f", id="runs-of-space-in-some-lines"),
        pytest.param("<a href=/x>li<span>nk</span></a> text", "link text", id="links-are-text"),
        pytest.param("<a href=/x>one</a><a href=/y>two</a>", "one\ntwo", id="links-in-a-row"),
        pytest.param("x &lt;b&gt; &amp;", "x <b> &", id="entities"),
        pytest.param("<!-- c --><p>x<!-- d -->y</p>", "x\ny", id="comments"),
        pytest.param("a\0b", "ab", id="nul-is-dropped-as-the-standard-has-it"),
        pytest.param("<frameset><frame src=x></frameset>", "", id="frames-only"),
        pytest.param("<p hidden>x</p>y", "y", id="hidden"),
        pytest.param("<p style='COLOR:red;Display : NONE'>x</p>y", "y", id="hidden-by-style"),
        pytest.param("<p style='display:block'>x</p>y", "x\ny", id="shown-by-style"),
        pytest.param("<div hidden id=S:1>x</div>y", "x\ny", id="streamed-to-be-shown"),
        pytest.param("", "", id="nothing"),
    ],
)
def test_visible_text(body: str, expected: str) -> None:
    assert read_html(f"<html><head><title>T</title></head><body>{body}".encode()).text == expected


@pytest.mark.parametrize(
    ("anchor", "rel"),
    [
        pytest.param("<a href=/2 class='pager-next icon'></a>", " class:next", id="drawn by a style"),
        pytest.param(
            "<a href=/2 class=previous rel=nofollow><i></i></a>",
            "nofollow class:prev",
            id="beside a relation",
        ),
        pytest.param("<a href=/2 class=next>Words</a>", "", id="a name of its own"),
        pytest.param("<a href=/2 class=next title=Words></a>", "", id="a title"),
        pytest.param("<a href=/2 class='next prev'></a>", "", id="both"),
        pytest.param("<a href=/2 class=nextcloud></a>", "", id="another word"),
    ],
)
def test_an_anchor_without_text_has_the_relation_of_its_class(anchor: str, rel: str) -> None:
    (found,) = read_html(f"<body>{anchor}".encode()).anchors

    assert found.rel == rel


@pytest.mark.req("S3.9.5")
def test_anchors_have_words_flags_and_a_region() -> None:
    reading = read_html(
        b"<header><a href=/h>Home <b>page</b></a><nav><a href=/n rel='NoFollow'>N</a></nav></header>"
        b"<article><a href=/m><img alt=i></a><aside><a href=/a title=T> </a></aside></article>"
        b"<footer><a href=/f aria-label=Label></a></footer><a name=x>no target</a><a href>empty</a>"
        b"<map><area href=/area alt=Area></map><a href=/e>e</a>"
    )

    assert list(reading.anchors) == [
        Anchor("/h", "Home page", "", HEADER),
        Anchor("/n", "N", "nofollow", NAVIGATION),
        Anchor("/m", "i", "", MAIN),
        Anchor("/a", "T", "", ASIDE),
        Anchor("/f", "Label", "", FOOTER),
        Anchor("/area", "Area", "", ELSEWHERE),
        Anchor("/e", "e", "", ELSEWHERE),
    ]


@pytest.mark.parametrize(
    ("within", "text"),
    [
        pytest.param("<h3>Title</h3><p>Teaser</p>", "Title Teaser", id="blocks"),
        pytest.param("<img alt=x><div>One</div><div>Two</div>three", "One Two three", id="behind-a-picture"),
        pytest.param("one<br>two", "one two", id="lines"),
        pytest.param("<span>fo<b>o</b></span>bar", "foobar", id="within-a-word"),
        pytest.param("<svg><style>.a{fill:red}</style></svg>Logo", "Logo", id="style"),
        pytest.param("<script>if(x){y()}</script>Name", "Name", id="script"),
        pytest.param("set {x}", "set {x}", id="braces"),
        pytest.param("<style>.a{fill:red}</style><img alt=Logo>", "Logo", id="nothing-but-a-picture"),
    ],
)
def test_an_anchor_is_called_what_people_read(within: str, text: str) -> None:
    """Above `basic`, blocks without white space between them are separate words, and styles are no words."""
    anchors = read_html(
        f"<p>x</p><a href=/1>{within}</a><p><a href=/2>b</a><div>c</div>".encode(), DEEP
    ).anchors

    assert [anchor.text for anchor in anchors] == [text, "b"]


def test_a_heading_is_the_first_that_is_not_empty() -> None:
    assert read_html(b"<h1><img></h1><h1>A<br>B<style>.x{}</style></h1><h1>C</h1>").heading == "A B"


def test_anchors_within_each_other_are_read_soon() -> None:
    nested = b"<a href=/x><div><object>" * 20_000

    assert_cheap(lambda: read_html(nested, DEEP), yardsticks=300)


def test_a_long_anchor_is_clipped() -> None:
    (anchor,) = read_html(b"<a href=/x>" + b"word " * 10_000 + b"</a>").anchors

    assert len(anchor.text) == 200


@pytest.mark.req("S3.9.1")
def test_broken_markup_is_read_as_browsers_read_it() -> None:
    reading = read_html(b"<p>one<p>two<a href=x>three<a href=y>four</p></a><b><i>five</b></i><title>late")

    assert [anchor.href for anchor in reading.anchors] == ["x", "y"]
    assert reading.paragraphs == 2


def test_links_in_noscript_are_seen() -> None:
    """The noscript text is written for clients like this crawler."""
    reading = read_html(b"<body><noscript><a href=/plain>plain version</a></noscript>")

    assert [anchor.href for anchor in reading.anchors] == ["/plain"]
    assert reading.noscript == "plain version"


def test_what_a_page_is_made_of_is_counted() -> None:
    reading = read_html(
        b"<script></script><form><input type=PASSWORD><input></form><p>a</p><p>b</p><script src=x></script>"
    )

    counted = (reading.paragraphs, reading.scripts, reading.forms, reading.password_fields)
    assert counted == (2, 2, 1, 1)


@pytest.mark.parametrize(
    "content",
    [
        pytest.param(b"\xff\xfe<p>\xc3x", id="no-utf-8"),
        pytest.param(b"<a href='\xed\xa0\x80'>\xed\xa0\x80</a>", id="surrogates-in-utf-8"),
        pytest.param(b"<p title='&#xD800;'>&#0;&#xD800;&#x110000;</p>", id="impossible-references"),
        pytest.param(b"<" * 5_000, id="only-openings"),
        pytest.param(b"<a href=x>" * 2_000, id="open-anchors"),
        pytest.param(b"<table><b>" * 500, id="misnested"),
    ],
)
def test_what_comes_out_can_always_be_written(content: bytes) -> None:
    reading = read_html(content)

    for text in (reading.text, *(part for anchor in reading.anchors for part in anchor[:3])):
        text.encode()


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        pytest.param("<nav><a href=1></a></nav><a href=2></a>", [NAVIGATION, ELSEWHERE], id="followed"),
        pytest.param(
            "<nav><a href=1></a></nav>text<!-- c --><a href=2></a>", [NAVIGATION, ELSEWHERE], id="text"
        ),
        pytest.param(
            "<div><nav><a href=1></a></nav></div><a href=2></a>", [NAVIGATION, ELSEWHERE], id="last-child"
        ),
        pytest.param(
            "<a href=0></a><main><nav><a href=1></a></nav></main>",
            [ELSEWHERE, NAVIGATION],
            id="ends-the-page",
        ),
        pytest.param(
            "<main><a href=1></a><aside><a href=2></a></aside><a href=3></a></main><a href=4></a>",
            [MAIN, ASIDE, MAIN, ELSEWHERE],
            id="nested",
        ),
        pytest.param(
            "<aside><x-a><nav><a href=1></a></nav></x-a><a href=2></a></aside><x-a><a href=3></a></x-a>",
            [NAVIGATION, ASIDE, ELSEWHERE],
            id="names-of-their-own",
        ),
        pytest.param("<nav></nav><a href=1></a><nav></nav><nav>x</nav>", [ELSEWHERE], id="empty"),
    ],
)
def test_the_region_of_an_anchor_is_the_innermost_around_it(body: str, expected: list[int]) -> None:
    assert list(read_html(body.encode()).anchors.regions) == expected


def test_deeply_nested_regions_are_distinguished_in_bounded_time() -> None:
    depth = 1_500
    body = b"<nav>" * depth + b"<a href=1>x</a>" + b"</nav>" * depth + b"<a href=2>y</a>"

    assert list(read_html(body).anchors.regions) == [NAVIGATION, ELSEWHERE]


@pytest.mark.parametrize("spaces", range(1, 12))
@pytest.mark.parametrize("space", [" ", "\n", "\t ", "&nbsp;", "\r\n"])
def test_a_run_of_any_length_is_one_space(spaces: int, space: str) -> None:
    run = space * spaces

    assert read_html(f"<p>a{run}b{run}c<p>d<p>{run}e{run}f{run}".encode()).text.split("\n")[:2] == [
        "a b c",
        "d",
    ]
    assert read_html(f"<p>a{run}b".encode()).text == "a b"


def test_of_link_elements_those_that_lead_to_pages_are_read() -> None:
    """Most name style sheets and images; a rel is a list of values in any case."""
    found = read_html(
        b"<link rel=stylesheet href=/a.css><link rel=icon href=/b><link href=/c><link rel=next-page href=/d>"
        b"<link rel='Alternate  Home' href=/e hreflang=' de ' type='Text/HTML'>"
        b"<link rel=PREV><link rel=canonical href=/f>"
    ).links

    assert found == [
        LinkTag("alternate  home", "/e", "de", "text/html"),
        LinkTag("prev", "", "", ""),
        LinkTag("canonical", "/f", "", ""),
    ]


def test_visible_frames_are_links_of_their_own_kind() -> None:
    """Counters and tag managers put frames of one pixel into most pages."""
    page = read(
        b"<p>x<a href=/a>a</a><iframe src=/map title='The  map'></iframe><iframe src=/a></iframe>"
        b"<iframe src=https://count.test/1 width=1 height=1></iframe><iframe src=/no hidden></iframe>"
        b"<noscript><iframe src=https://tags.test/ style='display: none'></iframe></noscript>"
        b"<iframe srcdoc='<p>y'></iframe><iframe src=about:blank></iframe>",
        url="https://site.test/",
    )

    assert list(zip(page.link_urls, page.link_anchors, page.link_rels, strict=True)) == [
        ("https://site.test/a", "a", 0),
        ("https://site.test/map", "The map", 64),
    ]
    assert page.text == "xa"


def test_a_set_of_frames_leads_on() -> None:
    """Otherwise no page of such a site would be found."""
    page = read(
        b"<html><head><title>Old</title></head><frameset cols=20,80><frame src=menu.html name=menu>"
        b"<frame src=start.html><noframes><a href=/no>no</a></noframes></frameset></html>",
        url="https://site.test/",
    )

    assert page.link_urls == ("https://site.test/menu.html", "https://site.test/start.html")
    assert page.link_rels == (64, 64)


@pytest.mark.parametrize("level", list(ExtractionLevel))
def test_a_page_of_frames_is_read_at_every_level(level: ExtractionLevel) -> None:
    """It has no body: neither blocks nor anything that follows from them."""
    data = "<script type=application/ld+json>{}</script>"
    page = read(
        f"<title>Old</title>{data}<frameset><frame src=/menu.html></frameset>",
        limits=ParseLimits(extraction=level),
    )

    assert (page.outcome, page.title, page.text) == ("parsed", "Old", "")
    assert page.link_urls == ("https://site.test/menu.html",)
