"""Train Model 1: learn a table by EM, then choose p_self and λ on a grid."""

from time import monotonic

import numpy as np
from numpy.typing import NDArray

from ranklet.corpus.collections.collection import Collection
from ranklet.corpus.collections.splits import JudgedQueries
from ranklet.corpus.indexing.analysed import AnalysedCollection, analyse
from ranklet.corpus.indexing.translation_tables import Translations, as_table, background
from ranklet.corpus.indexing.wordpieces import read_tokenizer
from ranklet.corpus.progress import progress
from ranklet.runtime.rankers.model1 import Model1Settings
from ranklet.training.checkpoint import Checkpoint
from ranklet.training.learning.options import plain_options
from ranklet.training.outcome import Lists, counts, describe_comparison, shortcoming
from ranklet.training.rankers.model1.bitext import build_bitext
from ranklet.training.rankers.model1.constants import CANDIDATES, Likelihoods, tune_constants
from ranklet.training.rankers.model1.em import off_diagonal, train_model1
from ranklet.training.rankers.model1.options import Options


def train(
    collection: Collection, queries: JudgedQueries, dev: JudgedQueries, options: Options
) -> Checkpoint:
    """Learn T(q|d) from queries and their relevant documents, then choose p_self and λ on `dev`.

    The checkpoint has the table over its own token ids and their spellings.

    Raises:
        InputError: an option is not allowed, or no query has a relevant document.
    """
    began, field, bm25 = monotonic(), options.field, options.bm25
    tokenizer = read_tokenizer(options.tokenizer) if options.tokenizer else None
    analysed = analyse(
        collection.documents(),
        [field, bm25.field],
        tokenizer=tokenizer,
        titles=options.titles,
        # Model 1 learns words of queries that no document has.
        known_texts=[query.text for query in queries],
        options=options.words,
    )
    model = train_model1(
        build_bitext(*_align(analysed, queries, field)),
        iterations=options.iterations,
        threshold=options.threshold,
    )
    translations = off_diagonal(model.translations)
    table = as_table(translations, analysed.analyzer.size(field))
    likelihoods = Likelihoods(lambda *_: table, background(analysed.frequencies(field)), field)
    retriever = analysed.bm25(bm25)
    tuned = tune_constants(analysed, dev, retriever, likelihoods, options.measure)
    spellings, arrays = _compact(translations, analysed, field)
    lists = Lists(
        f"{options.measure} of BM25's top {CANDIDATES}, fused with BM25", len(dev), tuned.bm25
    )
    after = tuned.report["best"]
    return Checkpoint(
        "model1",
        Model1Settings(field, tuned.p_self, tuned.lambda_),
        arrays,
        spellings,
        tokenizer if field == "wordpieces" else None,
        {
            **counts(len(analysed.documents), queries, dev),
            "seconds": round(monotonic() - began, 1),
            "options": plain_options(options),
            "comparison": describe_comparison(lists, None, after),
            "warning": shortcoming(tuned.bm25, after),
            "pairs": len(translations),
            "links": model.links,
            "log_likelihoods": list(model.log_likelihoods),
            **tuned.report,
        },
        **analysed.list_words(field, bm25.field),
    )


def _align(
    analysed: AnalysedCollection, queries: JudgedQueries, field: str
) -> tuple[list[NDArray[np.integer]], list[NDArray[np.integer]]]:
    """Return the tokens of a query and of a relevant document, for each such pair."""
    tokens, offsets = analysed.tokens(field), analysed.offsets(field)
    query_sides: list[NDArray[np.integer]] = []
    document_sides: list[NDArray[np.integer]] = []
    number_of = {id_: number for number, id_ in enumerate(analysed.documents.ids)}
    for query in progress(queries, "aligning"):
        query_tokens = analysed.analyzer.begin().asked(query.text, field)
        query_tokens = query_tokens[query_tokens < analysed.analyzer.size(field)]  # known ones
        for number in (number_of[id_] for id_ in query.relevant if id_ in number_of):
            query_sides.append(query_tokens)
            document_sides.append(tokens[offsets[number] : offsets[number + 1]].astype(np.int32))
    return query_sides, document_sides


def _compact(
    translations: Translations, analysed: AnalysedCollection, field: str
) -> tuple[tuple[str, ...], dict[str, NDArray[np.generic]]]:
    """Return spellings and arrays of a table over the tokens in it; word pieces keep their ids."""
    source: NDArray[np.integer] = translations.source
    target: NDArray[np.integer] = translations.target
    spellings: tuple[str, ...] = ()
    if field != "wordpieces":
        used = np.unique(np.concatenate([source, target]))
        forms = analysed.analyzer.vocabulary.forms
        spellings = tuple(forms[token] for token in used.tolist())
        source, target = np.searchsorted(used, source), np.searchsorted(used, target)
    return spellings, {
        "target": target.astype(np.int32),
        "source": source.astype(np.int32),
        "probability": translations.probability.astype(np.float32),
    }
