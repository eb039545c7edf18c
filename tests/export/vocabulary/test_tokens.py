"""A cut tokenizer reads the texts that it was cut for as before, and every other text somehow."""

from typing import Any

import pytest
from tests.models import TEXTS, tokenizer
from tokenizers import Tokenizer, models, pre_tokenizers

from ranklet.corpus.errors import BuildError
from ranklet.export.vocabulary.tokens import check_same, cut_tokenizer, find_used_tokens

UNKNOWN = "<unk>"
OTHERS = ("rivers and foxes", "", "xyz!", "naïve 漢字 🦊", "HELLO the lazy nobody")


def merged(**options: Any) -> Tokenizer:
    """Return a BPE tokenizer whose words are merged through parts that no text ends with."""
    merges = [("l", "a"), ("z", "y"), ("la", "zy"), ("o", "v"), ("e", "r"), ("ov", "er")]
    prefix = options.get("continuing_subword_prefix", "")
    merges = [(first, prefix + second) for first, second in merges]
    merges[2:3] = [("la", f"{prefix}zy")]
    parts = sorted({char for text in TEXTS for char in text.lower() if char.isalpha()})
    names = [*parts, *(f"{prefix}{part}" for part in parts if prefix)]
    inner = [(f"{prefix}z", f"{prefix}y"), (f"{prefix}e", f"{prefix}r")] if prefix else []
    every = [*inner, *merges]
    joined = [first + second.removeprefix(prefix) for first, second in every]
    vocabulary = {name: at for at, name in enumerate(dict.fromkeys([*names, *joined, UNKNOWN]))}
    every = [(a, b) for a, b in every if a in vocabulary and b in vocabulary]
    made = Tokenizer(models.BPE(vocabulary, every, unk_token=UNKNOWN, **options))
    made.pre_tokenizer = pre_tokenizers.Whitespace()
    return made


@pytest.mark.parametrize("kind", ["words", "pieces", "bytes", "bpe", "bpe with a prefix", "levels"])
def test_texts_have_the_same_tokens(kind: str) -> None:
    if kind == "bpe":
        whole = merged()
    elif kind == "bpe with a prefix":
        whole = merged(continuing_subword_prefix="##")
    elif kind == "levels":
        names = [UNKNOWN, *sorted({word for text in TEXTS for word in text.split()})]
        level = models.WordLevel(dict(zip(names, range(99), strict=False)), unk_token=UNKNOWN)
        whole = Tokenizer(level)
        whole.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    else:
        whole = tokenizer(kind).backend_tokenizer
    texts = ("lazy", TEXTS[5])
    cut, former = cut_tokenizer(whole, find_used_tokens(whole, texts))
    assert cut.get_vocab_size() == len(former) < whole.get_vocab_size()
    check_same(whole, cut, former, lambda: texts)
    for text in texts:
        assert cut.encode(text).tokens == whole.encode(text).tokens
        assert cut.encode(text, "a").type_ids == whole.encode(text, "a").type_ids
    for text in OTHERS:
        if kind in ("words", "pieces", "bytes"):
            ends = cut.encode(text).tokens
            assert (ends[0], ends[-1]) == tuple(whole.encode("").tokens)
    special = {id_: token.content for id_, token in whole.get_added_tokens_decoder().items()}
    assert {
        former[id_]: token.content for id_, token in cut.get_added_tokens_decoder().items()
    } == (special)


def test_a_word_whose_token_is_gone_is_read_by_smaller_ones() -> None:
    whole = tokenizer("pieces").backend_tokenizer
    vocabulary = sorted(whole.get_vocab())
    word = next(name for name in vocabulary if name.startswith("▁") and len(name) > 3)
    cut, former = cut_tokenizer(whole, find_used_tokens(whole, ["x"]))
    assert whole.encode(word[1:]).tokens[1:-1] == [word]
    smaller = cut.encode(word[1:]).tokens[1:-1]
    assert "".join(smaller) == word
    assert len(smaller) > 1
    with pytest.raises(BuildError, match="read in another way"):
        check_same(whole, cut, former, lambda: [word[1:]])


def test_names_of_the_settings_stay_and_single_characters_may_go() -> None:
    whole = tokenizer("words").backend_tokenizer
    named = next(name for name in sorted(whole.get_vocab()) if len(name.strip("#")) > 2)
    cut, _ = cut_tokenizer(whole, set(), {named, "not there"}, singles=False)
    assert named in cut.get_vocab()
    assert not any(len(name.strip("#")) == 1 for name in cut.get_vocab())
