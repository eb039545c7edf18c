"""The candidates of a query are BM25's, those of other bundles, and its relevant documents."""

from pathlib import Path

import numpy as np
import pytest
from tests.kinds import TinyRankers
from tests.scored import common_words, scored, teacher

from ranklet.corpus.collections.collection import Collection, Document, Query, write_collection
from ranklet.corpus.collections.splits import read_split
from ranklet.corpus.indexing.analysed import AnalysedCollection, open_bm25
from ranklet.runtime.call.query import QueryContext
from ranklet.runtime.errors import InputError
from ranklet.training.distilling.options import ScoreOptions
from ranklet.training.distilling.score_file import ScoreFile, checksum
from ranklet.training.distilling.scoring import score


def candidates(held: ScoreFile) -> dict[str, dict[str, float]]:
    """Return the scores by query and document."""
    documents, bounds = held.documents, held.offsets.tolist()
    return {
        query: {
            documents[number]: value
            for number, value in zip(
                held.numbers[begin:end].tolist(), held.scores[begin:end].tolist(), strict=True
            )
        }
        for query, begin, end in zip(held.queries, bounds, bounds[1:], strict=False)
    }


def test_candidates_are_bm25s_and_the_relevant_documents(
    tiny_collection: Collection, tiny_analysed: AnalysedCollection
) -> None:
    held = scored(tiny_collection, depth=4)
    found, queries = candidates(held), read_split(tiny_collection, "train")
    bm25 = ScoreOptions().bm25
    retriever = open_bm25(bm25, tiny_analysed.postings(bm25.field))
    texts = {each.id: f"{each.title}\n{each.text}" for each in tiny_collection.documents()}
    assert list(found) == [query.id for query in queries]
    for query in queries:
        context = QueryContext(query.text, tiny_analysed.analyzer.begin())
        best = retriever.retrieve(context, 4).numbers.tolist()
        expected = {tiny_analysed.documents.ids[number] for number in best} | set(query.relevant)
        assert set(found[query.id]) == expected
        for name, value in found[query.id].items():
            assert value == common_words([(query.text, texts[name])])[0]
    assert held.facts == {"collection": tiny_collection.name, "depth": 4}
    assert held.texts[0] == checksum(queries[0].text)
    assert held.texts[len(queries)] == checksum(texts[held.documents[0]].strip("\n"))


def test_other_bundles_add_their_candidates(tiny: TinyRankers) -> None:
    collection, bundle = tiny.data.collection, tiny.bundle("dense")
    queries, options = read_split(collection, "train"), ScoreOptions(depth=3, pipeline="dense")
    alone = candidates(scored(collection, depth=3))
    held = score(teacher(), collection, queries, options, candidates=[bundle])
    both = candidates(held)
    for query in queries:
        ranked = {name for name, _ in bundle.rank_ids(query.text, k=3, pipeline="dense")}
        assert set(both[query.id]) == set(alone[query.id]) | ranked
    assert held.facts["candidates"] == [str(bundle.path)]


def test_a_bundle_of_other_documents_is_refused(tiny: TinyRankers, tmp_path: Path) -> None:
    documents = [Document(str(at), "", text) for at, text in enumerate(["red apple", "old river"])]
    splits = {"train": ([Query("q", "red river")], {"q": {"0": 1}})}
    other = write_collection(tmp_path / "other", documents, splits)
    bundle = tiny.bundle("bm25")
    with pytest.raises(InputError, match="give a bundle of the same documents"):
        score(teacher(), other, read_split(other, "train"), candidates=[bundle])


def test_titles_can_be_left_out(tiny_collection: Collection) -> None:
    held = scored(tiny_collection, titles=False)
    assert not held.titles
    texts = {each.id: each.text for each in tiny_collection.documents()}
    expected = [checksum(texts[name]) for name in held.documents]
    np.testing.assert_array_equal(held.texts[len(held.queries) :], expected)
