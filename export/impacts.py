"""Writing an impact index into a bundle."""

import numpy as np

from ranklet.export.writer import BundleWriter
from ranklet.runtime.lexical.impact_index import (
    DOCUMENTS,
    IMPACTS,
    LARGEST,
    OFFSETS,
    SCALE,
    ImpactIndex,
)

# What indexing writes anew, and so what a copy of a ranker's files leaves out.
FILES = (OFFSETS, DOCUMENTS, IMPACTS, LARGEST, SCALE)


def write_index(index: ImpactIndex, folder: str, writer: BundleWriter) -> None:
    """Write the files of an index into a folder of the bundle, whose name ends with a slash."""
    writer.array(folder + OFFSETS, index.offsets)
    writer.array(folder + DOCUMENTS, index.documents)
    writer.array(folder + IMPACTS, index.impacts)
    writer.array(folder + LARGEST, index.largest)
    if index.impacts.dtype == np.uint8:
        writer.array(folder + SCALE, np.array([index.scale], np.float32))
