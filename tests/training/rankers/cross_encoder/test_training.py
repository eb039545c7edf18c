from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from tests.kinds import TinyRankers

from ranklet.runtime.errors import InputError
from ranklet.runtime.rankers.cross_encoder.ranker import (
    CrossEncoderSettings,
)
from ranklet.runtime.text.marking import TERMS
from ranklet.runtime.text.pairing import Pairing, pair_inputs
from ranklet.training.checkpoint import Checkpoint, read_checkpoint
from ranklet.training.data.collection import Collection
from ranklet.training.data.splits import read_split
from ranklet.training.errors import TrainingError
from ranklet.training.indexing.analysed import AnalysedCollection
from ranklet.training.indexing.retriever import open_bm25
from ranklet.training.learning.losses import margin_loss
from ranklet.training.pretrained.backbone import Backbone, load_backbone
from ranklet.training.rankers.cross_encoder import training as cross_encoder
from ranklet.training.rankers.cross_encoder.marker_tokens import add_marker_rows
from ranklet.training.rankers.cross_encoder.pairs import CrossOptions, CrossPairs

PLAN = replace(
    cross_encoder.PLAN, learning_rate=3e-4, epochs=30, accumulation=1, device="cpu", warmup=0.1
)
DATA = CrossOptions(batch=4, negatives_each=3)
SETTINGS = CrossEncoderSettings(max_query_tokens=8, max_tokens=32)
SHORT = replace(PLAN, epochs=1)


def train(
    analysed: AnalysedCollection, collection: Collection, backbone: Backbone, **options: Any
) -> Checkpoint:
    given: dict[str, Any] = {"settings": SETTINGS, "plan": SHORT, "data": DATA, **options}
    queries, dev = read_split(collection, "train"), read_split(collection, "dev")
    return cross_encoder.train(analysed, queries, dev, backbone=backbone, **given)


@pytest.fixture(scope="module")
def learned(
    tiny_analysed: AnalysedCollection, tiny_collection: Collection, tiny_bert: Path
) -> Checkpoint:
    settings = replace(SETTINGS, head="model1")
    backbone = load_backbone(tiny_bert)
    return train(tiny_analysed, tiny_collection, backbone, settings=settings, plan=PLAN)


def test_it_learns(learned: Checkpoint) -> None:
    course = [each["value"] for each in learned.training["evaluations"]]
    assert learned.training["best"] > course[0] + 0.3
    assert learned.training["plan"]["head_rate"] == 10


@pytest.mark.slow
def test_an_interrupted_training_ends_the_same(
    tiny_analysed: AnalysedCollection, tiny_collection: Collection, tiny_bert: Path,
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    plan = replace(PLAN, epochs=3, save_every=2)
    whole = train(tiny_analysed, tiny_collection, load_backbone(tiny_bert), plan=plan)
    calls = 0

    def broken(positive: torch.Tensor, negative: torch.Tensor, margin: float) -> torch.Tensor:
        nonlocal calls
        calls += 1
        return margin_loss(positive, negative, margin) * (float("nan") if calls == 12 else 1)

    with monkeypatch.context() as patch:
        patch.setattr(cross_encoder, "margin_loss", broken)
        with pytest.raises(TrainingError, match="step 12"):
            train(
                tiny_analysed, tiny_collection, load_backbone(tiny_bert), plan=plan, folder=tmp_path
            )
    with pytest.raises(TrainingError, match="head_rate"):
        train(
            tiny_analysed, tiny_collection, load_backbone(tiny_bert),
            plan=replace(plan, head_rate=3.0), folder=tmp_path, resume=True,
        )  # fmt: skip
    found = train(
        tiny_analysed, tiny_collection, load_backbone(tiny_bert), plan=plan, folder=tmp_path,
        resume=True,
    )  # fmt: skip
    assert found.training["steps"] == whole.training["steps"]
    for name, weights in whole.weights.items():
        np.testing.assert_array_equal(found.weights[name], weights)


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
    "changes", [{}, {"chunks": 3}, {"chunks": 3, "combine": "max"}, {"marking": "pre_pair"}]
)
def test_a_pair_alone_is_the_pair_among_others(
    tiny_analysed: AnalysedCollection, tiny_collection: Collection, tiny_backbone: Backbone,
    changes: dict[str, Any],
) -> None:  # fmt: skip
    settings = replace(SETTINGS, **changes)
    checkpoint = train(tiny_analysed, tiny_collection, tiny_backbone, settings=settings)
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
    pairs = CrossPairs(tiny_analysed, queries, retriever, DATA, pairing, 0)
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


def test_a_second_phase_keeps_the_head(tiny: TinyRankers) -> None:
    def second(start: Checkpoint, settings: CrossEncoderSettings) -> None:
        backbone = load_backbone(tiny.data.bert)
        cross_encoder.train(
            tiny.data.analysed, [], [], backbone=backbone, start=start, settings=settings
        )

    first = tiny.checkpoint("cross_encoder")
    other = "vanilla" if first.settings.head != "vanilla" else "model1"
    with pytest.raises(InputError, match=f"has the head {first.settings.head}"):
        second(first, replace(SETTINGS, head=other))
    with pytest.raises(InputError, match="not from a bm25"):
        second(tiny.checkpoint("bm25"), SETTINGS)
