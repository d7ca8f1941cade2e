"""Dead letters of seeds have no clear personal header, whatever is wrong with the seed."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from strider.contracts.avro.codec import Codec
from strider.contracts.avro.schema_store import SchemaStore
from strider.contracts.generated.events import SeedSubmitted
from strider.contracts.generated.topics import SEEDS_SUBMITTED
from strider.link_ingestion.core import redact_seed
from strider.storage.encryption import HeaderCipher

CODEC = Codec(SchemaStore.bundled())
SECRET = 'Bearer "of-the-owner"'
HEADERS = {
    "Accept": "text/html",
    "Authorization": SECRET,
    "X-Api-Key": SECRET * 20,
    "Cookie": "a=of-the-owner",
}


@pytest.mark.fault("A7", part="dead letters without clear headers")
@pytest.mark.parametrize("ending", [b"", b'{"', b"]", b"\xff"])
@pytest.mark.parametrize("cut", [0, 3, 12])
def test_json_has_no_personal_header_also_where_it_is_broken(ending: bytes, cut: int) -> None:
    whole = json.dumps({"url": "https://a.test/", "max_dept": 3, "headers": HEADERS}, indent=cut).encode()
    value = whole[: len(whole) - cut] + ending

    redacted = redact_seed(value)

    assert b"of-the-owner" not in redacted
    assert b'"url": "https://a.test/"' in redacted
    assert b'"max_dept": 3' in redacted
    assert b'"Accept": "text/html"' in redacted


@pytest.mark.fault("A7", part="dead letters without clear headers")
def test_settings_have_no_personal_header_either() -> None:
    """As an object, as a text in JSON, which is a mistake, and as the text of an Avro seed."""
    spec = {"headers": HEADERS, "use_feeds": True}
    as_object = json.dumps({"url": "x", "spec": spec, "wrong": 1}).encode()
    as_text = json.dumps({"url": "x", "spec": json.dumps({"headers": {"Cookie": "a=of-the-owner"}})}).encode()
    in_avro = CODEC.encode(SEEDS_SUBMITTED, SeedSubmitted("https://a.test/", spec=json.dumps(spec))).value

    for value in (as_object, as_text, in_avro):
        assert b"of-the-owner" in value
        assert b"of-the-owner" not in redact_seed(value)
    assert len(redact_seed(in_avro)) == len(in_avro)
    assert CODEC.decode(SEEDS_SUBMITTED, redact_seed(in_avro)).url == "https://a.test/"


def test_a_number_is_a_secret_too_and_an_encrypted_value_is_none() -> None:
    encrypted = HeaderCipher("k" * 32).protect({"Cookie": "a=b"}, ["https://a.test"])
    value = json.dumps({"url": "x", "headers": {"X-Token": 77123, **encrypted}}).encode()

    assert json.loads(redact_seed(value)) == {"url": "x", "headers": {"X-Token": "[removed]", **encrypted}}


@pytest.mark.fault("A7", part="dead letters without clear headers")
@pytest.mark.parametrize("cut", [0, 1, 40])
def test_avro_has_no_personal_header_and_all_lengths_stay_right(cut: int) -> None:
    seed = SeedSubmitted(url="https://a.test/author", headers=HEADERS, submitted_by="x")
    value = CODEC.encode(SEEDS_SUBMITTED, seed).value

    redacted = redact_seed(value[: len(value) - cut])

    assert b"of-the-owner" not in redacted
    assert len(redacted) == len(value) - cut
    if not cut:
        again = CODEC.decode(SEEDS_SUBMITTED, redacted)
        assert (again.url, again.headers["Accept"]) == (seed.url, "text/html")
        assert set(again.headers["Authorization"]) == {"*"}


@given(
    st.dictionaries(st.sampled_from(["A", "Auth", "X-Key", "Cookie", "Accept"]), st.text(max_size=80)),
    st.text(max_size=80),
)
def test_a_seed_without_personal_headers_stays_as_it_is(headers: dict[str, str], url: str) -> None:
    """And one that has some can still be decoded."""
    seed = SeedSubmitted(url=url, headers=headers)
    personal = headers.keys() & {"Auth", "X-Key", "Cookie"}
    value = CODEC.encode(SEEDS_SUBMITTED, seed).value
    document = json.dumps({"url": url, "headers": headers}).encode()

    if not personal:
        assert redact_seed(document) == document
    found = json.loads(redact_seed(document))
    assert found["headers"] == {
        name: "[removed]" if name in personal else text for name, text in headers.items()
    }
    if not any("auth" in text.lower() or "key" in text.lower() for text in (url, *headers.values())):
        before, after = (CODEC.decode(SEEDS_SUBMITTED, each) for each in (value, redact_seed(value)))
        assert after.url == before.url
