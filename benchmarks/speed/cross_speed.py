"""Reranking 100 candidates of 128 tokens with a MiniLM-L6 cross-encoder: ours, PyTorch and peers.

One and the same network everywhere: a vanilla cross-encoder that learned shortly. As it goes to the
peers it has the pooling layer that transformers wants, made so that it changes nothing. The peers
run in an environment of their own, and so do we, so that all are in one process and take turns.
"""

import json
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from benchmarks.built.bundles import google_wiki_hybrid, qa_mix_lexical
from benchmarks.built.peers import opened, retriever_of
from benchmarks.built.trained import short
from benchmarks.harness.contest import contest
from benchmarks.harness.place import Place
from benchmarks.harness.report import goal_at_least, table
from benchmarks.harness.timing import take_turns
from ranklet import runtime
from ranklet.corpus.collections.splits import read_split
from ranklet.export.bundles import export_bundle
from ranklet.export.options import ExportOptions
from ranklet.runtime.call.candidates import StoredCandidates
from ranklet.runtime.call.query import QueryContext
from ranklet.runtime.rankers.opening import open_ranker
from ranklet.training.checkpoint import Checkpoint, read_checkpoint

PACKAGES = ("onnx",)
COLLECTION, QUERIES, DEPTH, TOKENS, THREADS = "qa-mix", 6, 100, 128, 2
THEIRS = "cross.peers"  # the network as transformers, sentence-transformers and FlashRank read it
TINY = 1e-3  # tanh(x · TINY) / TINY is x but for a share of x² · 10⁻⁶ / 3
EAGER, INT8, THEIR_INT8 = "PyTorch eager", "ranklet, int8", "sentence-transformers, ONNX int8"
LEAST_EAGER, LEAST_PEER, LEAST_MODEL1 = 2.5, 1.3, 1000.0
MODEL1_QUERIES, MODEL1_DEPTH, ROUNDS = 100, 1000, 5
DRAWN, POOL = 20, 200  # queries, and candidates of BM25 of which the longest are read


def run(place: Place) -> str:
    """Export, then have the contest in the peers' environment."""
    checkpoint = read_checkpoint(short(place, "cross_encoder"))
    texts = _texts(place)
    theirs = place.work / THEIRS
    _transformers_folder(checkpoint, theirs)
    request = {
        "ours": {each: str(_exported(place, checkpoint, each)) for each in ("int8", "fp32")},
        "theirs": str(theirs),
        "asked": texts,
        "tokens": TOKENS,
    }
    found = contest(place, "cross_contest", request, threads=THREADS)
    ms = {name: float(np.median(each)) for name, each in found["ms"].items()}
    rows = [
        [
            name,
            f"{ms[name]:.0f}",
            f"{ms[name] / DEPTH:.2f}",
            f"{ms[EAGER] / ms[name]:.2f}",
            f"{found['kendall'][name]:.4f}",
        ]
        for name in ms
    ]
    versions = ", ".join(f"{name} {number}" for name, number in found["versions"].items())
    head = ["", "100 candidates, ms", "one, ms", "× PyTorch", "Kendall τ"]
    passages = read_split(place.collection("google-wiki"), "dev", limit=MODEL1_QUERIES)
    model1 = rescored_by_model1(google_wiki_hybrid(place), [each.text for each in passages])
    us = float(np.median(model1))  # µs a document: ms for 1,000 of them
    return f"""
{QUERIES} dev queries of {COLLECTION}, {DEPTH} candidates of BM25 each, all cut to {TOKENS} tokens \
with the query; text in, scores out; {THREADS} threads; medians over queries of medians of 3 \
rounds. *Kendall τ*: with PyTorch's order, mean over queries.

{table(head, rows)}

{goal_at_least("int8 against PyTorch eager", ms[EAGER] / ms[INT8], LEAST_EAGER)}
{goal_at_least("int8 against sentence-transformers' int8", ms[THEIR_INT8] / ms[INT8], LEAST_PEER)}
{goal_at_least("a document, NN-Model1-exp against int8", ms[INT8] * 1e3 / DEPTH / us, LEAST_MODEL1)}
- Against PyTorch eager that is {ms[EAGER] * 1e3 / DEPTH / us:,.0f} ×. NN-Model1-exp: passages of \
google-wiki, one thread, {us:.2f} µs each.
- FlashRank runs the ONNX files that sentence-transformers made; so it runs those of its own.
- Versions in the peers' environment: {versions}.
"""


def rescored_by_model1(path: Path, queries: list[str]) -> NDArray[np.float64]:
    """Return ms that neural Model 1 takes for BM25's first 1,000, (queries,)."""
    bundle = opened(path)
    first, ranker = retriever_of(bundle, "bm25"), open_ranker(bundle, "neural_model1")
    if bundle.documents is None:
        raise TypeError("the bundle has no documents")
    asked = []
    for text in queries:
        query = QueryContext(text, bundle.analyzer.begin())
        numbers = first.retrieve(query, MODEL1_DEPTH).numbers
        if len(numbers) == MODEL1_DEPTH:
            query.tokens("wordpieces")  # rank() has them already when it comes to rescoring
            asked.append((query, StoredCandidates(bundle.documents, numbers)))
    return take_turns({"rescore": lambda pair: ranker.score(*pair)}, asked, ROUNDS)["rescore"]


def _texts(place: Place) -> list[tuple[str, list[str]]]:
    """Return queries and their candidates' texts; only documents long enough to fill a pair."""
    bundle, found = runtime.load(qa_mix_lexical(place)), []
    for query in read_split(place.collection(COLLECTION), "dev", limit=DRAWN):
        hits = bundle.rank(query.text, k=POOL)
        texts = sorted((f"{each.title}\n{each.text}" for each in hits), key=len, reverse=True)
        if len(texts) >= DEPTH:
            found.append((query.text, texts[:DEPTH]))
    return found[:QUERIES]


def _exported(place: Place, checkpoint: Checkpoint, variant: str) -> Path:
    """Return a bundle with one variant alone: the one that is served."""
    options = ExportOptions(variants=(variant,))

    def build(path: Path) -> None:
        export_bundle({"cross_encoder": checkpoint}, path, options=options, overwrite=True)

    return place.keep(f"cross-{variant}.ranklet", build)


def _transformers_folder(checkpoint: Checkpoint, folder: Path) -> None:
    """Write the network as a BertForSequenceClassification of one label."""
    import torch
    from transformers import BertConfig, BertForSequenceClassification

    config = BertConfig(**{**checkpoint.network, "num_labels": 1})
    model = BertForSequenceClassification(config)
    held = {name: torch.from_numpy(w) for name, w in checkpoint.weights.items()}
    state = {f"bert.{name}": w for name, w in held.items() if not name.startswith("head.")}
    state["bert.pooler.dense.weight"] = torch.eye(config.hidden_size) * TINY
    state["bert.pooler.dense.bias"] = torch.zeros(config.hidden_size)
    state["classifier.weight"] = held["head.linear.weight"] / TINY
    state["classifier.bias"] = held["head.linear.bias"]
    model.load_state_dict(state)
    model.save_pretrained(folder)
    if checkpoint.tokenizer is None:
        raise TypeError("the checkpoint has no tokenizer")
    checkpoint.tokenizer.save(str(folder / "tokenizer.json"))
    special = {
        f"{name}_token": f"[{name.upper()}]" for name in ("cls", "sep", "pad", "unk", "mask")
    }
    (folder / "special_tokens_map.json").write_text(json.dumps(special))
    made = {"tokenizer_class": "BertTokenizer", "model_max_length": TOKENS, **special}
    (folder / "tokenizer_config.json").write_text(json.dumps(made))
