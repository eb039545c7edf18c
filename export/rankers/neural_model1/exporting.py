"""Exporting neural Model 1: the sparse table of all pairs, and the network itself as ONNX."""

import tempfile
from collections.abc import Callable, Sequence
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ranklet.export.errors import ExportError
from ranklet.export.onnx.graph import TorchSession, example_inputs, export_graph
from ranklet.export.options import ExportOptions
from ranklet.export.proof.report import Report, compare_scores
from ranklet.export.proof.variants import proof_of, write_reports, write_variants
from ranklet.export.rankers import model1
from ranklet.export.writer import BundleWriter
from ranklet.runtime.lexical.forward import Gathered
from ranklet.runtime.lexical.model1 import log_odds, translation_likelihoods
from ranklet.runtime.lexical.translation_table import TranslationTable
from ranklet.runtime.onnx.session import Session
from ranklet.runtime.rankers.model1 import BACKGROUND, OFFSETS, PROBABILITIES, SOURCES
from ranklet.runtime.rankers.neural_model1 import (
    INPUTS,
    OUTPUT,
    PADDING,
    NeuralModel1Settings,
    network_likelihoods,
)
from ranklet.runtime.storage.bundle_files import BundleFiles
from ranklet.runtime.storage.manifest import RankerEntry
from ranklet.training.checkpoint import Checkpoint, check_finite
from ranklet.training.data.probes import Probes
from ranklet.training.indexing.analysed import AnalysedCollection
from ranklet.training.rankers.model1.training import as_table

if TYPE_CHECKING:
    from tokenizers import Tokenizer

# Σ_d T(q|d) P(d|D) of a query's tokens and some documents, (query tokens, documents) float32.
Likelihoods = Callable[[NDArray[np.int32], Gathered], NDArray[np.float32]]

PROBES = 12, 60  # queries, documents: a network over all pairs of tokens takes its time

known_words = model1.known_words


def export(
    checkpoint: Checkpoint, name: str, writer: BundleWriter, options: ExportOptions
) -> RankerEntry:
    """Write the table and the network's variants, each compared with PyTorch on the probes.

    int8 is not made of it: the table is what serves on a processor.

    Raises:
        ExportError: no probes, weights that are not finite, a tokenizer whose [PAD] is not 0, or no
            variant within its tolerance.
    """
    from ranklet.export.rankers.neural_model1.graph import LikelihoodGraph
    from ranklet.training.rankers.neural_model1 import training as neural_model1
    from ranklet.training.rankers.neural_model1.sparsify import sparsify

    check_finite(checkpoint.weights, f"the checkpoint of {name!r}")
    probes, tokenizer = proof_of(checkpoint, name, options)
    probes = probes.first(*PROBES)
    if tokenizer.token_to_id("[PAD]") != PADDING:
        raise ExportError(f"{name!r}: [PAD] of its tokenizer must have the id {PADDING}")
    settings: NeuralModel1Settings = checkpoint.settings
    module = neural_model1.load(checkpoint)
    module.network = replace(module.network, p_self=settings.p_self, lambda_=settings.lambda_)
    special = [tokenizer.token_to_id(token) for token in ("[CLS]", "[SEP]", "[MASK]", "[UNK]")]
    # Only tokens of the training collection and its queries: the network has learned nothing of
    # the others, and gives them translations by the million.
    translations = sparsify(
        module,
        tokens=checkpoint.arrays.get("seen"),
        leave_out=[each for each in special if each is not None],
    )
    table = as_table(translations, tokenizer.get_vocab_size())
    model1.write_table(table, name, writer)
    background: NDArray[np.float32] = module.background.numpy()

    def scores(likelihoods: Likelihoods, texts: Probes) -> NDArray[np.float32]:
        documents = _gathered(tokenizer, texts.documents)
        rows = []
        for query in texts.queries:
            tokens = np.array(tokenizer.encode(query, add_special_tokens=False).ids, np.int32)
            odds = log_odds(likelihoods(tokens, documents), background[tokens], settings.lambda_)
            rows.append(odds.sum(0, dtype=np.float64))
        return np.array(rows, np.float32)

    def by_content(content: bytes, texts: Probes) -> NDArray[np.float32]:
        session = Session(content, name, device="cpu")
        return scores(partial(network_likelihoods, session), texts)

    reference = scores(partial(network_likelihoods, TorchSession(LikelihoodGraph(module))), probes)
    by_table = scores(partial(_by_table, table, settings.p_self), probes)
    folder = f"rankers/{name}/"
    reports = [_table_report(table, by_table, reference, probes)]
    if variants := tuple(each for each in options.variants if each != "int8"):
        with tempfile.TemporaryDirectory() as scratch:
            graph = Path(scratch) / "graph.onnx"
            export_graph(LikelihoodGraph(module), example_inputs(INPUTS), OUTPUT, graph)
            chosen = replace(options, variants=variants)
            reports += write_variants(graph, reference, by_content, probes, chosen, folder, writer)
    write_reports(reports, folder, writer)
    return RankerEntry(checkpoint.kind, asdict(settings))


def index(
    source: BundleFiles, name: str, analysed: AnalysedCollection, writer: BundleWriter
) -> RankerEntry:
    """Write the table and P(q|C) of a collection, and take over the network's variants."""
    written = (OFFSETS, SOURCES, PROBABILITIES, BACKGROUND)
    writer.copy(source, f"rankers/{name}/", leave_out=written)
    return model1.index(source, name, analysed, writer)


def _by_table(
    table: TranslationTable, p_self: float, tokens: NDArray[np.int32], documents: Gathered
) -> NDArray[np.float32]:
    return translation_likelihoods(tokens, table, p_self, documents)


def _gathered(tokenizer: "Tokenizer", texts: Sequence[str]) -> Gathered:
    """Return the word pieces of some texts."""
    parts = [
        np.array(each.ids, np.int32)
        for each in tokenizer.encode_batch(list(texts), add_special_tokens=False)
    ]
    lengths = np.array([len(part) for part in parts], np.int64)
    tokens = np.concatenate([np.empty(0, np.int32), *parts])
    return Gathered(tokens, lengths)


def _table_report(
    table: TranslationTable,
    scores: NDArray[np.float32],
    reference: NDArray[np.float32],
    probes: Probes,
) -> Report:
    """Compare the sparse table with the network: what sparsifying cost."""
    size = table.offsets.nbytes + table.sources.nbytes + table.probabilities.nbytes
    return Report(
        variant="table",
        pairs=scores.size,
        batch_error=0.0,
        bytes=size,
        ms=0.0,
        fused={},
        **asdict(compare_scores(reference, scores, probes.relevant)),
    )
