"""Whatever a tokenizer does, panics of its Rust code included, raises a BundleError."""

import json
from typing import Any

import pytest
from tests.growth import grows_linearly

from ranklet.runtime.ground.errors import BundleError
from ranklet.runtime.text import tokenizing
from ranklet.runtime.text.tokenizing import encode, encode_batch, open_tokenizer, text_tokens

TEXT = "zzz " + "a" * 1000 + "!"
WORDS = {"[UNK]": 0, "dough": 1, "bread": 2}
NO_SUCH = [{"SpecialToken": {"id": "[X]", "type_id": 0}}]
DAMAGES: dict[str, dict[str, Any]] = {
    "a regular expression that gives up": {
        "pre_tokenizer": {
            "type": "Split", "pattern": {"Regex": "(a+)+$"}, "behavior": "Isolated",
            "invert": False,
        }
    },
    "a post-processor without its token": {
        "post_processor": {
            "type": "TemplateProcessing", "single": NO_SUCH, "pair": NO_SUCH, "special_tokens": {}
        }
    },
    "no unknown token": {
        "model": {"type": "WordLevel", "vocab": {"dough": 0}, "unk_token": "[UNK]"}
    },
}  # fmt: skip


def content(**parts: Any) -> bytes:
    """Return a tokenizer.json of three words, some parts of which are replaced."""
    base: dict[str, Any] = {
        "version": "1.0", "truncation": None, "padding": None, "added_tokens": [],
        "normalizer": None, "pre_tokenizer": {"type": "Whitespace"}, "post_processor": None,
        "decoder": None, "model": {"type": "WordLevel", "vocab": WORDS, "unk_token": "[UNK]"},
    }  # fmt: skip
    return json.dumps({**base, **parts}).encode()


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_tokenizer_that_fails_on_a_text_is_damaged(damage: str) -> None:
    tokenizer = open_tokenizer(content(**DAMAGES[damage]), "t.json")
    with pytest.raises(BundleError, match="the tokenizer fails on a text: "):
        encode(tokenizer, TEXT, special=True)
    with pytest.raises(BundleError, match="the tokenizer fails on a text: "):
        encode_batch(tokenizer, [TEXT], special=True)


@pytest.mark.parametrize(
    "damaged",
    [
        b"", b"{}", content(normalizer={"type": "Precompiled", "precompiled_charsmap": "AAAA"}),
        content(model={"type": "WordPiece"}),
    ],
)  # fmt: skip
def test_a_tokenizer_that_cannot_be_read_is_damaged(damaged: bytes) -> None:
    with pytest.raises(BundleError, match=r"t\.json cannot be read: "):
        open_tokenizer(damaged, "t.json")


def test_truncation_and_padding_of_the_file_are_not_used() -> None:
    truncation = {
        "direction": "Right", "max_length": 1, "strategy": "LongestFirst", "stride": 0
    }  # fmt: skip
    padding = {
        "strategy": {"Fixed": 99}, "direction": "Right", "pad_to_multiple_of": None, "pad_id": 0,
        "pad_type_id": 0, "pad_token": "[UNK]",
    }  # fmt: skip
    tokenizer = open_tokenizer(content(truncation=truncation, padding=padding), "t.json")
    assert encode(tokenizer, "dough bread").ids == [1, 2]
    assert [each.ids for each in encode_batch(tokenizer, ["bread dough \ud83d"])] == [[2, 1, 0]]
    assert encode(tokenizer, "dough", "bread").ids == [1, 2]


@pytest.mark.parametrize("raised", [KeyboardInterrupt, SystemExit])
def test_what_ends_a_program_ends_it(raised: type[BaseException]) -> None:
    with pytest.raises(raised), tokenizing._guarded("it fails"):
        raise raised


def test_the_tokens_of_a_long_text_are_read_in_linear_time() -> None:
    """The package makes a new list each time that one of a text's is read."""
    tokenizer = open_tokenizer(content(), "a file")
    assert grows_linearly(lambda text: text_tokens(tokenizer, text, 1 << 30), "a " * 50)
