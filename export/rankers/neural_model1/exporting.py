"""Export neural Model 1: the sparse table of all pairs, and the network itself as ONNX."""

from collections.abc import Callable, Collection, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ranklet.corpus.collections.probes import Probes
from ranklet.corpus.evaluation.proof_report import compare_scores
from ranklet.corpus.indexing.translation_tables import Translations, as_table
from ranklet.corpus.rankers.model1 import write_table
from ranklet.export.exporter import Exporter
from ranklet.export.jobs import ExportJob
from ranklet.export.onnx.graph import example_inputs
from ranklet.export.proof.variants import Graph, export_proven, write_reports
from ranklet.runtime.bundles.manifest import RankerEntry
from ranklet.runtime.lexical.model1 import log_odds, translation_likelihoods
from ranklet.runtime.onnx.session import Runs
from ranklet.runtime.rankers.neural_model1 import (
    INPUTS,
    OUTPUT,
    NeuralModel1Settings,
    network_likelihoods,
)
from ranklet.runtime.storage.forward import Gathered
from ranklet.runtime.text.tokenizing import encode, encode_batch

if TYPE_CHECKING:
    from tokenizers import Tokenizer

    from ranklet.training.rankers.neural_model1.network import NeuralModel1

# Σ_d T(q|d) P(d|D) of a query's tokens and some documents, (query tokens, documents) float32.
Likelihoods = Callable[[NDArray[np.int32], Gathered], NDArray[np.float32]]

# Smallest T(q|d) of a table: the paper's, and what is tried where so many reach it that the table
# would not be sparse.
THRESHOLDS = 1e-4, 3e-4, 1e-3, 3e-3, 1e-2

PROBES = 12, 60  # queries, documents: few, because the network reads every pair of tokens


def export(job: ExportJob) -> RankerEntry:
    """Write the table and the network's variants, each compared with PyTorch on the probes.

    There is no int8 variant, because a processor uses the table instead of the network.

    Raises:
        ExportError: there are no probes, or no variant is within its tolerance.
    """
    from ranklet.export.onnx.method import Method
    from ranklet.training.rankers.neural_model1 import training as neural_model1

    settings: NeuralModel1Settings = job.settings
    probes, tokenizer = job.probes().first(*PROBES), job.tokenizer()
    module = neural_model1.load(job.checkpoint)
    module.network = replace(module.network, p_self=settings.p_self, lambda_=settings.lambda_)
    special = [tokenizer.token_to_id(token) for token in ("[CLS]", "[SEP]", "[MASK]", "[UNK]")]
    # Only tokens of the training collection and its queries, because the network has learned
    # nothing about the others and would give them millions of translations.
    translations = sparse_translations(
        module, job.checkpoint.arrays.get("seen"), [token for token in special if token is not None]
    )
    table = as_table(translations, tokenizer.get_vocab_size())
    write_table(table, job.folder, job.writer)
    background: NDArray[np.float32] = module.background.numpy()

    def score(likelihoods: Likelihoods, texts: Probes) -> NDArray[np.float32]:
        documents = _gather(tokenizer, texts.documents)
        rows = []
        for query in texts.queries:
            tokens = np.array(encode(tokenizer, query).ids, np.int32)
            odds = log_odds(likelihoods(tokens, documents), background[tokens], settings.lambda_)
            rows.append(odds.sum(0, dtype=np.float64))
        return np.array(rows, np.float32)

    def score_by_network(sessions: Sequence[Runs], texts: Probes) -> NDArray[np.float32]:
        return score(partial(network_likelihoods, sessions[0], padding=settings.padding), texts)

    graph = Graph(
        module=Method(module, module.likelihoods), inputs=example_inputs(INPUTS), output=OUTPUT
    )
    proof = export_proven(job, [graph], score_by_network, probes, variants=("fp32", "fp16"))
    # The table is also compared with the network, so that the loss by sparsifying is known.
    by_table = score(
        lambda tokens, documents: translation_likelihoods(
            tokens, table, settings.p_self, documents
        ),
        probes,
    )
    size = table.offsets.nbytes + table.sources.nbytes + table.probabilities.nbytes
    report = compare_scores("table", size, proof.reference, by_table, probes.relevant)
    write_reports(job, [report, *proof.reports], probes)
    return job.entry()


def _gather(tokenizer: "Tokenizer", texts: Sequence[str]) -> Gathered:
    """Return the word pieces of some texts."""
    encodings = encode_batch(tokenizer, texts)
    lengths = np.array([len(encoding.ids) for encoding in encodings], np.int64)
    tokens = [token for encoding in encodings for token in encoding.ids]
    return Gathered(np.array(tokens, np.int32), lengths)


def sparse_translations(
    module: "NeuralModel1", tokens: NDArray[np.integer] | None, leave_out: Collection[int]
) -> Translations:
    """Return the translations that reach the lowest of `THRESHOLDS` at which they fit into a table.

    A network that has not learned long gives many pairs of tokens small probabilities. The report
    of the export says what the table loses.

    Args:
        module: the trained model.
        tokens: ids to translate from and to; None for all.
        leave_out: further ids to leave out.

    Raises:
        DenseTableError: too many translations reach even the highest threshold.
    """
    from ranklet.training.rankers.neural_model1.sparsify import DenseTableError, sparsify

    *lower, highest = THRESHOLDS
    for threshold in lower:
        with suppress(DenseTableError):
            return sparsify(module, threshold=threshold, tokens=tokens, leave_out=leave_out)
    return sparsify(module, threshold=highest, tokens=tokens, leave_out=leave_out)


EXPORTER = Exporter(export, settings=("scorer",))
