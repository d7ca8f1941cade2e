"""Markdown of the main text: structure is kept, and plain text is escaped."""

from __future__ import annotations

import pytest

from strider.contracts.generated.enums import ExtractionLevel
from strider.parser.core import ParseLimits
from tests.processor_cost import assert_cheap
from tests.unit.parser.pages import read

LONG = "A sentence of some length that says what the page is about, with a comma. " * 4
WITH, WITHOUT = (
    ParseLimits(extraction=ExtractionLevel.MAIN, with_markdown=True),
    ParseLimits(extraction=ExtractionLevel.MAIN),
)


def markdown_of(html: str) -> str:
    """Return the Markdown after a paragraph that makes the block the main text."""
    page = read(f"<body><main><p>{LONG}</p>{html}</main>", limits=WITH)
    first, _, rest = page.markdown.partition("\n\n")
    assert first == LONG.strip()
    assert page.main_text == read(f"<body><main><p>{LONG}</p>{html}</main>", limits=WITHOUT).main_text
    return rest


@pytest.mark.parametrize(
    ("html", "expected"),
    [
        pytest.param(
            "<ul><li>one<ul><li>a<ol start=3><li>x<li>y</ol></ul><li>two</ul>",
            "- one\n  - a\n    3. x\n    4. y\n- two",
            id="lists in lists",
        ),
        pytest.param("<ol><li>one<li value=5>five<li>six</ol>", "1. one\n5. five\n6. six", id="numbers"),
        pytest.param(
            "<ul><li><p>one</p><p>more</p><pre>x\n y</pre><li>two</ul>",
            "- one\n\n  more\n\n  ```\n  x\n   y\n  ```\n\n- two",
            id="parts of an item",
        ),
        pytest.param(
            "<blockquote><p>one</p><p>two</p><ul><li>a</ul><blockquote>in</blockquote></blockquote>",
            "> one\n>\n> two\n>\n> - a\n>\n> > in",
            id="quotations",
        ),
        pytest.param(
            "<table><tr><th>k<th>v<th>w<tr><td>1<td><td><b>3</b>"
            "<tr><td rowspan=2>a|b<td>2<td>3<tr><td>4</table>",
            "| k | v | w |\n| --- | --- | --- |\n| 1 |  | **3** |\n| a\\|b | 2 | 3 |\n|  | 4 |  |",
            id="a table with holes",
        ),
        pytest.param(
            "<table><tr><td><p>one</p><p>two</p><td>x<tr><td>a<br>b<td>y</table>",
            "| one two | x |\n| --- | --- |\n| a b | y |",
            id="cells of several parts",
        ),
        pytest.param(
            "<table><tr><td><h2>Head</h2><p>text</p><td><ul><li>a</ul></table>",
            "## Head\n\ntext\n\n- a",
            id="a table that only sets things beside each other",
        ),
        pytest.param(
            "<pre class='language-py'>a = ```</pre><div class='highlight-source-js'><pre>x</pre></div>"
            "<pre><code class='hljs lang-c++'>y</code></pre>",
            "````py\na = ```\n````\n\n```js\nx\n```\n\n```c++\ny\n```",
            id="code and its language",
        ),
        pytest.param(
            "<p>Whoever wants to know more may see <a href='/a?b=(1)&amp;c d'>the [link] </a>and "
            "<a href='#x'>here</a> <a href='javascript:x'>there</a></p>",
            "Whoever wants to know more may see [the \\[link\\]](https://site.test/a?b=%281%29&c%20d) "
            "and here there",
            id="links",
        ),
        pytest.param(
            "<p><img src=/a.png alt='A [pic]'></p><p>x <img src=data:x data-src=b.png> y</p>"
            "<img src=/count.gif width=1 height=1>",
            "![A \\[pic\\]](https://site.test/a.png)\n\nx ![](https://site.test/folder/b.png) y",
            id="pictures",
        ),
        pytest.param(
            "<p><b>one</b><b> two </b>three<i><b>four</b></i><em></em> <b><p>five</p></b>",
            "**one** **two** three***four***\n\n**five**",
            id="emphasis stands close",
        ),
        pytest.param("<p>a `b` <code>c`d</code> <code>`</code></p>", "a \\`b\\` ``c`d`` `` ` ``", id="ticks"),
        pytest.param("<p>one<br>two<br><br>three</p>", "one  \ntwo  \nthree", id="lines"),
        pytest.param(
            r"<p>* 5 * 3 *x* snake_case _y_ &lt;b&gt; a &lt; b AT&amp;T &amp;amp; c:\new \* [a](b) ~~z~~</p>",
            r"\* 5 * 3 \*x\* snake_case \_y\_ \<b> a < b AT&T \&amp; c:\new \\\* [a\](b) \~~z\~~",
            id="what is only text",
        ),
        pytest.param(
            "<p># one</p><p>- two</p><p>3. three</p><p>&gt; four</p><p>2024 was</p><p>#five</p>",
            "\\# one\n\n\\- two\n\n3\\. three\n\n\\> four\n\n2024 was\n\n#five",
            id="what only begins like something",
        ),
    ],
)
def test_markdown(html: str, expected: str) -> None:
    assert markdown_of(html) == expected


def test_nesting_is_bounded() -> None:
    deep = markdown_of(f"{'<ul><li>' * 300}x")

    assert deep.strip().endswith("- x")
    assert len(deep) < 200


@pytest.mark.parametrize(
    "content",
    [
        pytest.param(
            b"<table><tr>" + b"<td colspan=60 rowspan=99999>x" * 5_000 + b"<tr><td>y" * 5_000, id="spans"
        ),
        pytest.param(b"<pre>" * 1_500 + b"<b>x</b>" * 20_000, id="code in code"),
        pytest.param(b"<ul><li>x" * 1_500 + b"<li>y" * 20_000, id="lists in lists"),
        pytest.param(b"<table><tr><td>" + b"<p>x" * 20_000 + b"<td>y", id="a cell"),
    ],
)
def test_markdown_takes_no_time_by_the_square_of_a_page(content: bytes) -> None:
    limits = ParseLimits(extraction="main", with_markdown=True)

    assert_cheap(lambda: read(content, limits=limits), yardsticks=800)
