from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from tokenizers import Tokenizer, models, processors

from ranklet.runtime.ground.errors import BundleError, InputError
from ranklet.runtime.text.pairing import (
    BERT_SEGMENTS,
    EXPANSION,
    Pair,
    PairFormat,
    Pairing,
    PairLayout,
    Row,
    pair_inputs,
    pair_layout,
)

SHORT = PairFormat(max_query_tokens=4, max_tokens=12, mark_tokens=0)
UNKNOWN = "[UNK]"
WORDS = {"[UNK]": 0, "[CLS]": 1, "[SEP]": 2, "a": 3, "b": 4}
ENDS = ("[SEP]", 2), ("[CLS]", 1)


def pair(tokenizer: Tokenizer, query: str, document: str, **changes: Any) -> Pair:
    pairing = Pairing(replace(SHORT, **changes), tokenizer)

    def cut(text: str) -> list[int]:
        ids: list[int] = tokenizer.encode(text, add_special_tokens=False).ids
        return ids

    return pairing.pair(pairing.query(cut(query)), cut(document))


def shown(tokenizer: Tokenizer, found: Pair) -> list[str]:
    return [
        " ".join(tokenizer.id_to_token(each) or f"+{each}" for each in row.ids)
        for row in found.rows
    ]


def test_a_pair_is_what_the_tokenizer_makes_of_two_texts(tiny_tokenizer: Tokenizer) -> None:
    found = pair(tiny_tokenizer, "red fruit", "the old river is old")
    theirs = tiny_tokenizer.encode("red fruit", "the old river is old")
    (row,) = found.rows
    assert row.ids == theirs.ids
    assert row.query == theirs.type_ids.count(0)
    assert not found.cut


def test_the_document_has_what_the_query_leaves(tiny_tokenizer: Tokenizer) -> None:
    document = "here " * 20
    found = pair(tiny_tokenizer, "red", document)
    assert shown(tiny_tokenizer, found) == ["[CLS] red [SEP]" + " here" * 8 + " [SEP]"]
    assert found.cut
    found = pair(tiny_tokenizer, "red red red red old", document)  # the fifth is cut
    assert shown(tiny_tokenizer, found) == [
        "[CLS]" + " red" * 4 + " [SEP]" + " here" * 5 + " [SEP]"
    ]


@pytest.mark.parametrize(
    ("changes", "wanted"),
    [
        ({}, [(0, 7)]),
        ({"chunks": 2}, [(0, 7), (7, 12)]),
        # Two marks around each red leave room for red, old, red; what had none is read next.
        ({"marking": "pre_doc"}, [(0, 3)]),
        ({"marking": "pre_doc", "chunks": 2}, [(0, 3), (3, 8)]),
        ({"marking": "pre_doc", "chunks": 9}, [(0, 3), (3, 8), (8, 12)]),
        # The chunk has room for seven; the first word of the query is in it, at chunk level too.
        ({"marking": "pre_doc", "chunks": 9, "mark_level": "chunk"}, [(0, 3), (3, 8), (8, 12)]),
        ({"chunking": "words", "window": 4, "stride": 4, "chunks": 2}, [(0, 4), (8, 12)]),
    ],
)
def test_what_is_read_of_a_document(
    tiny_tokenizer: Tokenizer, changes: dict[str, Any], wanted: list[tuple[int, int]]
) -> None:
    pairing = Pairing(replace(SHORT, **changes), tiny_tokenizer)
    query, document = (
        tiny_tokenizer.encode(text, add_special_tokens=False).ids
        for text in ("red fruit", "red old red old red old here old old old old old")
    )
    found = pairing.pair(query, document)
    assert found.read == wanted
    everything = {at for begin, end in wanted for at in range(begin, end)} == {*range(12)}
    assert found.cut is not everything


def test_chunks_each_with_the_query(tiny_tokenizer: Tokenizer) -> None:
    document = "red " * 5 + "old " * 5 + "here " * 5
    found = pair(tiny_tokenizer, "red red red red", document, chunks=3)
    assert [row.ids[-6:-1] for row in found.rows] == [
        [tiny_tokenizer.token_to_id(word)] * 5 for word in ("red", "old", "here")
    ]
    assert not found.cut
    assert pair(tiny_tokenizer, "red red red red", document, chunks=2).cut


def test_windows_of_words(tiny_tokenizer: Tokenizer) -> None:
    found = pair(
        tiny_tokenizer, "red", "the old river is old , here", chunking="words", window=3, stride=2,
        chunks=9,
    )  # fmt: skip
    assert [each.removeprefix("[CLS] red [SEP] ") for each in shown(tiny_tokenizer, found)] == [
        "the old river [SEP]", "river is old [UNK] [SEP]", "old [UNK] here [SEP]"
    ]  # fmt: skip


def test_a_document_without_words_makes_a_pair(tiny_tokenizer: Tokenizer) -> None:
    for chunking in ("pieces", "words"):
        found = pair(tiny_tokenizer, "", "", chunking=chunking, chunks=3)
        assert shown(tiny_tokenizer, found) == ["[CLS] [SEP] [SEP]"]


def test_marks_take_room_from_the_documents_end(tiny_tokenizer: Tokenizer) -> None:
    size = tiny_tokenizer.get_vocab_size()
    found = pair(
        tiny_tokenizer, "red", "red red here here here here", marking="pre_pair", max_tokens=16
    )
    row = found.rows[0]
    red, here = (tiny_tokenizer.token_to_id(word) for word in ("red", "here"))
    assert row.ids[1:4] == [size, red, size + 1]
    assert row.ids[row.query :] == [
        *[size, red, size + 1] * 2, here, here, here, here, tiny_tokenizer.token_to_id("[SEP]")
    ]  # fmt: skip
    assert found.stems == ["red"]
    tight = pair(
        tiny_tokenizer, "red", "red red here here here here", marking="pre_doc", max_tokens=12
    )
    assert len(tight.rows[0].ids) == 12
    assert tight.cut


def test_marks_by_document_or_by_chunk(tiny_tokenizer: Tokenizer) -> None:
    document = "red " * 12 + "here " * 6
    options = {"marking": "pre_pair", "max_tokens": 16, "chunks": 9}
    by_document = pair(tiny_tokenizer, "red", document, **options)
    by_chunk = pair(tiny_tokenizer, "red", document, mark_level="chunk", **options)
    # Three marked words fill a row; in the last one there is none.
    assert by_document.read == by_chunk.read == [(0, 3), (3, 6), (6, 9), (9, 13), (13, 18)]
    assert [row.query for row in by_document.rows] == [5, 5, 5, 5, 5]
    assert [row.query for row in by_chunk.rows] == [5, 5, 5, 5, 3]
    assert by_document.stems == by_chunk.stems == ["red"]


@pytest.mark.parametrize(("expansion", "token"), [("mask", "[MASK]"), ("hash", "#")])
def test_expansion_is_appended_to_the_pieces(
    tiny_tokenizer: Tokenizer, expansion: str, token: str
) -> None:
    if tiny_tokenizer.token_to_id(token) is None:
        with pytest.raises(InputError, match=f"no token '{token}'"):
            pair(tiny_tokenizer, "", "", expansion=expansion, max_query_tokens=10, max_tokens=20)
        return
    found = pair(
        tiny_tokenizer, "red red red", "here", expansion=expansion, max_query_tokens=10,
        max_tokens=20,
    )  # fmt: skip
    options = replace(SHORT, expansion=expansion, max_query_tokens=10, max_tokens=20)
    assert tiny_tokenizer.token_to_id(token) in Pairing(options, tiny_tokenizer).special
    expected = "[CLS] red red" + f" {token}" * EXPANSION + " [SEP] here [SEP]"
    assert shown(tiny_tokenizer, found) == [expected]


def test_inputs_are_padded_and_tell_whose_a_chunk_is() -> None:
    rows = [[Row([2, 7, 3, 8, 3], 3), Row([2, 7, 3, 3], 3)], [Row([2, 3, 9, 3], 2)]]
    found = pair_inputs(rows, padding=5)
    assert found["input_ids"].tolist() == [[2, 7, 3, 8, 3], [2, 7, 3, 3, 5], [2, 3, 9, 3, 5]]
    assert found["attention_mask"].tolist() == [[1] * 5, [1, 1, 1, 1, 0], [1, 1, 1, 1, 0]]
    assert found["token_type_ids"].tolist() == [[0, 0, 0, 1, 1], [0, 0, 0, 1, 0], [0, 0, 1, 1, 0]]
    assert found["pairs"].tolist() == [[1, 1, 0], [0, 0, 1]]
    assert {each.dtype for each in found.values()} == {np.dtype(np.int64)}


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"max_query_tokens": 0}, "max_query_tokens is 0"),
        ({"max_tokens": 4}, "max_tokens is 4"),
        ({"max_tokens": 7}, "a query with its markers may take 7"),
        ({"chunks": 0}, "chunks is 0"),
        ({"chunking": "sentences"}, "allowed are pieces, words"),
        ({"window": 5, "stride": 6}, "stride is 6"),
        ({"marking": "sim"}, "allowed are none, sim_doc"),
        ({"marking": "sim_pair"}, "a query with its markers may take 15"),
        ({"mark_level": "word"}, "allowed are document, chunk"),
        ({"expansion": "stars"}, "allowed are none, mask, hash"),
        ({"expansion": "mask"}, "the expansion alone takes 8"),
    ],
)
def test_what_is_not_allowed_is_refused(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        replace(SHORT, **changes)


def made(processor: object = None, words: dict[str, int] = WORDS) -> Tokenizer:
    tokenizer = Tokenizer(models.WordPiece(words, unk_token=UNKNOWN))
    if processor is not None:
        tokenizer.post_processor = processor  # type: ignore[assignment]
    return tokenizer


def template(pair: str) -> processors.TemplateProcessing:
    return processors.TemplateProcessing(single="$A", pair=pair, special_tokens=list(ENDS))


@pytest.mark.parametrize(
    ("processor", "layout"),
    [
        (processors.BertProcessing(*ENDS), ([1], [2], [2], BERT_SEGMENTS)),
        (processors.RobertaProcessing(*ENDS), ([1], [2, 2], [2], (0, 0, 0, 0, 0))),
        (template("$A [SEP] $B:1 [SEP]:1 [CLS]:2"), ([], [2], [2, 1], (0, 0, 0, 1, 2))),
        (template("[CLS] $A $B:1 [SEP]:1"), ([1], [], [2], BERT_SEGMENTS)),
        (None, ([1], [2], [2], BERT_SEGMENTS)),  # BERT's, because its tokens are known
    ],
)
def test_the_layout_is_what_the_tokenizer_puts_around_a_pair(
    processor: object, layout: tuple[list[int], list[int], list[int], tuple[int, ...]]
) -> None:
    assert pair_layout(made(processor)) == PairLayout(*layout)
    assert pair_layout(made(processor)).around == sum(map(len, layout[:3]))


def test_a_tokenizer_that_cannot_make_pairs_is_refused() -> None:
    with pytest.raises(InputError, match=r"no token '\[SEP\]'"):
        pair_layout(made(words={"[UNK]": 0, "[CLS]": 1, "a": 2}))
    with pytest.raises(BundleError, match=r"the tokenizer fails on a text: .*Missing \[UNK\]"):
        pair_layout(made(words={"a": 0}))
