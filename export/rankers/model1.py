"""Export Model 1 as its table; index a collection as the table in the collection's token ids."""

import hashlib
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ranklet.corpus.indexing.translation_tables import Translations, as_table, background
from ranklet.corpus.indexing.vocabulary import places
from ranklet.export.errors import ExportError
from ranklet.export.exporter import Exporter
from ranklet.export.jobs import ExportJob, IndexJob
from ranklet.runtime.bundles.files import BundleFiles
from ranklet.runtime.bundles.manifest import RankerEntry
from ranklet.runtime.errors import BundleError
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
from ranklet.training.checkpoint import Checkpoint


def export(job: ExportJob) -> RankerEntry:
    """Write the table over its own token ids.

    Raises:
        ExportError: the checkpoint is damaged, because its table is not as training writes it.
    """
    checkpoint, name = job.checkpoint, job.name
    pieces = job.settings.field == "wordpieces"
    if pieces and checkpoint.tokenizer is None:
        raise ExportError(f"{name}: the checkpoint has no tokenizer for its word pieces")
    size = checkpoint.tokenizer.get_vocab_size() if checkpoint.tokenizer else len(checkpoint.tokens)
    write_table(as_table(_translations(checkpoint, name, size), size), job)
    if not pieces:
        job.writer.strings(job.folder + TOKENS, Strings.pack(checkpoint.tokens))
    return job.entry()


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
    write_table(as_table(translations, analysed.analyzer.size(settings.field)), job)
    frequencies = analysed.frequencies(settings.field)
    job.writer.array(job.folder + BACKGROUND, background(frequencies))
    return job.entry


def _translations(checkpoint: Checkpoint, name: str, size: int) -> Translations:
    """Return a checkpoint's table after checking it; `size` is the number of tokens."""
    types = {"source": np.int32, "target": np.int32, "probability": np.float32}
    arrays = [checkpoint.arrays.get(key, np.empty(0)) for key in types]
    typed = all(array.dtype == d for array, d in zip(arrays, types.values(), strict=True))
    if not typed or len({array.shape for array in arrays}) != 1 or arrays[0].ndim != 1:
        raise ExportError(
            f"{name}: the checkpoint must have the arrays {', '.join(types)} of shape (pairs,), "
            "int32, int32 and float32; train it again"
        )
    source, target, probability = arrays
    if len(target) and not 0 <= target.min() <= target.max() < size:
        raise ExportError(f"{name}: a translation names a token past the {size}; train it again")
    if (np.diff(target) < 0).any():
        raise ExportError(f"{name}: the query tokens of the table do not ascend; train it again")
    translations = Translations(source, target, probability)
    try:
        as_table(translations, size).verify(name)
    except BundleError as error:
        raise ExportError(f"{error}; train it again") from error
    return translations


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


def write_table(table: TranslationTable, job: ExportJob | IndexJob) -> None:
    """Write the three arrays of a translation table."""
    job.writer.array(job.folder + OFFSETS, table.offsets)
    job.writer.array(job.folder + SOURCES, table.sources)
    job.writer.array(job.folder + PROBABILITIES, table.probabilities)


INDEXED = (OFFSETS, SOURCES, PROBABILITIES, BACKGROUND, TOKENS)
EXPORTER = Exporter(export, index, known_words, INDEXED, learned)
