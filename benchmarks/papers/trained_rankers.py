"""Rankers that are trained and then rank lists in PyTorch, without an export."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from benchmarks.papers.plans import RERANKING
from benchmarks.papers.searched import DEPTH, Asked, Data, Lists, Trained, again, encoded
from benchmarks.papers.text_scorer import text_scorer
from ranklet.corpus.indexing.ragged import by_length
from ranklet.corpus.rankers.conformer_kernel.terms import term_rows
from ranklet.runtime.rankers.conformer_kernel.settings import ConformerKernelSettings
from ranklet.runtime.rankers.cross_encoder.ranker import CrossEncoderSettings
from ranklet.runtime.rankers.tk import ARCHITECTURES, TKSettings
from ranklet.training.checkpoint import Checkpoint, read_checkpoint
from ranklet.training.learning.device import choose_device
from ranklet.training.rankers.conformer_kernel import training as conformer
from ranklet.training.rankers.conformer_kernel.network import Pairs
from ranklet.training.rankers.conformer_kernel.options import Options as ConformerOptions
from ranklet.training.rankers.conformer_kernel.pairs import TermReader
from ranklet.training.rankers.conformer_kernel.sizes import Network
from ranklet.training.rankers.cross_encoder import training as cross
from ranklet.training.rankers.cross_encoder.options import Options as CrossOptions
from ranklet.training.rankers.dense import training as dense
from ranklet.training.rankers.dense.options import Options as DenseOptions
from ranklet.training.rankers.tk import training as tk
from ranklet.training.rankers.tk.options import Options as TKOptions
from ranklet.training.rankers.tk.options import TKNetwork

SIZES: dict[str, Any] = {"hidden": 128, "heads": 16}
TERMS, PAIRS, BLOCK = 100, 50, 20  # documents of BM25 that are ranked anew, and per batch
TOKENS = 256  # of query and document, and as many that only marks may take


def on_terms(data: Data, options: dict[str, Any]) -> Trained:
    """Train a Conformer-Kernel or a TK by its architecture, which ranks BM25's first anew."""
    reads = options.pop("reads", TERMS)
    checkpoint = _learned(data, options)
    load: Any = tk.load if checkpoint.kind == "tk" else conformer.load
    device = choose_device("auto")
    model = load(checkpoint).to(device).eval()

    def score(reader: TermReader, terms: NDArray[np.int64], few: NDArray[np.int64]) -> Any:
        pairs = Pairs(*(each.to(device) for each in reader.pairs([terms], few[None])))
        return model(pairs).float().cpu().numpy().ravel()

    def rank(asked: Asked) -> Mapping[str, Lists]:
        reader = _reader(checkpoint, asked)
        ranked = []
        with torch.inference_mode():
            for query, numbers in zip(asked.queries, asked.found, strict=True):
                terms, first = reader.query_terms(query.text), numbers[:reads].astype(np.int64)
                blocks = [first[at : at + BLOCK] for at in range(0, len(first), BLOCK)]
                scores = [score(reader, terms, few) for few in blocks]
                ranked.append(again(numbers, np.concatenate([*scores, np.zeros(0)])))
        return {"": ranked}

    return Trained(checkpoint, rank, {})


def retrieving(_: Data, options: dict[str, Any]) -> Trained:
    """Let a Conformer-Kernel that was trained search everything, and rank BM25's first anew.

    A query term's score depends on no other term, so all documents are scored for each term once.
    """
    checkpoint = read_checkpoint(options["goes_on"])
    device = choose_device("auto")
    model = conformer.load(checkpoint).to(device).eval()

    def rank(asked: Asked) -> Mapping[str, Lists]:
        reader = _reader(checkpoint, asked)
        of_queries = [reader.query_terms(query.text) for query in asked.queries]
        terms = np.unique(np.concatenate(of_queries))

        def run(block: NDArray[np.intp]) -> NDArray[np.float32]:
            pairs = reader.pairs([terms], block[None])
            scores = model.term_scores(Pairs(*(each.to(device) for each in pairs)))
            return np.asarray(scores[:, : len(terms)].float().cpu().numpy())

        with torch.inference_mode():
            by_term = by_length(reader.lengths, BLOCK, run)  # (documents, terms)
        found, first = [], []
        for own, numbers in zip(of_queries, asked.found, strict=True):
            scores = by_term[:, np.searchsorted(terms, own)].sum(1)
            found.append(np.argsort(-scores, kind="stable")[:DEPTH])
            first.append(again(numbers, scores[numbers[:TERMS]]))
        return {"": found, RERANKING: first}

    return Trained(checkpoint, rank, {})


def _learned(data: Data, options: dict[str, Any]) -> Checkpoint:
    architecture, limit = options.pop("architecture"), options.pop("max_document_terms", 400)
    sizes = options.pop("sizes", SIZES)
    common = {"batch": 64, **options}
    if architecture in ARCHITECTURES:
        of_tk = TKSettings(field="lemmas", architecture=architecture, max_document_terms=limit)
        return tk.train(
            *data, options=TKOptions(settings=of_tk, network=TKNetwork(**sizes), **common)
        )
    settings = ConformerKernelSettings(
        field="lemmas", architecture=architecture, max_document_terms=limit
    )
    network = Network(**sizes, groups=sizes["heads"])
    return conformer.train(
        *data, options=ConformerOptions(settings=settings, network=network, **common)
    )


def _reader(checkpoint: Checkpoint, asked: Asked) -> TermReader:
    settings, vocabulary = checkpoint.settings, asked.analysed.analyzer.vocabulary
    rows = term_rows(checkpoint.tokens, vocabulary, settings.field)
    return TermReader(asked.analysed, settings, rows)


def searching(data: Data, options: dict[str, Any]) -> Trained:
    """Train a dense encoder, which searches the whole collection."""
    common: dict[str, Any] = {
        "batch": 256,
        "learning_rate": 5e-5,
        "max_query_tokens": 20,
        "similarity": "dot",
    }
    checkpoint = dense.train(*data, options=DenseOptions(**(common | options)))
    model, settings = dense.load(checkpoint).to(choose_device("auto")).eval(), checkpoint.settings

    def rank(asked: Asked) -> Mapping[str, Lists]:
        texts, queries = asked.texts(), [each.text for each in asked.queries]
        longest = settings.max_document_tokens, settings.max_query_tokens
        of_all = encoded(model, checkpoint, texts, longest[0], settings.document_segment)
        of_queries = encoded(model, checkpoint, queries, longest[1])
        best = [torch.topk(of_all @ query, min(DEPTH, len(texts))).indices for query in of_queries]
        return {"": [each.cpu().numpy() for each in best]}

    return Trained(checkpoint, rank, {})


def pairwise(data: Data, options: dict[str, Any]) -> Trained:
    """Train a cross-encoder by its marks, head or chunks, from the start or where another ended."""
    changes: dict[str, Any] = {
        name: options.pop(name) for name in ("marking", "head", "chunks") if name in options
    }
    tokens = options.pop("tokens", TOKENS)
    if changes.get("marking", "none") != "none":
        changes["mark_tokens"] = tokens
    if "goes_on" in options:
        options["start"] = options.pop("goes_on")
        options.pop("backbone", None)  # which the other began with
    settings = CrossEncoderSettings(**changes, max_tokens=tokens)
    batches = {"batch": 6, "negatives_each": 7, "accumulation": 1}  # 48 pairs per step
    common = {"loss": "softmax", "learning_rate": 1e-4, **batches, **options}
    checkpoint = cross.train(*data, options=CrossOptions(settings=settings, **common))
    score = text_scorer(checkpoint, "auto")

    def rank(asked: Asked) -> Mapping[str, Lists]:
        texts, ranked = asked.texts(), []
        for query, numbers in zip(asked.queries, asked.found, strict=True):
            pairs = [(query.text, texts[number]) for number in numbers[:PAIRS].tolist()]
            ranked.append(again(numbers, score(pairs)))
        return {"": ranked}

    return Trained(checkpoint, rank, {})
