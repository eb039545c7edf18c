"""Rankers that are trained and then rank lists in PyTorch, without an export."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray

from ranklet.runtime.rankers.conformer_kernel.settings import ConformerKernelSettings
from ranklet.runtime.rankers.cross_encoder.ranker import CrossEncoderSettings
from ranklet.runtime.rankers.tk import TKSettings
from ranklet.runtime.text.ranked import ranked_text
from ranklet.training.checkpoint import Checkpoint
from ranklet.training.data.splits import JudgedQuery
from ranklet.training.encoders.encoder_texts import encoder_inputs
from ranklet.training.encoders.text_pairs import tokenise
from ranklet.training.indexing.analysed import AnalysedCollection
from ranklet.training.learning.device import choose_device
from ranklet.training.rankers.conformer_kernel import training as conformer
from ranklet.training.rankers.conformer_kernel.network import Pairs
from ranklet.training.rankers.conformer_kernel.options import Options as ConformerOptions
from ranklet.training.rankers.conformer_kernel.pairs import TermReader
from ranklet.training.rankers.conformer_kernel.sizes import Network
from ranklet.training.rankers.conformer_kernel.vocabulary import term_rows
from ranklet.training.rankers.cross_encoder import training as cross
from ranklet.training.rankers.cross_encoder.options import Options as CrossOptions
from ranklet.training.rankers.dense import training as dense
from ranklet.training.rankers.dense.options import Options as DenseOptions
from ranklet.training.rankers.tk import training as tk
from ranklet.training.rankers.tk.options import Options as TKOptions
from ranklet.training.rankers.tk.options import TKNetwork
from ranklet.training.sampling.ragged import by_length

SIZES = {"hidden": 128, "heads": 16}
TERMS, PAIRS, BLOCK = 100, 50, 20  # documents of BM25 that are ranked anew, and per batch
DEPTH = 1000  # documents of each query
LONGEST = 512  # pieces of a pair, so that marks push no text out
Lists = Sequence[NDArray[np.integer]]  # of each query, numbers of documents, best first


class Asked(NamedTuple):
    """Queries, what BM25 finds for each, and the collection, with or without its titles."""

    analysed: AnalysedCollection
    titles: bool
    queries: Sequence[JudgedQuery]
    found: Lists

    def texts(self) -> list[str]:
        """Return the text of each document that rankers read."""
        listed = self.analysed.listed()
        return [ranked_text(each.title, each.text, self.titles) for each in listed]


class Trained(NamedTuple):
    """A trained ranker, and what ranks BM25's lists anew."""

    checkpoint: Checkpoint
    rank: Callable[[Asked], Lists]


def on_terms(data: Any, options: dict[str, Any]) -> Trained:
    """Train a Conformer-Kernel or a TK by its architecture and form."""
    architecture, form = options.pop("architecture"), options.pop("form", "ranklet")
    common = {"batch": 64, "vectors": "word2vec", **options}
    if architecture == "tk":
        of_tk = TKSettings(field="lemmas", architecture="tk", max_document_terms=400)
        checkpoint = tk.train(
            *data, TKOptions(settings=of_tk, network=TKNetwork(**SIZES), **common)
        )
        model: Any = tk.load(checkpoint)
    else:
        settings = ConformerKernelSettings(
            field="lemmas", architecture=architecture, max_document_terms=400
        )
        network = Network(**SIZES, groups=16, form=form)
        checkpoint = conformer.train(
            *data, ConformerOptions(settings=settings, network=network, **common)
        )
        model = conformer.load(checkpoint)
    device = choose_device("auto")
    model = model.to(device).eval()

    def score(reader: TermReader, terms: NDArray[np.int64], few: NDArray[np.int64]) -> Any:
        pairs = Pairs(*(each.to(device) for each in reader.pairs([terms], few[None])))
        return model(pairs).float().cpu().numpy().ravel()

    def rank(asked: Asked) -> Lists:
        rows = term_rows(checkpoint.tokens, asked.analysed.analyzer.vocabulary)
        reader = TermReader(asked.analysed, checkpoint.settings, rows)
        ranked = []
        with torch.inference_mode():
            for query, numbers in zip(asked.queries, asked.found, strict=True):
                terms, first = reader.query_terms(query.text), numbers[:TERMS].astype(np.int64)
                blocks = [first[at : at + BLOCK] for at in range(0, len(first), BLOCK)]
                scores = [score(reader, terms, few) for few in blocks]
                ranked.append(_again(numbers, np.concatenate([*scores, np.zeros(0)])))
        return ranked

    return Trained(checkpoint, rank)


def searching(data: Any, options: dict[str, Any]) -> Trained:
    """Train a dense encoder, which searches the whole collection."""
    common = {"batch": 256, "learning_rate": 5e-5, "max_query_tokens": 20, "similarity": "dot"}
    checkpoint = dense.train(*data, DenseOptions(**(common | options)))
    device, settings = choose_device("auto"), checkpoint.settings
    model = dense.load(checkpoint).to(device).eval()

    def vectors(texts: Sequence[str], longest: int, segment: int) -> torch.Tensor:
        tokens = tokenise(checkpoint.need_tokenizer(), texts, longest)

        def run(rows: NDArray[np.intp]) -> NDArray[np.float32]:
            made = model(*encoder_inputs(tokens, rows, 0, segment, device))
            return np.asarray(made.float().cpu().numpy())

        with torch.inference_mode():
            return torch.from_numpy(by_length(tokens.lengths, 512, run)).to(device)

    def rank(asked: Asked) -> Lists:
        texts = asked.texts()
        of_all = vectors(texts, settings.max_document_tokens, settings.document_segment)
        queries = vectors([each.text for each in asked.queries], settings.max_query_tokens, 0)
        best = [torch.topk(of_all @ query, min(DEPTH, len(texts))).indices for query in queries]
        return [each.cpu().numpy() for each in best]

    return Trained(checkpoint, rank)


def pairwise(data: Any, options: dict[str, Any]) -> Trained:
    """Train a cross-encoder by its marks; it reads documents that it did not learn from."""
    settings = CrossEncoderSettings(marking=options.pop("marking"), max_tokens=LONGEST)
    common = {"loss": "cross_entropy", "negatives_each": 4, "learning_rate": 1e-4, **options}
    checkpoint = cross.train(*data, CrossOptions(settings=settings, **common))
    score = cross.text_scorer(checkpoint, "auto")

    def rank(asked: Asked) -> Lists:
        texts, ranked = asked.texts(), []
        for query, numbers in zip(asked.queries, asked.found, strict=True):
            pairs = [(query.text, texts[number]) for number in numbers[:PAIRS].tolist()]
            ranked.append(_again(numbers, score(pairs)))
        return ranked

    return Trained(checkpoint, rank)


def _again(numbers: NDArray[np.integer], scores: NDArray[np.floating]) -> NDArray[np.integer]:
    """Return the first documents in the order of new scores, then the others."""
    order = np.argsort(-scores, kind="stable")
    return np.concatenate([numbers[: len(scores)][order], numbers[len(scores) :]])
