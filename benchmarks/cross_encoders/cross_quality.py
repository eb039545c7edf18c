"""Cross-encoders: every head and every marking strategy, reranking BM25's first 100.

In the shape of Boytsov & Kolter's Table 2 and of the tables of Boualili, chapter 7: MiniLM-L6, all
systems from the same body, each fine-tuned on the same sample of queries for one epoch, scored by
PyTorch. What was trained and what was scored is kept, so that the table can grow from run to run.
"""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from benchmarks.built.trained import CROSS, CROSS_BODY_MINUTES, cross_checkpoint, tuned_bm25
from benchmarks.harness.place import Place
from benchmarks.harness.query_scaling import of_unit_variance
from benchmarks.harness.report import table
from ranklet.runtime.call.query import QueryContext
from ranklet.runtime.rankers.cross_encoder.ranker import CrossEncoderSettings
from ranklet.training.checkpoint import Checkpoint, read_checkpoint
from ranklet.training.data.splits import JudgedQuery, read_split
from ranklet.training.evaluation.measures import Judged, parse_measure, per_query
from ranklet.training.evaluation.significance import compare
from ranklet.training.evaluation.systems import mark
from ranklet.training.indexing.analysed import AnalysedCollection, analyse, open_bm25
from ranklet.training.pretrained.backbone import load_backbone
from ranklet.training.rankers.cross_encoder.pairs import document_pieces, query_pieces
from ranklet.training.sampling.dev_candidates import DEV_CANDIDATES, DEV_QUERIES
from ranklet.training.sampling.negatives import relevant_numbers
from ranklet.training.tuning.cross_validation import interpolate

PACKAGES = ("torch", "transformers")
DEPTH = 100  # candidates of BM25
MEASURES = ("MRR@10", "nDCG@10")
BASE, VANILLA = "BM25 (lemmas), tuned", "vanilla, short"

SHORT = {"max_tokens": 128}
FULL = {"max_tokens": 256, "chunks": 2}  # Boytsov & Kolter, §3, has 3 of 512, for longer documents
# As many tokens, each chunk with a score of its own (MaxP, as in Boualili, chapter 7).
BEST_CHUNK = {"max_tokens": 128, "chunks": 4, "combine": "max"}
MARKED = {"max_tokens": 160, "marking": "pre_pair"}  # marks take room


class Study(NamedTuple):
    """One collection: what its systems learn from and are measured on."""

    titles: bool
    learn: int  # queries, each with one negative
    queries: int  # of dev
    systems: dict[str, dict[str, Any]]  # settings that differ from the default


STUDIES = {
    "qa-mix": Study(
        True,
        2400,
        400,
        {
            VANILLA: SHORT,
            "BERT-Model1, short": {**SHORT, "head": "model1"},
            "CEDR-KNRM": {**SHORT, "head": "cedr_knrm"},
            "CEDR-DRMM": {**SHORT, "head": "cedr_drmm"},
            "CEDR-PACRR": {**SHORT, "head": "cedr_pacrr"},
            "Sim-Doc": {**MARKED, "marking": "sim_doc"},
            "Sim-Pair": {**MARKED, "marking": "sim_pair"},
            "Pre-Doc": {**MARKED, "marking": "pre_doc"},
            "Pre-Pair": MARKED,
            "Pre-Pair, markers' average": {**MARKED, "head": "marker_avg"},
            "Pre-Pair, markers' maximum": {**MARKED, "head": "marker_max"},
            "Pre-Pair, first marker": {**MARKED, "head": "marker_first"},
        },
    ),
    "medquad": Study(
        False,
        1200,
        200,
        {
            VANILLA: SHORT,
            "vanilla, full": FULL,
            "vanilla, best of 4 chunks": BEST_CHUNK,
            "BERT-Model1, short": {**SHORT, "head": "model1"},
            "BERT-Model1, full": {**FULL, "head": "model1"},
        },
    ),
}


class Candidates(NamedTuple):
    """What is reranked."""

    queries: list[JudgedQuery]
    numbers: list[NDArray[np.int64]]  # documents of each query, best first
    scores: list[NDArray[np.float32]]  # of BM25


def run(place: Place) -> str:
    """Train what is not kept, score, compare."""
    return "\n".join(_study(place, name, study) for name, study in STUDIES.items())


def checkpoint_of(place: Place, collection: str, label: str) -> Checkpoint:
    """Return a system of the table; it is trained where it is not kept."""
    study = STUDIES[collection]
    analysed = _analysed(place, collection, study)
    settings = replace(CrossEncoderSettings(), **study.systems[label])
    return read_checkpoint(
        cross_checkpoint(
            place, collection, _slug(label), settings, titles=analysed.titles, learn=study.learn
        )
    )


def dev_candidates(place: Place, collection: str) -> list[tuple[JudgedQuery, NDArray[np.int64]]]:
    """Return the dev queries of the table and the documents that are reranked."""
    study = STUDIES[collection]
    found = _candidates(place, collection, study, _analysed(place, collection, study))
    return list(zip(found.queries, found.numbers, strict=True))


def _analysed(place: Place, collection: str, study: Study) -> AnalysedCollection:
    bm25 = tuned_bm25(place, collection, titles=study.titles)
    return analyse(
        place.collection(collection).documents(),
        ["wordpieces", bm25.field],
        tokenizer=load_backbone(None).tokenizer,
        titles=study.titles,
    )


def _study(place: Place, collection: str, study: Study) -> str:
    analysed = _analysed(place, collection, study)
    candidates = _candidates(place, collection, study, analysed)
    judged = _judged(candidates, analysed, [np.array(each) for each in candidates.scores])
    values = {
        BASE: {m: per_query(judged, judged.features[:, :, 0], parse_measure(m)) for m in MEASURES}
    }
    rows = [[BASE, "", "", *(f"{values[BASE][m].mean():.4f}" for m in MEASURES), "", ""]]
    found: dict[str, tuple[Checkpoint, Judged]] = {}
    for label, changes in study.systems.items():
        settings = replace(CrossEncoderSettings(), **changes)
        path = cross_checkpoint(
            place, collection, _slug(label), settings, titles=analysed.titles, learn=study.learn
        )
        scores = _scores(place, path, collection, label, analysed, candidates)
        both = [np.stack(p, 1) for p in zip(candidates.scores, scores, strict=True)]
        found[label] = read_checkpoint(path), _judged(candidates, analysed, both)
        values[label] = {
            m: per_query(found[label][1], found[label][1].features[:, :, 1], parse_measure(m))
            for m in MEASURES
        }
    signs = {m: _signs({name: each[m] for name, each in values.items()}) for m in MEASURES}
    mixtures = {label: interpolate(judged, MEASURES[0]) for label, (_, judged) in found.items()}
    fused = {label: each.values for label, each in mixtures.items()}
    signs["with BM25"] = _signs({BASE: values[BASE][MEASURES[0]], **fused})
    for label, (checkpoint, _) in found.items():
        mixed = mixtures[label]
        rows.append(
            [
                label,
                f"{checkpoint.training['seconds'] / 60:.1f}",
                f"{checkpoint.training['best']:.3f}",
                *(f"{values[label][m].mean():.4f}{signs[m][label]}" for m in MEASURES),
                f"{mixed.value:.4f}{signs['with BM25'][label]}",
                f"{mixed.alpha:g} ({min(mixed.alphas):g} to {max(mixed.alphas):g})",
            ]
        )
    head = ["system", "minutes", "dev pool", *MEASURES, f"{MEASURES[0]} with BM25", "α"]
    return f"""
{collection}{"" if study.titles else " without titles"}: {len(analysed.documents):,} documents, \
{len(candidates.queries)} dev queries, BM25's first {DEPTH} reranked. All systems begin with one \
body, a vanilla cross-encoder that learned from qa-mix for {CROSS_BODY_MINUTES:g} minutes; each \
then learned from the same {study.learn:,} queries of train: one epoch, one negative of BM25's a \
query, margin loss, one seed. *Dev pool*: MRR@10 of {DEV_QUERIES} queries of train with \
{DEV_CANDIDATES} candidates each, which chose between the weights before and after.

{table(head, rows)}

† p < .05, ‡ p < .01 against BM25; * p < .05 against *{VANILLA}*, fused against fused (two-sided \
paired t-tests, Holm's correction in each family). *With BM25*: α · BM25 + (1 − α) · the system's \
score, both scaled to unit variance over a query's candidates, α by 5-fold cross-validation, its \
range over the folds in brackets.
"""


def _candidates(
    place: Place, collection: str, study: Study, analysed: AnalysedCollection
) -> Candidates:
    """Return BM25's first documents for the dev queries of which a relevant one is known."""
    bm25 = tuned_bm25(place, collection, titles=study.titles)
    retriever = open_bm25(bm25, analysed.postings(bm25.field))
    queries = read_split(place.collection(collection), "dev", limit=study.queries)
    numbers, scores = [], []
    for query in queries:
        found = retriever.retrieve(QueryContext(query.text, analysed.analyzer.begin()), DEPTH)
        numbers.append(found[0].astype(np.int64))
        scores.append(found[1].astype(np.float32))
    return Candidates(queries, numbers, scores)


def _scores(
    place: Place,
    path: Path,
    collection: str,
    label: str,
    analysed: AnalysedCollection,
    candidates: Candidates,
) -> list[NDArray[np.float32]]:
    """Return a system's scores of all candidates, a query each; kept beside its weights."""

    def build(out: Path) -> None:
        import torch

        from benchmarks.built.trained import all_cores
        from ranklet.runtime.text.pairing import Pairing
        from ranklet.training.indexing.wordpieces import padding_token
        from ranklet.training.learning.device import autocast
        from ranklet.training.rankers.cross_encoder.training import load, score_pairs

        checkpoint = read_checkpoint(path)
        if checkpoint.tokenizer is None:
            raise TypeError(f"{path} has no tokenizer")
        model, pairing = load(checkpoint), Pairing(checkpoint.settings, checkpoint.tokenizer)
        padding = padding_token(checkpoint.tokenizer)
        rows = []
        with all_cores(), torch.inference_mode(), autocast(torch.device("cpu"), True):
            for query, numbers in zip(candidates.queries, candidates.numbers, strict=True):
                text = query_pieces(analysed, pairing, query.text)
                pairs = [pairing.pair(text, document_pieces(analysed, n)) for n in numbers.tolist()]
                rows.append(score_pairs(model, pairs, padding))
        with out.open("wb") as file:
            np.save(file, np.concatenate(rows))

    name = f"{collection}.cross.{_slug(label)}.npy"
    kept = np.load(place.keep(name, build, CROSS))
    ends = np.cumsum([len(each) for each in candidates.numbers])
    return np.split(kept, ends[:-1])


def _judged(
    candidates: Candidates, analysed: AnalysedCollection, features: Sequence[NDArray[np.float32]]
) -> Judged:
    """Return candidates with features, of unit variance each, and what is relevant."""
    kept, relevant = relevant_numbers(list(analysed.documents.ids), candidates.queries)
    known = {query.id: numbers for query, numbers in zip(kept, relevant, strict=True)}
    grades, missed, scaled = [], [], []
    for query, numbers, given in zip(candidates.queries, candidates.numbers, features, strict=True):
        mine = known.get(query.id, np.zeros(0, np.int64))
        grades.append(np.isin(numbers, mine).astype(np.float64))
        missed.append(np.ones(len(np.setdiff1d(mine, numbers))))
        scaled.append(of_unit_variance(given[:, None] if given.ndim == 1 else given))
    return Judged.from_lists(scaled, grades, missed)


def _signs(values: dict[str, NDArray[np.float64]]) -> dict[str, str]:
    """Return the marks of each system: against BM25, then against vanilla."""
    others = [name for name in values if name != BASE]
    rest = [name for name in others if name != VANILLA]
    lexical = compare(values, pairs=[(name, BASE) for name in others])
    signs = {each.first: mark(each.p_holm).strip() for each in lexical}
    if rest:
        for each in compare(values, pairs=[(name, VANILLA) for name in rest]):
            signs[each.first] += "*" if each.p_holm < 0.05 else ""
    return signs


def _slug(label: str) -> str:
    return "".join(c if c.isalnum() else "_" for c in label.lower())
