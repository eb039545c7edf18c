"""The static part of a light ranker: the table in 8 bits, and small matrices in 32."""

from typing import TYPE_CHECKING

from ranklet.export.onnx.int8_embeddings import quantise_rows
from ranklet.export.writer import BundleWriter
from ranklet.runtime.rankers.srm.encoder import StaticVectors
from ranklet.runtime.rankers.srm.modules import matrix_shapes
from ranklet.runtime.rankers.srm.settings import MODULES, TABLE, TABLE_SCALES, SRMSettings
from ranklet.runtime.rankers.srm.table import SubEmbeddings
from ranklet.training.checkpoint import Checkpoint

if TYPE_CHECKING:
    from tokenizers import Tokenizer

LIGHT = "light."  # the prefix of the modules' weights in a checkpoint
WEIGHTS = f"{LIGHT}table.weight"  # of the table


def static_part(checkpoint: Checkpoint, tokenizer: "Tokenizer") -> StaticVectors:
    """Return a checkpoint's static part as it is served; each sub-embedding has one factor."""
    settings: SRMSettings = checkpoint.settings
    whole = checkpoint.weights[WEIGHTS]
    values, scales = quantise_rows(whole.reshape(-1, settings.dimension))
    shape = len(whole), settings.sub_embeddings
    table = SubEmbeddings(values.reshape(*shape, settings.dimension), scales.reshape(shape))
    names = matrix_shapes(settings) if settings.static_queries else {}
    matrices = {name: checkpoint.weights[LIGHT + name] for name in names}
    return StaticVectors(settings, tokenizer, table, matrices)


def static_bytes(static: StaticVectors) -> int:
    """Return how many bytes the files of a static part take."""
    table = static.table
    matrices = sum(each.nbytes for each in static.matrices.values())
    return int(table.values.nbytes + table.scales.nbytes + matrices)


def write_static(static: StaticVectors, folder: str, writer: BundleWriter) -> None:
    """Write the table and the matrices into a ranker's folder."""
    writer.array(folder + TABLE, static.table.values)
    writer.array(folder + TABLE_SCALES, static.table.scales)
    for name, matrix in static.matrices.items():
        writer.array(f"{folder}{MODULES}{name}.npy", matrix)
