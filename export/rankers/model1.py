"""Export Model 1 as its table."""

import numpy as np

from ranklet.corpus.indexing.translation_tables import Translations, as_table
from ranklet.corpus.rankers.model1 import write_table
from ranklet.export.errors import ExportError
from ranklet.export.exporter import Exporter
from ranklet.export.jobs import ExportJob
from ranklet.runtime.bundles.manifest import RankerEntry
from ranklet.runtime.ground.errors import BundleError
from ranklet.runtime.lexical.model1 import TranslationTable
from ranklet.runtime.rankers.model1 import TOKENS
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
    write_table(_table(checkpoint, name, size), job.folder, job.writer)
    if not pieces:
        job.writer.strings(job.folder + TOKENS, Strings.pack(checkpoint.tokens))
    return job.entry()


def _table(checkpoint: Checkpoint, name: str, size: int) -> TranslationTable:
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
    table = as_table(Translations(source, target, probability), size)
    try:
        table.verify(name)
    except BundleError as error:
        raise ExportError(f"{error}; train it again") from error
    return table


EXPORTER = Exporter(export)
