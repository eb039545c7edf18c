"""Exporting Model 1: its table; indexing it: the table in the token ids of a collection."""

from dataclasses import asdict
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ranklet.export.errors import ExportError
from ranklet.export.writer import BundleWriter
from ranklet.runtime.bundle import Bundle
from ranklet.runtime.manifest import RankerEntry
from ranklet.runtime.rankers.model1 import (
    BACKGROUND,
    OFFSETS,
    PROBABILITIES,
    SOURCES,
    TOKENS,
    Settings,
)
from ranklet.runtime.text.strings import Strings
from ranklet.training.checkpoint import Checkpoint
from ranklet.training.em import Translations
from ranklet.training.indexing import AnalysedCollection
from ranklet.training.rankers.model1 import as_table, background


def export(checkpoint: Checkpoint, name: str, writer: BundleWriter) -> RankerEntry:
    """Write the table over its own token ids.

    Raises:
        ExportError: a probability is not in (0, 1].
    """
    arrays = checkpoint.arrays
    found = Translations(arrays["source"], arrays["target"], arrays["probability"])
    probabilities = found.probability
    if len(probabilities) and not (probabilities.min() > 0 and probabilities.max() <= 1):
        raise ExportError(f"{name}: the table holds probabilities outside of (0, 1]; train it anew")
    size = len(checkpoint.tokens) or (
        checkpoint.tokenizer.get_vocab_size() if checkpoint.tokenizer else 0
    )
    _write(as_table_arrays(found, size), name, writer)
    if checkpoint.settings.field != "wordpieces":
        writer.strings(f"rankers/{name}/{TOKENS}", Strings.pack(checkpoint.tokens))
    return RankerEntry(checkpoint.kind, asdict(checkpoint.settings))


def known_words(source: Bundle, name: str) -> tuple[str, ...]:
    """Return words that the vocabulary must have: those of the table, in documents or not."""
    return tuple(_spellings(source, name).values())


def index(
    source: Bundle, name: str, analysed: AnalysedCollection, writer: BundleWriter
) -> RankerEntry:
    """Write the table and P(q|C) in the token ids of a collection."""
    entry = source.manifest.rankers[name]
    settings = _settings(source, name)
    target, sources, probability = _table(source, name)
    if spelled := _spellings(source, name):
        find = analysed.analyzer.vocabulary.forms.find
        number = np.full(max(spelled) + 1, -1, np.int32)
        number[list(spelled)] = [find(word) for word in spelled.values()]
        target, sources = number[target], number[sources]
    order = np.lexsort((sources, target))
    moved = Translations(sources[order], target[order], probability[order])
    _write(as_table_arrays(moved, analysed.analyzer.size(settings.field)), name, writer)
    frequencies = analysed.frequencies(settings.field)
    writer.array(f"rankers/{name}/{BACKGROUND}", background(frequencies))
    return entry


def _settings(source: Bundle, name: str) -> Settings:
    return Settings.from_json(source.manifest.rankers[name].settings, f"rankers.{name}")


def _table(source: Bundle, name: str) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
    """Return (query tokens, document tokens, probabilities) of a bundle's table."""
    folder = f"rankers/{name}/"
    offsets = source.offsets(folder + OFFSETS)
    pairs = (int(offsets[-1]),)
    return (
        np.repeat(np.arange(len(offsets) - 1, dtype=np.int32), np.diff(offsets)),
        source.array(folder + SOURCES, np.int32, pairs),
        source.array(folder + PROBABILITIES, np.float32, pairs),
    )


def _spellings(source: Bundle, name: str) -> dict[int, str]:
    """Return the word of each token id in a table; nothing for word pieces, whose ids stay."""
    if _settings(source, name).field == "wordpieces":
        return {}
    if not source.manifest.documents:  # as exported: ids of its own
        return dict(enumerate(source.strings(f"rankers/{name}/{TOKENS}", Strings)))
    target, sources, _ = _table(source, name)
    forms = source.analyzer.vocabulary.forms
    return {token: forms[token] for token in np.union1d(target, sources).tolist()}


def as_table_arrays(found: Translations, size: int) -> dict[str, NDArray[np.generic]]:
    """Return the three arrays of a translation table."""
    table = as_table(found, size)
    return {
        OFFSETS: table.offsets,
        SOURCES: table.sources,
        PROBABILITIES: table.probabilities,
    }


def _write(arrays: dict[str, NDArray[np.generic]], name: str, writer: BundleWriter) -> None:
    for file, values in arrays.items():
        writer.array(f"rankers/{name}/{file}", values)
