"""Training a Conformer-Kernel: what it learns from, that it learns, and that it goes on."""

import json
import math
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from ranklet.commands import main
from ranklet.runtime.errors import CollectionError, InputError
from ranklet.runtime.lexical.bm25 import idf
from ranklet.runtime.rankers.bm25 import BM25Settings
from ranklet.runtime.rankers.conformer_kernel.network import FIRST, PADDING, UNKNOWN
from ranklet.runtime.rankers.conformer_kernel.settings import ConformerKernelSettings
from ranklet.runtime.text.words import words
from ranklet.training.checkpoint import Checkpoint, read_checkpoint
from ranklet.training.data.collection import Collection, Document, Query, write_collection
from ranklet.training.data.query_log import with_query_log
from ranklet.training.data.splits import read_split
from ranklet.training.errors import TrainingError
from ranklet.training.indexing.analysed import AnalysedCollection, analyse
from ranklet.training.indexing.retriever import open_bm25
from ranklet.training.learning.losses import ranknet_loss
from ranklet.training.rankers.conformer_kernel import layers
from ranklet.training.rankers.conformer_kernel import training as conformer_kernel
from ranklet.training.rankers.conformer_kernel.network import ConformerKernel, Pairs
from ranklet.training.rankers.conformer_kernel.options import Options
from ranklet.training.rankers.conformer_kernel.pairs import (
    TermPairs,
    TermReader,
    weak_ranknet_loss,
)
from ranklet.training.rankers.conformer_kernel.sizes import Network, TKNetwork
from ranklet.training.rankers.conformer_kernel.vocabulary import choose_terms, term_rows
from ranklet.training.rankers.tk import training as tk
from ranklet.training.rankers.tk.options import Options as TKOptions
from ranklet.training.sampling.dev_candidates import CandidateLists
from ranklet.training.sampling.negatives import relevant_numbers

TRAINING: dict[str, Any] = {
    "learning_rate": 0.01, "epochs": 1, "device": "cpu", "batch": 8, "depth": 20, "pool": 10,
    "least": 1,
}  # fmt: skip
SIZES = Network(
    hidden=16, heads=4, groups=4, width=3, layers=1, kernels=6, window=6, stride=3, dropout=0.0
)
OPTIONS = Options(**TRAINING, network=SIZES)
TK_SIZES = TKNetwork(hidden=16, heads=4, layers=1, kernels=6, dropout=0.0)
TK_OPTIONS = TKOptions(**TRAINING, network=TK_SIZES)


@pytest.fixture(scope="module")
def worded(tiny_collection: Collection) -> AnalysedCollection:
    """The tiny collection with the words of its queries, which no document has."""
    asked = {
        word
        for split in ("train", "dev")
        for query in tiny_collection.queries(split)
        for word in words(query.text)
    }
    return analyse(tiny_collection.documents(), ["words", "lemmas"], known_words=asked)


def train(collection: Collection, architecture: str = "ndrm3", **changes: Any) -> Checkpoint:
    queries, dev = read_split(collection, "train"), read_split(collection, "dev")
    settings = ConformerKernelSettings(architecture=architecture)
    options = replace(OPTIONS, settings=settings, **changes)
    return conformer_kernel.train(collection, queries, dev, options)


def train_tk(collection: Collection) -> Checkpoint:
    queries, dev = read_split(collection, "train"), read_split(collection, "dev")
    return tk.train(collection, queries, dev, TK_OPTIONS)


# ------------------------------------------------------------------------------------ the data


def test_ranknet_by_hand() -> None:
    better, worse = torch.tensor([2.0, 0.0]), torch.tensor([1.0, 0.5])
    by_hand = [-math.log(1 / (1 + math.exp(-gap))) for gap in (1.0, -0.5)]
    assert ranknet_loss(better, worse).item() == pytest.approx(np.mean(by_hand))


def test_the_weak_pairs_are_the_papers() -> None:
    relevant, ranked, first, second = 1.5, 0.2, 0.7, -1.0
    wanted = [(relevant, other) for other in (ranked, first, second)]  # positively labelled
    wanted += [(ranked, first), (ranked, second)]  # weakly
    by_hand = [math.log(1 + math.exp(low - high)) for high, low in wanted]
    scores = torch.tensor([[relevant, ranked, first, second]])
    assert weak_ranknet_loss(scores).item() == pytest.approx(np.mean(by_hand))


def test_terms_are_the_frequent_ones_and_rows_lead_to_them(worded: AnalysedCollection) -> None:
    terms = choose_terms(worded, "words", [], least=5, most=6)
    counts: dict[str, int] = {}
    for text in worded.ranked_texts():
        for word in words(text):
            counts[word] = counts.get(word, 0) + 1
    vocabulary = worded.analyzer.vocabulary
    kept = {
        word: n
        for word, n in counts.items()
        if vocabulary.lemma_of[vocabulary.forms.find(word)] >= 0
    }
    assert sorted(counts[term] for term in terms) == sorted(kept.values())[-6:]
    rows = term_rows(("nowhere", *terms), vocabulary)
    for at, term in enumerate(terms):
        assert rows[vocabulary.forms.find(term)] == FIRST + 1 + at
    assert (rows == UNKNOWN).sum() == len(rows) - 6


def test_words_of_queries_count_where_the_collection_knows_them(
    worded: AnalysedCollection, tiny_collection: Collection
) -> None:
    queries = read_split(tiny_collection, "train")
    assert "motor" not in choose_terms(worded, "words", [], least=1, most=99)
    assert "motor" in choose_terms(worded, "words", queries, least=4, most=99)
    assert "motor" not in choose_terms(worded, "words", queries, least=5, most=99)


def test_pairs_hold_terms_and_their_statistics(worded: AnalysedCollection) -> None:
    rows = term_rows(("apple", "red"), worded.analyzer.vocabulary)
    settings = ConformerKernelSettings(max_query_terms=3, max_document_terms=4)
    reader = TermReader(worded, settings, rows)
    ids = list(worded.documents.ids)
    queries = [reader.asked("a red red apple apple"), reader.asked("gnorp")]
    documents = np.array([[ids.index("apple-red"), ids.index("apple-heavy")]] * 2)
    found = reader.pairs(queries, documents)
    # The fields of a document are "apple" and "the red apple is red", of which 4 terms count.
    assert found.query_rows[:, :3].tolist() == [[3, 3, 2]] * 2 + [[UNKNOWN, 0, 0]] * 2
    assert (found.query_rows[:, 3:] == PADDING).all()
    assert found.document_rows[0][:5].tolist() == [2, 3, 2, 3, PADDING]
    assert found.tf[:, :3].tolist() == [[2, 2, 2], [0, 0, 2], [0, 0, 0], [0, 0, 0]]
    assert found.lengths.tolist() == [4, 4, 4, 4]
    red, rarest = idf(np.array([8, 0]), len(ids))
    assert found.idf[0, :1].tolist() == pytest.approx([red])
    assert found.idf[2, :1].tolist() == pytest.approx([rarest])


def test_a_batch_holds_one_relevant_one_ranked_and_two_others(
    worded: AnalysedCollection, tiny_collection: Collection
) -> None:
    retriever = open_bm25(BM25Settings("lemmas"), worded.postings("lemmas"))
    queries = read_split(tiny_collection, "train")
    reader = TermReader(
        worded, ConformerKernelSettings(), term_rows((), worded.analyzer.vocabulary)
    )
    pairs = TermPairs(worded, queries, retriever, reader, replace(OPTIONS, depth=3, pool=3))
    kept, relevant = relevant_numbers(list(worded.documents.ids), queries)
    seen = []
    for epoch in range(4):
        for batch in pairs.batches(epoch):
            assert batch.documents.shape[1] == 4
            for query, (first, ranked, *drawn) in zip(batch.queries, batch.documents, strict=True):
                assert first in relevant[query]
                assert not {ranked, *drawn} & {*relevant[query].tolist()}
                seen.append((query, ranked, tuple(drawn)))
    assert len({each[2] for each in seen}) > len(kept)  # others are drawn anew in each epoch
    assert sorted(each[0] for each in seen) == sorted([*range(len(kept))] * 4)
    again = TermPairs(worded, queries, retriever, reader, replace(OPTIONS, depth=3, pool=3))
    for one, other in zip(pairs.batches(2), again.batches(2), strict=True):
        np.testing.assert_array_equal(one.documents, other.documents)


def test_the_dev_measure_by_hand(worded: AnalysedCollection, tiny_collection: Collection) -> None:
    retriever = open_bm25(BM25Settings("lemmas"), worded.postings("lemmas"))
    dev = read_split(tiny_collection, "dev")
    lists = CandidateLists(worded, dev, retriever, most=4, depth=5, seed=0)
    assert len(lists.lists) == 4
    for _, numbers, relevant in lists.lists:
        assert relevant.sum() == 1
        assert len({*numbers.tolist()}) == len(numbers)
    sizes = [len(numbers) for _, numbers, _ in lists.lists]
    assert lists.mrr(np.zeros(sum(sizes), np.float32)) <= 1 / 5
    scores = [np.zeros(size, np.float32) for size in sizes]
    for row, (_, _, relevant) in zip(scores, lists.lists, strict=True):
        place = np.flatnonzero(relevant)[0]
        row[place], row[(place + 1) % len(row)] = 1, 2
    assert lists.mrr(np.concatenate(scores)) == pytest.approx(0.5)


def test_a_query_log_is_one_more_field(tmp_path: Path) -> None:
    documents = [Document("a", "A", "one"), Document("b", "", "two")]
    clicks = {"q1": {"a": 1, "b": 0}, "q2": {"a": 2}}
    log = ([Query("q1", "first query"), Query("q2", "second")], clicks)
    collection = write_collection(tmp_path / "c", documents, {"log": log})
    found = list(with_query_log(collection, "log"))
    assert found == [Document("a", "A", "one\nfirst query\nsecond"), documents[1]]
    with pytest.raises(CollectionError, match="no split"):
        list(with_query_log(collection, "clicks"))


# -------------------------------------------------------------------------------- the training


@pytest.fixture(scope="module")
def learned(tiny_collection: Collection) -> Checkpoint:
    return train(tiny_collection, epochs=30)


def test_it_learns_by_which_other_words_people_ask(learned: Checkpoint) -> None:
    course = [each["value"] for each in learned.training["evaluations"]]
    assert learned.training["best"] > course[0] + 0.2
    assert learned.settings.tf_mean != 1


def test_a_checkpoint_holds_the_model(learned: Checkpoint, tmp_path: Path) -> None:
    back = read_checkpoint(learned.save(tmp_path / "c"))
    assert back.settings == learned.settings
    assert back.tokens == learned.tokens
    given = Pairs(
        torch.tensor([[4, 5]]), torch.tensor([[4, 6, 7]]), torch.tensor([[1.0, 0.0]]),
        torch.tensor([[2.0, 3.0]]), torch.tensor([3.0]),
    )  # fmt: skip
    one, same = (conformer_kernel.load(each) for each in (back, learned))
    assert isinstance(one, ConformerKernel)
    with torch.no_grad():
        assert one(given).item() == same(given).item()
    with pytest.raises(InputError, match="no conformer_kernel"):
        conformer_kernel.load(Checkpoint("bm25", None))
    with pytest.raises(InputError, match="do not fit"):
        conformer_kernel.load(replace(learned, network={**learned.network, "kernels": 9}))
    with pytest.raises(InputError, match="lacks 'vocabulary'"):
        conformer_kernel.load(replace(learned, network={}))
    other = replace(learned, settings=replace(learned.settings, architecture="ndrm1"))
    with pytest.raises(InputError, match="ndrm1"):
        conformer_kernel.load(other)
    with pytest.raises(InputError, match="no tk"):
        tk.load(learned)


def test_a_checkpoint_of_before_reads_equal(learned: Checkpoint, tmp_path: Path) -> None:
    path = learned.save(tmp_path / "c")
    described = json.loads((path / "ranklet.json").read_text("utf-8"))
    described["settings"] |= {"form": described["settings"].pop("architecture")}
    described["settings"] |= {"overlap": 1.0, "truncated": 0}
    (path / "ranklet.json").write_text(json.dumps(described), "utf-8")
    network = json.loads((path / "config.json").read_text("utf-8"))
    network |= {"form": network.pop("architecture"), "attention": None}
    (path / "config.json").write_text(json.dumps(network), "utf-8")
    back = read_checkpoint(path)
    assert back.settings == learned.settings
    assert conformer_kernel.load(back).network == conformer_kernel.load(learned).network


@pytest.mark.parametrize("architecture", ["ndrm1", "ndrm2"])
def test_every_architecture_trains(architecture: str, tiny_collection: Collection) -> None:
    found = train(tiny_collection, architecture)
    model = conformer_kernel.load(found)
    assert model.network.architecture == found.settings.architecture == architecture
    assert (model.latent is None) == (architecture == "ndrm2")


@pytest.mark.slow
def test_an_interrupted_training_ends_the_same(
    tiny_collection: Collection, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    changes: dict[str, Any] = {"epochs": 3, "save_every": 2, "network": replace(SIZES, dropout=0.1)}
    whole = train(tiny_collection, **changes)
    calls = 0

    def broken(scores: torch.Tensor) -> torch.Tensor:
        nonlocal calls
        calls += 1
        return weak_ranknet_loss(scores) * (float("nan") if calls == 7 else 1)

    with monkeypatch.context() as patch:
        patch.setattr(conformer_kernel, "weak_ranknet_loss", broken)
        with pytest.raises(TrainingError, match="step 7"):
            train(tiny_collection, **changes, folder=tmp_path)
    found = train(tiny_collection, **changes, folder=tmp_path, resume=True)
    for name, weights in whole.weights.items():
        np.testing.assert_array_equal(found.weights[name], weights)


def test_word2vec_vectors_are_in_next_to_out(
    tiny_collection: Collection, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setitem(__import__("sys").modules, "gensim.models", None)
        with pytest.raises(InputError, match=r"ranklet\[word2vec\]"):
            train(tiny_collection, vectors="word2vec")
    pytest.importorskip("gensim")
    from ranklet.training.rankers.conformer_kernel.word2vec import word_vectors

    rng = np.random.default_rng(0)
    pairs = [np.array(rng.permutation([[2, 3], [4, 5]][at % 2] * 4)) for at in range(400)]
    found = word_vectors(pairs, 8, 12, seed=1)
    assert found.shape == (8, 12)
    assert found.dtype == np.float32
    np.testing.assert_array_equal(found, word_vectors(pairs, 8, 12, seed=1))
    unit = found / np.linalg.norm(found, axis=1, keepdims=True)
    assert (unit @ unit.T)[2, 3] > max((unit @ unit.T)[2, 4:6]) + 0.3
    for half in (slice(6), slice(6, 12)):
        assert found[2:6, half].std() == pytest.approx(1, rel=1e-4)
    checkpoint = train(tiny_collection, vectors="word2vec")
    assert checkpoint.training["options"]["vectors"] == "word2vec"


@pytest.mark.slow
def test_tk_trains_in_parts_and_reports_documents_that_are_too_long(
    tiny_collection: Collection, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    whole = train_tk(tiny_collection)
    assert "full attention" not in caplog.text
    monkeypatch.setattr(layers, "AT_ONCE", 1 << 12)  # a pair: 4 heads x 32 x 32 terms, padded
    assert train_tk(tiny_collection).training["steps"] == whole.training["steps"]
    assert "lower max_document_terms" not in caplog.text
    monkeypatch.setattr(layers, "AT_ONCE", 50)
    train_tk(tiny_collection)
    assert "lower max_document_terms" in caplog.text


def test_options_that_are_not_allowed_are_refused() -> None:
    for wrong in ({"vectors": "glove"}, {"least": 0}, {"batch": 0}):
        with pytest.raises(InputError, match=next(iter(wrong))):
            replace(OPTIONS, **wrong)
    for name, value in (("architecture", "tk"), ("field", "wordpieces"), ("impacts", "int4"),
                        ("max_query_terms", 0), ("floor", 2), ("tf_mean", -1)):  # fmt: skip
        with pytest.raises(InputError, match=name):
            ConformerKernelSettings(**{name: value})  # type: ignore[arg-type]


def test_the_command_trains_and_cleans_up(
    tiny_collection: Collection, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    collection = tmp_path / "collection"
    shutil.copytree(tiny_collection.path, collection)
    (collection / "queries.log.jsonl").write_text('{"_id": "seen", "text": "a motor"}\n', "utf-8")
    document = next(iter(tiny_collection.documents())).id
    (collection / "qrels.log.txt").write_text(f"seen 0 {document} 1\n", "utf-8")
    output = tmp_path / "ck"
    arguments = ["train", "conformer_kernel", str(collection), "-o", str(output)]
    arguments += ["--split", "train", "--tune", "dev", "--architecture", "ndrm3"]
    arguments += ["--field", "lemmas"]
    arguments += ["--hidden", "16", "--blocks", "1", "--heads", "4", "--groups", "4"]
    arguments += ["--width", "3", "--kernels", "5", "--pool-window", "8", "--pool-stride", "4"]
    arguments += ["--epochs", "1", "--batch", "8", "--lr", "0.01", "--device", "cpu", "--seed", "1"]
    arguments += ["--terms", "40", "--candidates", "50", "--floor", "0.4", "--least", "1"]
    arguments += ["--impacts", "float16"]
    arguments += ["--max-query-tokens", "9", "--max-document-tokens", "50"]
    assert main([*arguments, "--query-log", "train"]) == 1
    assert "are in the query log 'train'" in capsys.readouterr().err
    with pytest.raises(SystemExit, match="2"):
        main([*arguments, "--negatives", "random"])
    assert main([*arguments, "--query-log", "log"]) == 0
    assert sorted(path.name for path in tmp_path.iterdir()) == ["ck", "collection"]
    found = read_checkpoint(output)
    settings = found.settings
    assert (settings.field, settings.terms, settings.impacts) == ("lemmas", 40, "float16")
    assert (settings.candidates, settings.floor) == (50, 0.4)
    assert (settings.max_query_terms, settings.max_document_terms) == (9, 50)
    network = conformer_kernel.load(found).network
    assert (network.layers, network.window, network.stride) == (1, 8, 4)
    assert "motor" in found.tokens  # asked for, and out of the query log
