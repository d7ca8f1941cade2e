"""Read the visible text of a tree as blocks, in one pass before the tree is modified.

Decides which elements separate text and which are skipped. Which blocks are main text is the core's decision.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping
from functools import cache
from typing import Final

from selectolax.lexbor import LexborNode

from strider.parser.core.content.text_blocks import PageBlocks, TextBlock, container_flags

from .markdown import INLINE_MARKS, MarkdownWriter
from .text import collapse_spaces
from .traversal import COMMENT, TEXT, Attributes, tag_ids

STREAMED_ID_PREFIX: Final = "S:"

_SKIPPED_TAGS: Final = frozenset(
    [
        *("script", "style", "noscript", "template", "svg", "iframe", "object", "embed", "canvas", "audio"),
        *("video", "select", "datalist", "textarea", "head", "title", "noframes", "noembed", "frameset"),
        *("dialog", "button", "input", "map", COMMENT, "meter", "progress", "math", "optgroup"),
        *("nav", "footer"),  # never main text, and expensive to read
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
_TEXT_TAGS: Final = frozenset(
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
_CONTAINER_TAGS: Final = frozenset(
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
"""Effect of an element on the text around it: only a block separates it."""


_KINDS_KEPT_IN_CONTAINERS: Final = frozenset({"li", "td", "th", "blockquote"})
"""Kinds of block that stay the same whatever containers are inside them."""

_SMALL_CONTAINER_TAGS: Final = frozenset({"li", "p", "figcaption"})

_PAIRED_ACTIONS: Final = frozenset({_LINK, _MARKED})

_UNKNOWN_TAG: Final = (_BLOCK, "")

_HIDDEN_SELECTOR: Final = '[hidden],[style*="display" i]'

_DECORATION_SELECTOR: Final = 'span[aria-hidden="true"]'
"""Inline decoration, or a visual duplicate of other text (prices, formulas). Boxes may be more than that."""

_CODE_GUTTER_SELECTOR: Final = (
    "td.linenos,td.lineno,td.gutter,td.rouge-gutter,span.linenos,span.lineno,div.linenodiv,"
    "a.headerlink,a.header-anchor,a.anchor-link,a.hash-link"
)
"""Additions of documentation generators: line numbers, and links of headings to themselves.

Searched only in pages with code.
"""

_COLLAPSIBLE_ROLES: Final = frozenset({"tabpanel", "region"})


class _BlockBuilder:
    """Collects text until a block ends."""

    __slots__ = (
        "blocks",
        "container",
        "kind",
        "link_chars",
        "open_links",
        "open_pres",
        "parts",
        "table_row",
        "writer",
    )

    def __init__(self, writer: MarkdownWriter | None) -> None:
        self.blocks = PageBlocks([], [-1], [0], ["body"])
        self.parts: list[str] = []
        self.writer = writer
        self.link_chars = self.open_links = self.container = self.table_row = self.open_pres = 0
        self.kind = "div"

    def flush(self) -> None:
        writer = self.writer
        markdown = writer.take_text() if writer is not None else ""
        if self.parts:
            raw = "".join(self.parts)
            text = raw.strip("\n") if self.open_pres else collapse_spaces(raw)
            if text and not text.isspace():
                markdown = text if self.open_pres and writer is not None else markdown
                levels = () if writer is None else writer.levels
                block = text, self.kind, self.link_chars, self.container, self.table_row, markdown, levels
                self.blocks.blocks.append(tuple.__new__(TextBlock, block))  # cheaper than calling the class
                markdown = ""
            self.parts.clear()
        if markdown and writer is not None and not self.open_pres:
            self.blocks.blocks.append(
                TextBlock("", "img", 0, self.container, self.table_row, markdown, writer.levels)
            )
        self.link_chars = 0

    def read(  # noqa: C901  # one loop over all nodes
        self, body: LexborNode, actions: Mapping[int, tuple[int, str]], hidden: Container[int]
    ) -> None:
        """Read a tree, without recursion: pages nest deeper than Python's stack.

        Sees every node of every page, so only elements that affect the text around them cost a call.
        """
        writer, parts, text_id = self.writer, self.parts, tag_ids()[TEXT]
        open_elements: list[tuple[LexborNode, int, str, int, str]] = []
        node = body.first_child
        while node is not None or open_elements:
            if node is None:
                node, action, name, container, kind = open_elements.pop()
                if action == _BLOCK:
                    self.leave_block(name, container, kind)
                elif action:
                    self.leave_inline(action)
                node = node.next
            elif (tag_id := node.tag_id) == text_id:
                text = node.text_content or ""
                parts.append(text)
                if writer is not None:
                    writer.write_text(text)
                if self.open_links:
                    self.link_chars += len(text.strip())
                node = node.next
            else:
                action, name = actions.get(tag_id, _UNKNOWN_TAG)
                if action == _SKIP or (hidden and node.mem_id in hidden):
                    if name in _CONTAINER_TAGS:
                        self.flush()
                    node = node.next
                    continue
                open_elements.append((node, action, name, self.container, self.kind))
                if action == _BLOCK:
                    self.enter_block(name, node)
                elif action:
                    self.enter_inline(action, name, node)
                node = node.first_child
        self.flush()

    def enter_block(self, name: str, node: LexborNode) -> None:
        """Begin a block."""
        writer = self.writer
        if self.parts or (writer is not None and writer.has_image):
            self.flush()
        if writer is not None:
            writer.enter_block(name, node)
        if name in _TEXT_TAGS:
            self.kind = name
            self.open_pres += name == "pre"
        elif name == "tr":
            self.table_row += 1
        if name in _CONTAINER_TAGS:
            self.kind = "div" if self.kind not in _KINDS_KEPT_IN_CONTAINERS else self.kind
        elif name not in _SMALL_CONTAINER_TAGS:
            return
        out, attrs = self.blocks, node.attributes
        out.flags.append(
            container_flags(name, attrs.get("class"), attrs.get("id"), attrs.get("role"))
            if attrs
            else container_flags(name)
        )
        out.parents.append(self.container)
        out.tags.append(name)
        self.container = len(out.parents) - 1

    def leave_block(self, name: str, container: int, kind: str) -> None:
        """End a block."""
        writer = self.writer
        if self.parts or (writer is not None and writer.has_image):
            self.flush()
        if writer is not None:
            writer.leave_block(name)
        self.kind, self.container = kind, container
        self.open_pres -= name == "pre"

    def enter_inline(self, action: int, name: str, node: LexborNode) -> None:
        """Begin an element within a block that affects its text or Markdown."""
        writer = self.writer
        if action == _LINK:
            self.open_links += 1
        elif action == _BREAK:
            self.parts.append("\n")
        if writer is None:
            return
        if action in _PAIRED_ACTIONS:
            writer.open_mark(name, node)
        elif action == _BREAK:
            writer.write_line_break()
        elif action == _IMAGE:
            writer.write_image(node)

    def leave_inline(self, action: int) -> None:
        """End such an element."""
        if action == _LINK:
            self.open_links -= 1
        if self.writer is not None and action in _PAIRED_ACTIONS:
            self.writer.close_mark()


def read_blocks(
    body: LexborNode,
    hidden_nodes: Iterable[LexborNode],
    *,
    with_markdown: bool = False,
    with_noscript: bool = False,
) -> PageBlocks:
    """Read the blocks of a tree."""
    builder = _BlockBuilder(MarkdownWriter() if with_markdown else None)
    actions = _tag_actions(with_markdown=with_markdown, with_noscript=with_noscript)
    builder.read(body, actions, {node.mem_id for node in hidden_nodes})
    return builder.blocks


@cache
def _tag_actions(*, with_markdown: bool, with_noscript: bool) -> dict[int, tuple[int, str]]:
    """Return the action and the name of each tag id."""
    actions = dict.fromkeys(_CONTAINER_TAGS | _TEXT_TAGS | {"tr"}, _BLOCK) | dict.fromkeys(
        _INLINE_TAGS, _INLINE
    )
    actions |= {"a": _LINK, "br": _BREAK} | dict.fromkeys(_SKIPPED_TAGS, _SKIP)
    if with_markdown:
        actions |= {name: _MARKED for name in INLINE_MARKS if name != "a"} | {"img": _IMAGE}
    if with_noscript:
        actions["noscript"] = _BLOCK
    return {tag_id: (actions.get(name, _BLOCK), name) for name, tag_id in tag_ids().items()}


def find_hidden(body: LexborNode) -> list[LexborNode]:
    """Return the elements that are not shown, in document order."""
    return [node for node in body.css(_HIDDEN_SELECTOR) if _is_hidden(node.attributes)]


def find_excluded(
    body: LexborNode, hidden: Iterable[LexborNode], *, has_code: bool = False
) -> list[LexborNode]:
    """Return elements outside of the text: hidden and never opened, decorative, or gutters of code."""
    beside = body.css(_CODE_GUTTER_SELECTOR) if has_code else []
    return [*(node for node in hidden if not _is_collapsed(node)), *body.css(_DECORATION_SELECTOR), *beside]


def _is_collapsed(node: LexborNode) -> bool:
    """Whether a hidden element is part of the page all the same: a tab, or the content under a heading.

    Dialogs and menus have a label as well, but a role of their own.
    """
    attrs = node.attributes
    role = attrs.get("role") or ""
    return role in _COLLAPSIBLE_ROLES or (not role and bool(attrs.get("aria-labelledby")))


def _is_hidden(attrs: Attributes) -> bool:
    if "hidden" in attrs:
        if (attrs["hidden"] or "").lower() == "until-found":
            return False
        # Streamed pages arrive in such pieces, which a script moves to their place.
        return not (attrs.get("id") or "").startswith(STREAMED_ID_PREFIX)
    style = (attrs.get("style") or "").lower()
    return "display" in style and "none" in style.replace(" ", "").partition("display:")[2][:5]
