"""Lexbor's tree as blocks: one walk over what is visible, before anything takes the tree apart.

Decides what parts text and which elements say nothing. What is main text is the core's decision.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from typing import Final

from selectolax.lexbor import LexborNode

from strider.parser.core.content.text_blocks import PageBlocks, TextBlock, container_flags

from .markdown import INLINE_MARKS, MarkdownWriter
from .tag_ids import COMMENT, TEXT, tag_ids

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
_INLINE_TAGS: Final = frozenset(
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
_SKIP: Final = 4
_BLOCK: Final = 5
_IMAGE: Final = 6
"""What an element does to the text around it: only a block parts it."""


class _Walk:
    """Gathers text until a block ends."""

    __slots__ = ("kind", "link_chars", "links", "out", "parts", "pen", "place", "pre", "row")

    def __init__(self, writer: MarkdownWriter | None) -> None:
        self.out = PageBlocks([], [-1], [0], ["body"])
        self.parts: list[str] = []
        self.writer = writer
        self.link_chars = self.links = self.place = self.row = self.open_pres = 0
        self.kind = "div"

    def flush(self) -> None:
        writer = self.writer
        said = writer.take_text() if writer is not None else ""
        if self.parts:
            raw = "".join(self.parts)
            text = raw.strip("\n") if self.open_pres else _collapse_spaces_in_all(raw)
            if text and not text.isspace():
                said = text if self.open_pres and writer is not None else said
                levels = () if writer is None else writer.levels
                block = text, self.kind, self.link_chars, self.place, self.row, said, levels
                self.out.blocks.append(tuple.__new__(TextBlock, block))  # cheaper than by name
                said = ""
            self.parts.clear()
        if said and writer is not None and not self.open_pres:
            self.out.blocks.append(TextBlock("", "img", 0, self.place, self.row, said, writer.levels))
        self.link_chars = 0

    def enter(self, name: str, node: LexborNode) -> None:
        """Begin a block."""
        writer = self.writer
        if self.parts or (writer is not None and writer.has_image):
            self.flush()
        if writer is not None:
            writer.enter_block(name, node)
        if name in _KINDS:
            self.kind = name
            self.open_pres += name == "pre"
        elif name == "tr":
            self.row += 1
        if name in _PLACES:
            self.kind = "div" if self.kind not in _KINDS_KEPT_IN_CONTAINERS else self.kind
        elif name not in _SMALL_CONTAINER_TAGS:
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
        writer = self.writer
        if self.parts or (writer is not None and writer.has_image):
            self.flush()
        if writer is not None:
            writer.leave_block(name)
        self.kind, self.place = kind, place
        self.open_pres -= name == "pre"


def _collapse_spaces_in_all(raw: str) -> str:
    """Make every run of white space one space; a text that a look finds without any is left as it is."""
    if "\n" in raw or "  " in raw or not raw.isprintable():  # printable: no white space but spaces
        return " ".join(raw.split())
    return raw.strip(" ")


_KINDS_KEPT_IN_CONTAINERS: Final = frozenset({"li", "td", "th", "blockquote"})
"""What stays what it is, whatever boxes it is made of."""

_SMALL_CONTAINER_TAGS: Final = frozenset({"li", "p", "figcaption"})


def read_blocks(  # noqa: C901, PLR0912  # sees every node of every page: a call for each would double its cost
    body: LexborNode,
    hidden_nodes: Iterable[LexborNode],
    *,
    with_markdown: bool = False,
    with_noscript: bool = False,
) -> PageBlocks:
    """Walk over the tree; not recursive, because pages nest as deep as they like."""
    writer = MarkdownWriter() if with_markdown else None
    walk, deeds = _Walk(writer), _tag_actions(with_markdown=with_markdown, with_noscript=with_noscript)
    hidden = {node.mem_id for node in hidden_nodes}
    parts, text_number = walk.parts, tag_ids()[TEXT]
    open_elements: list[tuple[LexborNode, int, str, int, str]] = []
    node = body.first_child
    while node is not None or open_elements:
        if node is None:
            node, deed, name, place, kind = open_elements.pop()
            if deed == _BLOCK:
                walk.leave(name, place, kind)
            elif deed == _LINK:
                walk.links -= 1
            if writer is not None and deed in _OPENED:
                writer.close_mark()
            node = node.next
            continue
        number = node.tag_id
        if number == text_number:
            text = node.text_content or ""
            parts.append(text)
            if writer is not None:
                writer.write_text(text)
            if walk.links:
                walk.link_chars += len(text.strip())
            node = node.next
            continue
        deed, name = deeds.get(number, _UNKNOWN)
        if deed == _SKIP or (hidden and node.mem_id in hidden):
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
        if writer is not None:
            _follow(writer, deed, name, node)
        node = node.first_child
    walk.flush()
    return walk.out


def _follow(writer: MarkdownWriter, deed: int, name: str, node: LexborNode) -> None:
    """Let the pen know of an element within a line."""
    if deed in _OPENED:
        writer.open_mark(name, node)
    elif deed == _BREAK:
        writer.write_line_break()
    elif deed == _IMAGE:
        writer.picture(node)


_OPENED: Final = frozenset({_LINK, _MARKED})


@cache
def _tag_actions(*, with_markdown: bool, with_noscript: bool) -> dict[int, tuple[int, str]]:
    """Say of each element, by its number, what it does; and what it is called."""
    deeds = dict.fromkeys(_PLACES | _KINDS | {"tr"}, _BLOCK) | dict.fromkeys(_INLINE_TAGS, _INLINE)
    deeds |= {"a": _LINK, "br": _BREAK} | dict.fromkeys(_SILENT, _SKIP)
    if with_markdown:
        deeds |= {name: _MARKED for name in INLINE_MARKS if name != "a"} | {"img": _IMAGE}
    if with_noscript:
        deeds["noscript"] = _BLOCK
    return {number: (deeds.get(name, _BLOCK), name) for name, number in tag_ids().items()}


_UNKNOWN: Final = (_BLOCK, "")
_HIDDEN_SELECTOR: Final = '[hidden],[style*="display" i]'


def find_hidden(body: LexborNode) -> list[LexborNode]:
    """Find the elements that are not shown, in the order of the page."""
    return [node for node in body.css(_HIDDEN_SELECTOR) if _is_hidden(node.attributes)]


def find_excluded(
    body: LexborNode, hidden: Iterable[LexborNode], *, has_code: bool = False
) -> list[LexborNode]:
    """Find what is no part of the text: what is hidden and never opened, and what only eyes are told."""
    beside = body.css(_CODE_GUTTER_SELECTOR) if has_code else []
    return [*(node for node in hidden if not _is_collapsed(node)), *body.css(_DECORATION_SELECTOR), *beside]


_DECORATION_SELECTOR: Final = 'span[aria-hidden="true"]'
"""Within a line: an ornament, or what is said beside it in other words (prices, formulas). Boxes are more."""


_CODE_GUTTER_SELECTOR: Final = (
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
    return role in _COLLAPSIBLE_ROLES or (not role and bool(said.get("aria-labelledby")))


_COLLAPSIBLE_ROLES: Final = frozenset({"tabpanel", "region"})


def _is_hidden(attributes: dict[str, str | None]) -> bool:
    if "hidden" in attributes:
        if (attributes["hidden"] or "").lower() == "until-found":
            return False
        # Streamed pages are sent in such pieces, which a script shows in their place.
        return not (attributes.get("id") or "").startswith(STREAMED)
    style = (attributes.get("style") or "").lower()
    return "display" in style and "none" in style.replace(" ", "").partition("display:")[2][:5]
