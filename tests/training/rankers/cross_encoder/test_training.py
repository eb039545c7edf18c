import json
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from ranklet.corpus.collections.collection import Collection
from ranklet.corpus.collections.splits import read_split
from ranklet.corpus.indexing.analysed import AnalysedCollection, open_bm25
from ranklet.runtime.ground.errors import InputError
from ranklet.runtime.rankers.cross_encoder.ranker import CrossEncoderSettings
from ranklet.runtime.text.marking import TERMS
from ranklet.runtime.text.pairing import Pairing, pair_inputs
from ranklet.training.checkpoint import Checkpoint, read_checkpoint
from ranklet.training.pretrained.backbone import Backbone, load_backbone
from ranklet.training.rankers.cross_encoder import training as cross_encoder
from ranklet.training.rankers.cross_encoder.marker_tokens import add_marker_rows
from ranklet.training.rankers.cross_encoder.options import Options
from ranklet.training.rankers.cross_encoder.pairs import CrossPairs

SETTINGS = CrossEncoderSettings(max_query_tokens=8, max_tokens=32)
PASSAGES_OF_HEAD = replace(SETTINGS, chunks=3)
OPTIONS = Options(
    settings=SETTINGS, learning_rate=3e-4, epochs=1, accumulation=1, device="cpu", batch=4,
    negatives_each=3,
)  # fmt: skip


def train(collection: Collection, backbone: Path | None, **changes: Any) -> Checkpoint:
    queries, dev = read_split(collection, "train"), read_split(collection, "dev")
    options = replace(OPTIONS, backbone=backbone, **changes)
    return cross_encoder.train(collection, queries, dev, options)


@pytest.fixture(scope="module")
def learned(tiny_collection: Collection, tiny_bert: Path) -> Checkpoint:
    settings = replace(SETTINGS, head="model1")
    return train(tiny_collection, tiny_bert, settings=settings, epochs=30)


@pytest.mark.slow
def test_it_learns(learned: Checkpoint) -> None:
    course = [each["value"] for each in learned.training["evaluations"]]
    assert learned.training["best"] > course[0] + 0.3
    assert learned.training["options"]["head_rate"] == 10


@pytest.mark.slow
def test_transformers_opens_the_checkpoint(learned: Checkpoint, tmp_path: Path) -> None:
    folder = learned.save(tmp_path / "c")
    theirs = load_backbone(folder).model
    ours = cross_encoder.load(read_checkpoint(folder)).encoder
    ids = torch.tensor([[2, 30, 31, 3]])
    with torch.no_grad():
        torch.testing.assert_close(
            ours(input_ids=ids).last_hidden_state, theirs(input_ids=ids).last_hidden_state,
            atol=1e-5, rtol=1e-5,
        )  # fmt: skip
    assert "tiny-bert" not in (folder / "config.json").read_text()


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"chunks": 3},
        {"chunks": 3, "combine": "max"},
        {"marking": "pre_pair", "mark_tokens": 24},
    ],
)
def test_a_pair_has_the_same_score_alone_and_in_a_batch(
    tiny_collection: Collection, tiny_bert: Path, changes: dict[str, Any]
) -> None:
    settings = replace(SETTINGS, **changes)
    checkpoint = train(tiny_collection, tiny_bert, settings=settings)
    model = cross_encoder.load(checkpoint)
    assert checkpoint.tokenizer is not None
    pairing = Pairing(settings, checkpoint.tokenizer)
    texts = ["the red apple", "old river " * 40, "", "here"]
    pieces = [checkpoint.tokenizer.encode(text, add_special_tokens=False).ids for text in texts]
    pairs = [pairing.pair(pieces[0][1:], each).rows for each in pieces]

    def scores(given: list[Any]) -> torch.Tensor:
        with torch.no_grad():
            found: torch.Tensor = model(
                *(torch.from_numpy(each) for each in pair_inputs(given).values())
            )
        return found

    alone = torch.cat([scores([pair]) for pair in pairs])
    torch.testing.assert_close(alone, scores(pairs), atol=1e-5, rtol=1e-5)


def test_batches_are_a_relevant_document_and_others(
    tiny_analysed: AnalysedCollection, tiny_collection: Collection, tiny_backbone: Backbone
) -> None:
    from ranklet.runtime.rankers.bm25 import BM25Settings

    retriever = open_bm25(BM25Settings(), tiny_analysed.postings("lemmas"))
    queries = read_split(tiny_collection, "train")
    pairing = Pairing(SETTINGS, tiny_backbone.tokenizer)
    pairs = CrossPairs(tiny_analysed, queries, retriever, OPTIONS, pairing, None)
    seen = []
    for batch in pairs.batches(0):
        assert batch.documents.shape == (len(batch.queries), 4)
        assert len(pairs.pairs(batch)) == batch.documents.size
        for query, (first, *others) in zip(batch.queries, batch.documents.tolist(), strict=True):
            known = queries[query].relevant
            assert tiny_analysed.documents.ids[first] in known
            assert not {tiny_analysed.documents.ids[each] for each in others} & {*known}
            seen.append(int(query))
    assert sorted(seen) == list(range(len(queries)))
    same = [each.documents.tolist() for each in pairs.batches(1)]
    assert same == [each.documents.tolist() for each in pairs.batches(1)]


def test_markers_begin_as_the_mean_of_what_spells_them(tiny_backbone: Backbone) -> None:
    tokenizer, model = tiny_backbone.tokenizer, tiny_backbone.model
    before = tiny_backbone.word_vectors().copy()
    add_marker_rows(model, tokenizer, "sim_pair")
    assert len(tiny_backbone.word_vectors()) == len(before)
    add_marker_rows(model, tokenizer, "pre_pair")
    after = tiny_backbone.word_vectors()
    size = tokenizer.get_vocab_size()
    assert len(after) == size + 2 * TERMS == tiny_backbone.config.vocab_size
    np.testing.assert_array_equal(after[: len(before)], before)
    spelled = tokenizer.encode("[/e2]", add_special_tokens=False).ids
    np.testing.assert_allclose(after[size + 3], before[spelled].mean(0), rtol=1e-5)
    add_marker_rows(model, tokenizer, "pre_doc")  # they are there already
    assert len(tiny_backbone.word_vectors()) == len(after)


@pytest.mark.slow
def test_a_second_phase_goes_on_from_the_first(
    learned: Checkpoint, tiny_collection: Collection, tmp_path: Path
) -> None:
    start, settings = learned.save(tmp_path / "first"), learned.settings
    found = train(tiny_collection, None, start=start, settings=settings)
    assert found.training["evaluations"][0]["value"] == learned.training["best"]
    body = {n: w for n, w in learned.weights.items() if not n.startswith("head.")}
    other = replace(learned, weights={**body, "head.x": np.zeros(3, np.float32)})
    with pytest.raises(InputError, match="do not fit"):
        train(tiny_collection, None, start=other.save(tmp_path / "other"), settings=settings)
    with pytest.raises(InputError, match="a second phase keeps the head"):
        train(tiny_collection, None, start=start)


def test_passages_are_the_first_of_each_document_and_some_others(
    tiny_analysed: AnalysedCollection, tiny_collection: Collection, tiny_backbone: Backbone
) -> None:
    settings = replace(SETTINGS, max_query_tokens=4, max_tokens=9, chunks=16, combine="max")
    options = replace(OPTIONS, settings=settings, loss="cross_entropy", learn_from="passages")
    retriever = open_bm25(options.bm25, tiny_analysed.postings("lemmas"))
    queries = read_split(tiny_collection, "train")
    pairing = Pairing(settings, tiny_backbone.tokenizer)
    pairs = CrossPairs(tiny_analysed, queries, retriever, options, pairing, None)
    others = kept = 0
    for batch in pairs.batches(0):
        passages = pairs.passages(batch)
        assert passages.pairs == pairs.passages(batch).pairs  # as after a resume
        rest = list(zip(passages.pairs, passages.relevant.tolist(), strict=True))
        for number, pair in enumerate(pairs.pairs(batch)):
            relevant = number % batch.documents.shape[1] == 0
            first, *later = [
                (pair._replace(rows=[row], read=[span]), relevant)
                for row, span in zip(pair.rows, pair.read, strict=True)
            ]
            assert rest.pop(0) == first
            others += len(later)
            for each in later:
                if rest and rest[0] == each:
                    rest.pop(0)
                    kept += 1
        assert not rest
    assert 0 < kept < others / 4


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"settings": replace(SETTINGS, max_tokens=65)}, "reads at most 64"),
        ({"loss": "hinge"}, "allowed are margin, softmax, cross_entropy"),
        (
            {"settings": replace(SETTINGS, head="model1"), "loss": "cross_entropy"},
            "use the loss softmax or margin",
        ),
        ({"settings": replace(SETTINGS, head="cedr_knrm"), "layers": 4}, "layers is 4"),
        ({"learn_from": "passages"}, "needs --loss cross_entropy"),
        (
            {"learn_from": "passages", "loss": "cross_entropy", "settings": PASSAGES_OF_HEAD},
            "chunks is 3 and combine is 'head', so give --chunks 2 or more",
        ),
        ({"learn_from": "passages", "loss": "cross_entropy"}, "chunks is 1 and combine is 'head'"),
    ],
)
def test_what_is_not_allowed_is_refused(
    tiny_collection: Collection, tiny_bert: Path, options: dict[str, Any], message: str
) -> None:
    with pytest.raises(InputError, match=message):
        train(tiny_collection, tiny_bert, **options)


def test_a_backbone_that_loses_its_trained_head_is_reported(
    tiny_collection: Collection, tiny_bert: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    folder = tmp_path / "reranker"
    shutil.copytree(tiny_bert, folder)
    config = json.loads((folder / "config.json").read_text())
    config["architectures"] = ["BertForSequenceClassification"]
    (folder / "config.json").write_text(json.dumps(config))
    train(tiny_collection, folder)
    assert "'reranker' is a cross-encoder, but training replaces its trained head" in caplog.text
    assert f"ranklet export {folder} --output BUNDLE" in caplog.text
    caplog.clear()
    train(tiny_collection, tiny_bert)
    assert "trained head" not in caplog.text
