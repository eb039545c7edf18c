from typing import TYPE_CHECKING

import numpy as np
import pytest

from ranklet.corpus.collections.collection import Collection
from ranklet.corpus.collections.splits import read_split
from ranklet.corpus.indexing.analysed import AnalysedCollection, open_bm25
from ranklet.runtime.call.query import QueryContext
from ranklet.training.encoders.text_pairs import Pool, TextPairs, bm25_mrr
from ranklet.training.rankers.dense.options import Options

if TYPE_CHECKING:
    from tokenizers import Tokenizer


def test_a_pool_of_the_whole_collection_is_ranked_as_the_collection(
    tiny_collection: Collection, tiny_analysed: AnalysedCollection, tiny_tokenizer: "Tokenizer"
) -> None:
    documents, options = list(tiny_collection.documents()), Options(batch=8)
    dev = read_split(tiny_collection, "dev")
    pairs = TextPairs(documents, read_split(tiny_collection, "train"), tiny_tokenizer, options)
    pool = Pool(pairs, dev, Options(batch=8, seed=3))
    ranker = open_bm25(options.bm25, tiny_analysed.postings(options.bm25.field))
    found = []
    for query in dev:
        context = QueryContext(query.text, tiny_analysed.analyzer.begin())
        numbers, scores, _ = ranker.retrieve(context, len(documents))
        relevant = [documents[number].id in query.relevant for number in numbers.tolist()]
        own = [score for score, is_relevant in zip(scores, relevant, strict=True) if is_relevant]
        # A relevant document loses ties.
        found.append(1 / np.count_nonzero(scores >= max(own)) if own else 0.0)
    found = [value if value >= 1 / 10 else 0.0 for value in found]
    expected = float(np.mean(found))
    assert 0 < expected < 1
    measured = bm25_mrr(pool, documents, tiny_tokenizer, options)
    assert measured == pytest.approx(expected)


def test_a_query_has_several_negatives(
    tiny_collection: Collection, tiny_tokenizer: "Tokenizer"
) -> None:
    documents, queries = list(tiny_collection.documents()), read_split(tiny_collection, "train")
    options = Options(batch=8, negatives="random", negatives_each=3)
    pairs = TextPairs(documents, queries, tiny_tokenizer, options)
    for batch in pairs.batches(0):
        own = batch.own
        assert own.shape == (len(batch.queries), 4)
        for query, (relevant, *others) in zip(batch.queries.tolist(), own.tolist(), strict=True):
            assert relevant in pairs.relevant_to(query)
            assert not {*others} & {*pairs.relevant_to(query).tolist()}
            assert len({*others}) == 3
