"""Merge the attributes of one product from several sources, with source and confidence.

Sources are added in order of trust; each attribute is from the first source that has it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from strider.contracts.generated.enums import AttributeSource

SOURCE_CONFIDENCES: Final = {
    AttributeSource.SITE_PARSER: 0.98,
    AttributeSource.JSON_LD: 0.95,
    AttributeSource.MICRODATA: 0.9,
    AttributeSource.RDFA: 0.85,
    AttributeSource.OPEN_GRAPH: 0.8,
    AttributeSource.META: 0.7,
    AttributeSource.HEURISTIC: 0.5,
}
"""Confidence in explicit values of a source."""

HEADING_CONFIDENCE: Final = 0.8
"""Confidence in a name that is the heading of the offer."""
PAGE_CONFIDENCE: Final = 0.4
"""Confidence in values about the page rather than the product."""
ASSUMED_CONFIDENCE: Final = 0.35
"""Confidence in values that no source states, but that usually hold given the others."""
VISIBLE_PRICE_CONFIDENCE: Final = 0.6
"""Confidence in a visible price that is shown with its former price, which structured data has as the price.
"""


_PRICE_ATTRIBUTES: Final = frozenset({"currency", "price_low", "price_high"})


CERTAIN_CONFIDENCE: Final = SOURCE_CONFIDENCES[AttributeSource.SITE_PARSER]
"""Site parsers know the page's structure; heuristics do not correct them."""


@dataclass(slots=True)
class ProductEvidence:
    """The attributes of one product, each with source and confidence."""

    name: str
    attributes: dict[str, tuple[Any, AttributeSource, float]] = field(default_factory=dict)

    def add(
        self, source: AttributeSource, values: Mapping[str, Any], confidence: float | None = None
    ) -> None:
        """Add attributes that are still unknown; price, currency and range are only taken from the same
        offer.
        """
        has_price = "price" in self.attributes
        for attribute, value in values.items():
            belongs_to_price = attribute in _PRICE_ATTRIBUTES and has_price
            if belongs_to_price and "price" in values and self.attributes["price"][0] != values["price"]:
                continue
            if attribute == "old_price" and has_price and not self._is_above_price(value):
                continue
            if value is not None and value not in ("", (), {}):
                certainty = SOURCE_CONFIDENCES[source] if confidence is None else confidence
                self.attributes.setdefault(attribute, (value, source, certainty))

    def correct_price(self, source: AttributeSource, visible: Mapping[str, Any]) -> None:
        """Correct the price by the visible one: if it is zero, or equals the visible former price."""
        price, former = visible.get("price", ""), visible.get("old_price", "")
        if not price or "price" not in self.attributes or self.attributes["price"][2] >= CERTAIN_CONFIDENCE:
            return
        declared = float(self.attributes["price"][0])
        if declared == 0:
            del self.attributes["price"]
        elif former and declared == float(former) > float(price):
            self.attributes["price"] = (price, source, VISIBLE_PRICE_CONFIDENCE)
            self.attributes.pop("old_price", None)

    def _is_above_price(self, value: Any) -> bool:
        return bool(value) and float(value) > float(self.attributes["price"][0])
