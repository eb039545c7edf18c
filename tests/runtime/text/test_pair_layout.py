import pytest
from tokenizers import Tokenizer, models, processors

from ranklet.runtime.errors import BundleError, InputError
from ranklet.runtime.text.pair_layout import BERT_SEGMENTS, PairLayout, pair_layout

UNKNOWN = "[UNK]"
WORDS = {"[UNK]": 0, "[CLS]": 1, "[SEP]": 2, "a": 3, "b": 4}
ENDS = ("[SEP]", 2), ("[CLS]", 1)


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
