"""Index a collection as the table in the collection's token ids."""

import hashlib
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ranklet.corpus.building.indexer import Indexer, IndexJob
from ranklet.corpus.building.writer import BundleWriter
from ranklet.corpus.indexing.translation_tables import Translations, as_table, background
from ranklet.corpus.indexing.vocabulary import places
from ranklet.runtime.bundles.files import BundleFiles
from ranklet.runtime.bundles.manifest import RankerEntry
from ranklet.runtime.lexical.model1 import TranslationTable
from ranklet.runtime.rankers.model1 import (
    BACKGROUND,
    OFFSETS,
    PROBABILITIES,
    SOURCES,
    TOKENS,
    Model1Settings,
    open_table,
)
from ranklet.runtime.storage.strings import Strings


def known_words(source: BundleFiles, name: str) -> tuple[str, ...]:
    """Return the words that the vocabulary must have, which are the table's."""
    return tuple(_spellings(source, name).values())


def index(job: IndexJob) -> RankerEntry:
    """Write the table and P(q|C) in the token ids of a collection."""
    settings: Model1Settings = job.settings
    analysed = job.analysed
    target, sources, probability = _table(job.source, job.name)
    if words := _spellings(job.source, job.name):
        place = places(analysed.analyzer.vocabulary.forms, set(words.values()))
        new_id = np.full(max(words) + 1, -1, np.int32)
        new_id[list(words)] = [place[word] for word in words.values()]
        # Another language may not tell two of the words apart by their accents.
        kept = (new_id[target] >= 0) & (new_id[sources] >= 0)
        target, sources, probability = (
            new_id[target][kept],
            new_id[sources][kept],
            probability[kept],
        )
    order = np.lexsort((sources, target))
    translations = Translations(sources[order], target[order], probability[order])
    write_table(
        as_table(translations, analysed.analyzer.size(settings.field)), job.folder, job.writer
    )
    frequencies = analysed.frequencies(settings.field)
    job.writer.array(job.folder + BACKGROUND, background(frequencies))
    return job.entry


def _table(source: BundleFiles, name: str) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
    """Return (query tokens, document tokens, probabilities) of a bundle's table."""
    table = open_table(source, f"rankers/{name}/")
    table.verify(f"{source.path}: {name}")
    rows = np.diff(table.offsets)
    targets = np.repeat(np.arange(len(rows), dtype=np.int32), rows)
    return targets, table.sources, table.probabilities


def _spellings(source: BundleFiles, name: str) -> dict[int, str]:
    """Return the word of each token id in a table; [] for word pieces, whose ids never change."""
    if source.settings(name).field == "wordpieces":
        return {}
    target, sources, _ = _table(source, name)
    spelled: Strings
    if source.manifest.documents:
        spelled = source.analyzer.vocabulary.forms
    else:  # ids of its own, as exported
        spelled = source.strings(f"rankers/{name}/{TOKENS}", Strings)
    return {token: spelled[token] for token in np.union1d(target, sources).tolist()}


def learned(source: BundleFiles, name: str) -> str:
    """Return a digest of the table, which is the same in the token ids of any collection."""
    target, sources, probability = _table(source, name)
    words = _spellings(source, name)
    if words:
        ordered = sorted(words, key=lambda token: words[token].encode())
        rank = np.zeros(max(words) + 1, np.int32)
        rank[ordered] = np.arange(len(ordered))
        target, sources = rank[target], rank[sources]
    order = np.lexsort((sources, target))
    digest = hashlib.sha256("\n".join(sorted(words.values())).encode())
    for column in (target, sources, probability):
        digest.update(column[order].tobytes())
    return digest.hexdigest()


def write_table(table: TranslationTable, folder: str, writer: BundleWriter) -> None:
    """Write the three arrays of a translation table."""
    writer.array(folder + OFFSETS, table.offsets)
    writer.array(folder + SOURCES, table.sources)
    writer.array(folder + PROBABILITIES, table.probabilities)


INDEXED = (OFFSETS, SOURCES, PROBABILITIES, BACKGROUND, TOKENS)
INDEXER = Indexer(index, known_words, INDEXED, learned)
