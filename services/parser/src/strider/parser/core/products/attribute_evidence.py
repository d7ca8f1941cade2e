"""What is known of one product, who said it, and how far that is to be believed?

Takes what sources say one after the other, the most trusted first; each attribute is from the first that
says it.
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
"""Of what a source says outright."""

HEADING_CONFIDENCE: Final = 0.8
"""Of a name that is the heading of what is sold."""
PAGE_CONFIDENCE: Final = 0.4
"""Of what is said of the page, not of what it sells."""
LIKELY: Final = 0.35
"""Of what nobody says, and mostly holds where other things are said."""
VISIBLE_PRICE_CONFIDENCE: Final = 0.6
"""Of a price that is shown with what it was before, where that is what data says."""


@dataclass(slots=True)
class Known:
    """One product, as far as it is known: attributes with who said them."""

    name: str
    told: dict[str, tuple[Any, AttributeSource, float]] = field(default_factory=dict)

    def hear(self, source: AttributeSource, said: Mapping[str, Any], confidence: float | None = None) -> None:
        """Take in what was not known yet; what belongs together is believed together or not at all."""
        has_price = "price" in self.told
        for attribute, value in said.items():
            is_of_price = attribute in _PRICE_ATTRIBUTES and has_price
            if is_of_price and "price" in said and self.told["price"][0] != said["price"]:
                continue
            if attribute == "old_price" and has_price and not self._is_above_price(value):
                continue
            if value is not None and value not in ("", (), {}):
                sure = SOURCE_CONFIDENCES[source] if confidence is None else confidence
                self.told.setdefault(attribute, (value, source, sure))

    def correct_price(self, source: AttributeSource, shown: Mapping[str, Any]) -> None:
        """Believe a price that is shown where data says none at all, or what the page says it was before."""
        price, before = shown.get("price", ""), shown.get("old_price", "")
        if not price or "price" not in self.told or self.told["price"][2] >= CERTAIN_CONFIDENCE:
            return
        said = float(self.told["price"][0])
        if said == 0:
            del self.told["price"]
        elif before and said == float(before) > float(price):
            self.told["price"] = (price, source, VISIBLE_PRICE_CONFIDENCE)
            self.told.pop("old_price", None)

    def _is_above_price(self, value: Any) -> bool:
        return bool(value) and float(value) > float(self.told["price"][0])


_PRICE_ATTRIBUTES: Final = frozenset({"currency", "price_low", "price_high"})
CERTAIN_CONFIDENCE: Final = SOURCE_CONFIDENCES[AttributeSource.SITE_PARSER]
"""Who knows the page's make is not corrected by who only looks at it."""
