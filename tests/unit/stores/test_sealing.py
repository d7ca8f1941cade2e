"""Secrets at rest: unreadable without a key, and keys can be replaced."""

from __future__ import annotations

import pytest

from strider.runtime.errors import StartRefused
from strider.stores.sealing import Seals, Unsealable, new_key


@pytest.mark.req("S4.12.30")
def test_what_is_sealed_is_opened_by_its_key_alone() -> None:
    first, second = new_key(), new_key()
    sealed = Seals(first).seal("geheim ☃")

    assert "geheim" not in sealed
    assert Seals(f"{second}, {first}").open(sealed) == "geheim ☃"
    with pytest.raises(Unsealable):
        Seals(second).open(sealed)
    with pytest.raises(Unsealable):
        Seals("").open(sealed)
    with pytest.raises(Unsealable):
        Seals(first).open(f"{sealed[:-2]}x=")


def test_nothing_is_kept_in_the_open_for_want_of_a_key() -> None:
    assert (Seals("").seal(""), Seals("").open("")) == ("", "")
    with pytest.raises(StartRefused, match="CRAWLER_PROXY_KEY"):
        Seals("").seal("geheim")
    with pytest.raises(StartRefused, match="strider proxies key"):
        Seals("too short")
