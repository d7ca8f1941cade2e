"""Main text: surroundings are removed, content stays, on each kind of page."""

from __future__ import annotations

import json

import pytest

from strider.contracts.generated.enums import ExtractionLevel, PageKind
from strider.contracts.generated.events import PageParsed
from strider.parser.adapters.workers.worker import WorkerConfig
from strider.parser.core import ParseLimits
from strider.parser.core.content.main_text import blocks_to_text
from strider.parser.core.content.text_blocks import TextBlock
from strider.parser.core.html.models import ExtractionDepth
from tests.processor_cost import assert_cheap
from tests.unit.parser.pages import read

LONG = "This sentence is long enough to be one that somebody has written for people who read. " * 3
FULL = ParseLimits(extraction=ExtractionLevel.MAIN, with_markdown=True)


def main_of(html: str, **fields: str) -> PageParsed:
    return read(html, limits=FULL, **fields)


def paragraphs(count: int) -> str:
    return "".join(f"<p>Part {number}. {LONG}</p>" for number in range(count))


@pytest.mark.req("S1.2.21")
@pytest.mark.parametrize(
    "around",
    [
        pytest.param("<nav><a href=/>Around</a></nav>", id="navigation"),
        pytest.param("<div class='site-sidebar'><p>Around</p></div>", id="named so"),
        pytest.param("<div role=complementary>Around</div>", id="role"),
        pytest.param("<section id=relatedPosts><h2>Around</h2></section>", id="camel case"),
        pytest.param("<header><p>Around</p></header>", id="header of the page"),
        pytest.param("<div class=comments><p>Around</p></div>", id="remarks on an article"),
        pytest.param("<div style='display: none'>Around</div>", id="hidden"),
        pytest.param(
            "<div hidden role=dialog aria-labelledby=x>Around</div>", id="a dialog that has a label"
        ),
        pytest.param("<p>Price: 5 <span aria-hidden=true>Around</span></p>", id="text for the eye only"),
        pytest.param("<p><a href=/x>Around and a few more words</a></p>", id="a link between"),
        pytest.param("<form><p>Around</p></form>", id="a form"),
        pytest.param("<figure><figcaption>Around</figcaption></figure>", id="what stands under a picture"),
        pytest.param("<div class=user-avatar>Around</div>", id="who wrote it"),
        pytest.param(
            "<div class=bbCodeBlock--expandable>Around</div>", id="a quotation of what stands above"
        ),
    ],
)
def test_marginal_content_is_left_out(around: str) -> None:
    page = main_of(f"<body>{around}<div>{paragraphs(3)}</div>{around}")

    assert "Around" not in page.main_text
    assert page.main_text.count("Part ") == 3


@pytest.mark.parametrize(
    "html",
    [
        pytest.param(f"<div class=sidebar-layout>{paragraphs(3)}</div>", id="all of it is named so"),
        pytest.param(
            f"<article><header><h1>Part head</h1></header>{paragraphs(2)}</article>", id="its own header"
        ),
        pytest.param(
            "".join(f"<div class=elementor-widget><p>Part {n}. {LONG}</p></div>" for n in range(3)),
            id="page builder",
        ),
        pytest.param(
            "".join(f"<div class=widget><p>Part {n}. {LONG}</p></div>" for n in range(3)),
            id="parts of a builder",
        ),
        pytest.param(
            "".join(f"<div id=widget_{n} class=row><p>Part {n}. {LONG}</p></div>" for n in range(3)),
            id="numbered by a builder",
        ),
        pytest.param(
            "".join(f"<div id=block-28addc53ad><p>Part {n}. {LONG}</p></div>" for n in range(3)),
            id="a hash with letters of an advertisement",
        ),
        pytest.param(
            "".join(f"<div class=comment><p>Part {n}. {LONG}</p></div>" for n in range(3)), id="discussion"
        ),
        pytest.param(f"<div hidden id='S:0'>{paragraphs(3)}</div>", id="streamed"),
        pytest.param(f"<h2>Head</h2><div role=tabpanel hidden>{paragraphs(3)}</div>", id="a tab"),
        pytest.param(
            f"<h3 id=q>Head</h3><div aria-labelledby=q style='display:none'>{paragraphs(3)}</div>",
            id="what a heading opens",
        ),
        pytest.param(f"<h2>Head</h2><div hidden=until-found>{paragraphs(3)}</div>", id="what a search opens"),
        pytest.param(
            f"<div class=read-more>{paragraphs(1)}</div>{paragraphs(3)[len(paragraphs(1)) :]}<div></div>",
            id="the rest of it",
        ),
        pytest.param(
            f"<div>Loading</div><div style='display:none'>{paragraphs(3)}</div>",
            id="hidden until scripts run",
        ),
        pytest.param(f"<noscript>{paragraphs(3)}</noscript><div>Loading</div>", id="without scripts"),
        pytest.param(
            f"<div>Loading</div><script>x={json.dumps({'cooked': paragraphs(3)})}</script>", id="for scripts"
        ),
    ],
)
def test_what_belongs_to_the_text_stays(html: str) -> None:
    assert main_of(f"<body>{html}").main_text.count("Part ") == 3


def test_a_list_of_links_is_the_text_where_there_is_no_other() -> None:
    items = "".join(f"<li><a href=/{n}>Item number {n} of the list</a></li>" for n in range(30))

    page = main_of(
        f"<body><main><h1>All items</h1><ul>{items}</ul></main>", url="https://site.test/category/x"
    )

    assert page.main_text.count("Item number") == 30
    assert page.page_kind == PageKind.LIST


def test_markdown_keeps_the_structure() -> None:
    page = main_of(
        f"<body><main><h2>Head</h2><p>{LONG} <b>bold</b> and <code>x()</code></p><ul><li>one<li>two</ul>"
        "<pre>a\n  b</pre><table><tr><th>k<th>v<tr><td>1<td>2</table></main>"
    )

    table = "| k | v |\n| --- | --- |\n| 1 | 2 |"
    prose = f"{LONG}**bold** and `x()`"
    listed = "- one\n- two\n\n```\na\n  b\n```"
    assert page.markdown == f"## Head\n\n{prose}\n\n{listed}\n\n{table}"


def test_a_row_may_be_as_long_as_it_likes() -> None:
    """Cells are joined once at the end: one by one would take quadratic time."""
    blocks = [TextBlock(f"{at:08}", "td", 0, 0, 1) for at in range(200_000)]
    row = [TextBlock("before", "p", 0, 0, 0), *blocks, TextBlock("behind", "td", 0, 0, 2)]

    text = assert_cheap(lambda: blocks_to_text(row), yardsticks=300)

    assert text.startswith("before\n00000000 | 00000001 | ")
    assert text.endswith(" | 00199999\nbehind")


def test_depth_is_no_matter() -> None:
    """The traversal keeps its own stack: a page's nesting must not become a recursion."""
    assert "Part 1" in main_of(f"<body>{'<div>' * 1_900}{paragraphs(3)}").main_text


def test_the_basic_level_has_no_main_text() -> None:
    page = read(f"<body>{paragraphs(3)}")

    assert (page.extraction, page.main_text, page.simhash) == (ExtractionLevel.BASIC, "", 0)


def test_the_service_extracts_as_much_as_is_set() -> None:
    """Settings travel to the workers as JSON, including the level."""
    config = WorkerConfig(parent_pid=1, limits=FULL)

    assert WorkerConfig.from_json(config.to_json()).limits.extraction_depth == ExtractionDepth(
        has_blocks=True, with_markdown=True
    )


def test_a_list_is_not_lost_to_the_words_of_a_dialog() -> None:
    """Cards are links, which weigh little; a dialog of sentences is not the main text."""
    cards = "".join(
        f"<div class=card><a href=/p/{n}>Thing number {n}</a> <b>{n}.99</b></div>" for n in range(60)
    )
    page = main_of(f"<div class=grid>{cards}</div><div class=box><p>{LONG}</p><p>Another. {LONG}</p></div>")

    assert page.main_text.count("Thing number") == 60


def test_a_card_that_is_one_link_is_text() -> None:
    card = f"<div><p><a href=/x>{LONG}</a></p><p><a href=/y>A short link</a></p></div>"
    page = main_of(f"<div>{paragraphs(4)}{card}</div>")

    assert page.main_text.count(LONG.strip()) == 5
    assert "A short link" not in page.main_text


def test_links_among_prose_are_its_own() -> None:
    """A list or a line of links between paragraphs belongs to them; one in a box of its own does not."""
    own = "<ul><li><a href=/1>One of its own</a></li></ul><p>See: <a href=/2>Another of its own</a></p>"
    other = "<div><ul><li><a href=/3>One of the others</a></li></ul></div>"

    text = main_of(f"<div>{paragraphs(2)}{own}{paragraphs(1)}{other}</div>").main_text

    assert ("One of its own" in text, "Another of its own" in text, "the others" in text) == (
        True,
        True,
        False,
    )


@pytest.mark.parametrize(
    "beside",
    [
        pytest.param(f"<div class=popup>{paragraphs(5)}</div>", id="named so, and larger"),
        pytest.param(f"<div>{paragraphs(2)}</div>", id="without a name, and smaller"),
    ],
)
def test_a_declared_main_part_is_preferred(beside: str) -> None:
    page = main_of(f"{beside.replace('Part', 'Beside')}<main>{paragraphs(3)}</main>")

    assert (page.main_text.count("Part "), page.main_text.count("Beside")) == (3, 0)


def test_an_article_that_is_most_of_the_page_is_its_text() -> None:
    beside = f"<div><h3>The firm</h3>{paragraphs(2).replace('Part', 'Beside')}</div>"
    page = main_of(f"<div><article>{paragraphs(3)}</article>{beside}</div>")

    assert (page.main_text.count("Part "), page.main_text.count("Beside")) == (3, 0)


@pytest.mark.parametrize(
    ("text", "is_article"),
    [
        pytest.param(f"<article>{paragraphs(3)}</article>", True, id="on an article"),
        pytest.param(f"<div>{paragraphs(3)}</div>", False, id="among what opens a discussion"),
    ],
)
def test_remarks_are_left_out_however_many_where_they_are_on_an_article(text: str, is_article: bool) -> None:
    remarks = "".join(f"<div class=comment><p>Remark {number}. {LONG}</p></div>" for number in range(6))
    page = main_of(f"{text}<div class=comments>{remarks}</div>")

    assert page.main_text.count("Part ") == 3
    assert page.main_text.count("Remark ") == (0 if is_article else 6)


def test_a_heading_stays_with_what_is_short_beside_it() -> None:
    """Names and prices weigh little; where they are a good part of the page, its heading is theirs."""
    short = "".join(f"<div>Size {number}, 19.90</div>" for number in range(30))
    page = main_of(f"<div><div><h1>The thing</h1>{short}</div><div>{paragraphs(4)}</div></div>")

    assert "The thing" in page.main_text
    assert (page.main_text.count("Size "), page.main_text.count("Part ")) == (30, 4)


def test_a_list_behind_the_last_paragraph_is_no_part_of_the_text() -> None:
    links = "<ul><li><a href=/1>You might like this</a></li></ul>"

    text = main_of(f"<div>{paragraphs(2)}{links}</div>").main_text

    assert "You might like" not in text


def test_a_main_part_that_is_empty_is_none() -> None:
    page = main_of(f"<main><a href=/x>Loading</a></main><div class=popup>{paragraphs(3)}</div>")

    assert page.main_text.count("Part ") == 3


def test_repeated_blocks_are_kept_once() -> None:
    """Variants for wide and narrow screens; cells and short words may repeat."""
    twice = "<p>The same for narrow screens.</p>" * 2 + "<p>Yes</p>" * 2
    cells = "<table><tr><td>available now</td><td>available now</td></tr></table>"
    page = main_of(f"<div>{paragraphs(2)}{twice}{cells}</div>")

    assert page.main_text.count("narrow screens") == 1
    assert page.main_text.count("Yes") == 2
    assert page.main_text.count("available now") == 2


@pytest.mark.parametrize(
    "beside",
    [
        pytest.param("<table><tr><td class=linenos><pre>71\n72</pre><td class=code>{}</table>", id="column"),
        pytest.param("<h2>Part<a class=headerlink href=#part>¶</a></h2>{}", id="sphinx"),
        pytest.param("<h2>Part <a class=header-anchor href=#part>#</a></h2>{}", id="vitepress"),
    ],
)
def test_what_manuals_put_beside_their_text_is_none(beside: str) -> None:
    """Line numbers, and a heading's link to itself."""
    code = "<pre>first line\nsecond line</pre>"
    text = main_of(f"<article><h1>Manual</h1>{paragraphs(3)}{beside.format(code)}{paragraphs(3)}").main_text

    assert "first line\nsecond line" in text
    assert not any(sign in text for sign in ("71", "¶", "#"))


def test_a_link_that_is_only_called_so_stays_where_there_is_no_code() -> None:
    assert (
        "Named" in main_of(f"<article>{paragraphs(3)}<p>See <a class=headerlink href=/n>Named</a>").main_text
    )
