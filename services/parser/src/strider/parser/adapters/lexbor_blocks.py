"""Lexbor's tree as blocks: one walk over what is visible, before anything takes the tree apart.

Decides what parts text and which elements say nothing. What is main text is the core's decision.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from typing import Final

from selectolax.lexbor import LexborNode

from strider.parser.core.content.text_blocks import PageBlocks, TextBlock, container_flags

from .lexbor_markdown import MARKS, Pen
from .lexbor_tags import COMMENT, TEXT, tag_numbers

STREAMED: Final = "S:"

_SILENT: Final = frozenset(
    [
        *("script", "style", "noscript", "template", "svg", "iframe", "object", "embed", "canvas", "audio"),
        *("video", "select", "datalist", "textarea", "head", "title", "noframes", "noembed", "frameset"),
        *("dialog", "button", "input", "map", COMMENT, "meter", "progress", "math", "optgroup"),
        *("nav", "footer"),  # never the text, and much to walk over
        *("img", "source", "track", "param", "link", "meta", "col", "colgroup", "area"),
    ]
)
_WITHIN_LINE: Final = frozenset(
    [
        *(
            "a",
            "abbr",
            "acronym",
            "b",
            "bdi",
            "bdo",
            "big",
            "cite",
            "code",
            "data",
            "del",
            "dfn",
            "em",
            "font",
        ),
        *("i", "ins", "kbd", "label", "mark", "nobr", "q", "ruby", "s", "samp", "small", "span", "strike"),
        *("strong", "sub", "sup", "time", "tt", "u", "var", "picture", "wbr", "rb", "rt", "rp"),
    ]
)
_KINDS: Final = frozenset(
    [
        "p",
        "h1",
        "h2",
        "h3",
        "h4",
        "h5",
        "h6",
        "li",
        "td",
        "th",
        "pre",
        "blockquote",
        "dt",
        "dd",
        "figcaption",
        "summary",
    ]
)
_PLACES: Final = frozenset(
    [
        *(
            "div",
            "section",
            "article",
            "main",
            "aside",
            "nav",
            "footer",
            "header",
            "ul",
            "ol",
            "table",
            "form",
        ),
        *("center", "fieldset", "dl", "details", "tbody", "figure", "hgroup", "menu", "address", "body"),
    ]
)


_INLINE: Final = 0
_LINK: Final = 1
_MARKED: Final = 2
_BREAK: Final = 3
_MUTE: Final = 4
_BLOCK: Final = 5
_PICTURE: Final = 6
"""What an element does to the text around it: only a block parts it."""


class _Walk:
    """Gathers text until a block ends."""

    __slots__ = ("kind", "link_chars", "links", "out", "parts", "pen", "place", "pre", "row")

    def __init__(self, pen: Pen | None) -> None:
        self.out = PageBlocks([], [-1], [0], ["body"])
        self.parts: list[str] = []
        self.pen = pen
        self.link_chars = self.links = self.place = self.row = self.pre = 0
        self.kind = "div"

    def flush(self) -> None:
        pen = self.pen
        said = pen.take() if pen is not None else ""
        if self.parts:
            raw = "".join(self.parts)
            text = raw.strip("\n") if self.pre else _spaced(raw)
            if text and not text.isspace():
                said = text if self.pre and pen is not None else said
                levels = () if pen is None else pen.levels
                block = text, self.kind, self.link_chars, self.place, self.row, said, levels
                self.out.blocks.append(tuple.__new__(TextBlock, block))  # cheaper than by name
                said = ""
            self.parts.clear()
        if said and pen is not None and not self.pre:
            self.out.blocks.append(TextBlock("", "img", 0, self.place, self.row, said, pen.levels))
        self.link_chars = 0

    def enter(self, name: str, node: LexborNode) -> None:
        """Begin a block."""
        pen = self.pen
        if self.parts or (pen is not None and pen.has_picture):
            self.flush()
        if pen is not None:
            pen.begin(name, node)
        if name in _KINDS:
            self.kind = name
            self.pre += name == "pre"
        elif name == "tr":
            self.row += 1
        if name in _PLACES:
            self.kind = "div" if self.kind not in _KEPT_WITHIN else self.kind
        elif name not in _SMALL_PLACES:
            return
        out, said = self.out, node.attributes
        out.flags.append(
            container_flags(name, said.get("class"), said.get("id"), said.get("role"))
            if said
            else container_flags(name)
        )
        out.parents.append(self.place)
        out.tags.append(name)
        self.place = len(out.parents) - 1

    def leave(self, name: str, place: int, kind: str) -> None:
        """End a block."""
        pen = self.pen
        if self.parts or (pen is not None and pen.has_picture):
            self.flush()
        if pen is not None:
            pen.end(name)
        self.kind, self.place = kind, place
        self.pre -= name == "pre"


def _spaced(raw: str) -> str:
    """Make every run of white space one space; a text that a look finds without any is left as it is."""
    if "\n" in raw or "  " in raw or not raw.isprintable():  # printable: no white space but spaces
        return " ".join(raw.split())
    return raw.strip(" ")


_KEPT_WITHIN: Final = frozenset({"li", "td", "th", "blockquote"})
"""What stays what it is, whatever boxes it is made of."""

_SMALL_PLACES: Final = frozenset({"li", "p", "figcaption"})


def read_blocks(  # noqa: C901, PLR0912  # sees every node of every page: a call for each would double its cost
    body: LexborNode,
    hidden_nodes: Iterable[LexborNode],
    *,
    with_markdown: bool = False,
    with_noscript: bool = False,
) -> PageBlocks:
    """Walk over the tree; not recursive, because pages nest as deep as they like."""
    pen = Pen() if with_markdown else None
    walk, deeds = _Walk(pen), _deeds(with_markdown=with_markdown, with_noscript=with_noscript)
    hidden = {node.mem_id for node in hidden_nodes}
    parts, text_number = walk.parts, tag_numbers()[TEXT]
    open_elements: list[tuple[LexborNode, int, str, int, str]] = []
    node = body.first_child
    while node is not None or open_elements:
        if node is None:
            node, deed, name, place, kind = open_elements.pop()
            if deed == _BLOCK:
                walk.leave(name, place, kind)
            elif deed == _LINK:
                walk.links -= 1
            if pen is not None and deed in _OPENED:
                pen.close()
            node = node.next
            continue
        number = node.tag_id
        if number == text_number:
            text = node.text_content or ""
            parts.append(text)
            if pen is not None:
                pen.text(text)
            if walk.links:
                walk.link_chars += len(text.strip())
            node = node.next
            continue
        deed, name = deeds.get(number, _UNKNOWN)
        if deed == _MUTE or (hidden and node.mem_id in hidden):
            if name in _PLACES:
                walk.flush()
            node = node.next
            continue
        open_elements.append((node, deed, name, walk.place, walk.kind))
        if deed == _BLOCK:
            walk.enter(name, node)
        elif deed == _LINK:
            walk.links += 1
        elif deed == _BREAK:
            parts.append("\n")
        if pen is not None:
            _follow(pen, deed, name, node)
        node = node.first_child
    walk.flush()
    return walk.out


def _follow(pen: Pen, deed: int, name: str, node: LexborNode) -> None:
    """Let the pen know of an element within a line."""
    if deed in _OPENED:
        pen.open(name, node)
    elif deed == _BREAK:
        pen.break_line()
    elif deed == _PICTURE:
        pen.picture(node)


_OPENED: Final = frozenset({_LINK, _MARKED})


@cache
def _deeds(*, with_markdown: bool, with_noscript: bool) -> dict[int, tuple[int, str]]:
    """Say of each element, by its number, what it does; and what it is called."""
    deeds = dict.fromkeys(_PLACES | _KINDS | {"tr"}, _BLOCK) | dict.fromkeys(_WITHIN_LINE, _INLINE)
    deeds |= {"a": _LINK, "br": _BREAK} | dict.fromkeys(_SILENT, _MUTE)
    if with_markdown:
        deeds |= {name: _MARKED for name in MARKS if name != "a"} | {"img": _PICTURE}
    if with_noscript:
        deeds["noscript"] = _BLOCK
    return {number: (deeds.get(name, _BLOCK), name) for name, number in tag_numbers().items()}


_UNKNOWN: Final = (_BLOCK, "")
_MAYBE_HIDDEN: Final = '[hidden],[style*="display" i]'


def find_hidden(body: LexborNode) -> list[LexborNode]:
    """Find the elements that are not shown, in the order of the page."""
    return [node for node in body.css(_MAYBE_HIDDEN) if _is_hidden(node.attributes)]


def find_unsaid(
    body: LexborNode, hidden: Iterable[LexborNode], *, has_code: bool = False
) -> list[LexborNode]:
    """Find what is no part of the text: what is hidden and never opened, and what only eyes are told."""
    beside = body.css(_BESIDE_TEXT) if has_code else []
    return [*(node for node in hidden if not _is_collapsed(node)), *body.css(_FOR_EYES), *beside]


_FOR_EYES: Final = 'span[aria-hidden="true"]'
"""Within a line: an ornament, or what is said beside it in other words (prices, formulas). Boxes are more."""


_BESIDE_TEXT: Final = (
    "td.linenos,td.lineno,td.gutter,td.rouge-gutter,span.linenos,span.lineno,div.linenodiv,"
    "a.headerlink,a.header-anchor,a.anchor-link,a.hash-link"
)
"""What programs that write manuals put beside it: numbers of lines, and a heading's link to itself.

Where there is no code there are no manuals, and nothing is looked for."""


def _is_collapsed(node: LexborNode) -> bool:
    """Say whether what is not shown is a part of the page all the same: a tab, or what a heading opens.

    Dialogs and menus have a label as well, but a role of their own.
    """
    said = node.attributes
    role = said.get("role") or ""
    return role in _OPENED_ROLES or (not role and bool(said.get("aria-labelledby")))


_OPENED_ROLES: Final = frozenset({"tabpanel", "region"})


def _is_hidden(attributes: dict[str, str | None]) -> bool:
    if "hidden" in attributes:
        if (attributes["hidden"] or "").lower() == "until-found":
            return False
        # Streamed pages are sent in such pieces, which a script shows in their place.
        return not (attributes.get("id") or "").startswith(STREAMED)
    style = (attributes.get("style") or "").lower()
    return "display" in style and "none" in style.replace(" ", "").partition("display:")[2][:5]
