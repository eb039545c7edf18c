import json
import sys
import unicodedata
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.models import TEXTS, tokenizer

from ranklet.runtime.ground.errors import BundleError, MissingPackageError
from ranklet.runtime.text.tokenizing import encode, encode_batch, open_tokenizer, text_tokens
from ranklet.runtime.text.word_pieces import WordPieces

if TYPE_CHECKING:
    from tokenizers import Tokenizer

OLD = unicodedata.ucd_3_2_0  # tokenizers knows fewer characters than Python
STRANGE = "İstanbul ΣΊΣ naïve e\u0301 東京 한국 x\u200by \x0b \x85 a\u2028b ﬁ «q» [SEP] $5 \ufffd"
MORE = ["i", "##s", "##\u0307", "東", "naive", "é", "##b"]


def pieces() -> "Tokenizer":
    made: Tokenizer = tokenizer().backend_tokenizer
    made.no_truncation()
    made.no_padding()
    return made


def described(**changes: Any) -> dict[str, Any]:
    """Return the content of a tokenizer.json, some of whose entries are changed."""
    content: dict[str, Any] = json.loads(pieces().to_str())
    for path, value in changes.items():
        place, *names = path.split("__")
        if names:
            content[place] = {**content[place], names[0]: value}
        else:
            content[place] = value
    return content


def assert_equal(content: dict[str, Any], texts: list[str]) -> None:
    """Assert that texts have the tokens that the package tokenizers gives them."""
    ours, theirs = WordPieces(content), open_tokenizer(json.dumps(content).encode(), "it")
    assert ours.get_vocab_size() == theirs.get_vocab_size()
    assert ours.model.unk_token == json.loads(theirs.to_str())["model"]["unk_token"]
    for found, wanted in zip(ours.encode_batch(texts), encode_batch(theirs, texts), strict=True):
        assert found.ids == wanted.ids
        assert found.offsets == wanted.offsets
        assert found.tokens == wanted.tokens


@pytest.mark.parametrize("lowercase", [True, False])
@pytest.mark.parametrize("accents", [True, False, None])
@pytest.mark.parametrize("other", [True, False])
def test_pieces_are_those_of_tokenizers(lowercase: bool, accents: bool | None, other: bool) -> None:
    content = described(
        normalizer__lowercase=lowercase, normalizer__strip_accents=accents,
        normalizer__clean_text=other, normalizer__handle_chinese_chars=other,
    )  # fmt: skip
    content["model"]["vocab"] |= {piece: 1000 + at for at, piece in enumerate(MORE)}
    assert_equal(content, [*TEXTS, STRANGE, "", " ", "a" * 101 + " a"])


@given(st.text(st.characters(exclude_categories=["Cs"]).filter(lambda c: OLD.category(c) != "Cn")))
def test_any_text_has_the_pieces_of_tokenizers(text: str) -> None:
    newer = {"᙭", "᜴", "\U00011938", "\u00ad"}
    assert_equal(described(), ["".join(c for c in text if c not in newer)])


def test_without_tokenizers_word_pieces_take_its_place(monkeypatch: pytest.MonkeyPatch) -> None:
    content = pieces().to_str().encode()
    wanted = text_tokens(pieces(), TEXTS[0], 5, special=False)
    monkeypatch.setitem(sys.modules, "tokenizers", None)
    opened = open_tokenizer(content, "tokenizer.json")
    assert type(opened).__name__ == WordPieces.__name__
    assert text_tokens(opened, TEXTS[0], 5, special=False) == wanted
    assert json.loads(opened.to_str()) == json.loads(content)
    with pytest.raises(MissingPackageError, match=r"pip install .*\[onnx\]'"):
        encode(opened, "a", special=True)


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"model__type": "Unigram"}, "model Unigram"),
        ({"pre_tokenizer": {"type": "Whitespace"}}, "pre_tokenizer Whitespace"),
        ({"normalizer": None}, "normalizer none"),
    ],
)
def test_other_tokenizers_need_the_package(
    change: dict[str, Any], why: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    content = json.dumps(described(**change)).encode()
    monkeypatch.setitem(sys.modules, "tokenizers", None)
    with pytest.raises(MissingPackageError, match=rf"{why}.*pip install .*\[onnx\]'"):
        open_tokenizer(content, "tokenizer.json")


@pytest.mark.parametrize("content", [b"", b"[]", b"{}", b"[" * 100_000, b'{"model": {"vocab": 3}}'])
def test_damaged_tokenizers_are_refused(content: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "tokenizers", None)
    with pytest.raises(BundleError, match=r"tokenizer\.json cannot be read"):
        open_tokenizer(content, "tokenizer.json")
