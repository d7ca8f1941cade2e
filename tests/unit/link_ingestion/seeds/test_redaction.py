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


NESTED = json.dumps({"headers": HEADERS})


@pytest.mark.fault("A7", part="dead letters without clear headers")
@pytest.mark.parametrize(
    "document",
    [
        pytest.param({"spec": NESTED}, id="text with escapes"),
        pytest.param({"spec": json.dumps({"spec": NESTED})}, id="text in a text"),
        pytest.param({"spec": "headers:\n  Cookie: a=of-the-owner\n"}, id="YAML"),
        pytest.param({"headers": "Cookie: a=of-the-owner"}, id="one text"),
        pytest.param({"headers": ["Accept: a/b", "Cookie: a=of-the-owner"]}, id="lines"),
        pytest.param({"headers": [["Cookie", "of-the-owner"]]}, id="pairs"),
        pytest.param({"headers": [{"name": "Cookie", "value": "of-the-owner"}]}, id="objects"),
        pytest.param({"headers": {"Cookie": ["of-the-owner"]}}, id="list of values"),
        pytest.param({"headers": {"Cookie": {"a": {"b": "of-the-owner"}}}}, id="object as value"),
    ],
)
@pytest.mark.parametrize("ending", ["", ",}"])
def test_whatever_form_the_headers_have(document: dict[str, object], ending: str) -> None:
    """Whole, broken at the end, and cut off anywhere."""
    value = (json.dumps({"url": "https://a.test/author", **document}) + ending).encode()

    for end in (len(value), len(value) - 5, value.index(b"of-the-owner") + 8):
        redacted = redact_seed(value[:end])

        assert b"of-the-" not in redacted
        assert redacted.startswith(b'{"url": "https://a.test/author", ')


@pytest.mark.fault("A7", part="dead letters without clear headers")
@pytest.mark.parametrize(
    "value",
    [
        pytest.param(b'{"headers": {"C\\u006fokie": "of-the-owner"}}', id="escape in the name"),
        pytest.param(b'{"headers": {"C\\u006fokie": "of-the-owner"', id="the same, broken"),
        pytest.param(b'{"headers": {"Cookie": "a="of-the-owner""}}', id="quotes in the value"),
        pytest.param(b'{"url": "x, "headers": {"Cookie": "of-the-owner"}}', id="a quote is missing"),
        pytest.param(b"{'headers': {'Cookie': 'of-the-owner'}}", id="apostrophes"),
        pytest.param(b"{headers: {Cookie: of-the-owner}}", id="no quotes"),
        pytest.param(b'{"headers": {"Cookie": "a", "Cookie": "of-the-owner"}}', id="a name twice"),
        pytest.param(b'[{"headers": {"Cookie": "of-the-owner"}}]', id="a list"),
        pytest.param(b'{"headers": ' + b"[" * 9_000 + b'"Cookie: of-the-owner"', id="nested too deep"),
        pytest.param('{"headers": {"Cookie": "of-the-owner"}}'.encode("utf-16"), id="UTF-16"),
        pytest.param('{"headers": {"Cookie": "of-the-owner"}}'.encode("utf-32-le"), id="UTF-32"),
        pytest.param(b'\xef\xbb\xbf{"headers": {"Cookie": "of-the-owner"}}', id="byte order mark"),
    ],
)
def test_documents_that_no_decoder_takes(value: bytes) -> None:
    redacted = redact_seed(value)

    assert b"of-the-owner" not in redacted.replace(b"\0", b"")
    assert b"removed" in redacted or b"***" in redacted


SECRETS = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=30).map(
    lambda text: f"7f3a9{text}e21b4"
)
NAMES = st.sampled_from(["Cookie", "authorization", "X-Api-Key", "x-session"])


@pytest.mark.fault("A7", part="dead letters without clear headers")
@given(
    name=NAMES,
    secret=SECRETS,
    levels=st.integers(0, 4),
    before=st.text(max_size=30),
    indent=st.none() | st.integers(0, 2),
    ascii_only=st.booleans(),
    data=st.data(),
)
def test_no_secret_stays_at_any_level_of_text(  # noqa: PLR0917  # what is drawn
    name: str,
    secret: str,
    levels: int,
    before: str,
    indent: int | None,
    ascii_only: bool,
    data: st.DataObject,
) -> None:
    """Also where bytes are missing, changed or cut off behind the name."""
    text = json.dumps({"headers": {"A": before, name: secret}}, indent=indent, ensure_ascii=ascii_only)
    for _ in range(levels):
        text = json.dumps({"url": "x", "spec": text}, indent=indent, ensure_ascii=ascii_only)
    value = text.encode("utf-8", "surrogatepass")
    broken = bytearray(value)
    first = value.rindex(b"7f3a9")
    place = data.draw(st.integers(first + 5, len(value)))
    broken[place:] = data.draw(st.binary(max_size=4)) + value[place + data.draw(st.integers(0, 3)) :]

    for each in (value, bytes(broken), value[:place]):
        redacted = redact_seed(each)

        assert b"7f3a9" not in redacted
        assert b"e21b4" not in redacted


@pytest.mark.fault("A7", part="dead letters without clear headers")
@given(name=NAMES, secret=SECRETS, levels=st.integers(0, 3), cut=st.integers(0, 60))
def test_no_secret_stays_in_the_settings_of_an_avro_seed(
    name: str, secret: str, levels: int, cut: int
) -> None:
    spec = json.dumps({"headers": {name: secret}})
    for _ in range(levels):
        spec = json.dumps({"spec": spec})
    whole = CODEC.encode(SEEDS_SUBMITTED, SeedSubmitted("https://auth.test:80/x", spec=spec)).value

    redacted = redact_seed(whole)

    assert b"7f3a9" not in redacted
    assert CODEC.decode(SEEDS_SUBMITTED, redacted).url == "https://auth.test:80/x"
    assert b"7f3a9" not in redact_seed(whole[: len(whole) - cut])


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
