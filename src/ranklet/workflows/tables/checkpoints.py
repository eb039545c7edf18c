"""A checkpoint of an encoder whose queries are encoded by a table, which `--model` takes."""

import tempfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from ranklet.corpus.progress import say
from ranklet.export.bundles import export_bundle
from ranklet.export.options import ExportOptions
from ranklet.export.query_side import REPORT
from ranklet.runtime.bundles.files import BundleFiles
from ranklet.training.checkpoint import check_place
from ranklet.training.imported.importing import list_choices, read_model
from ranklet.workflows.models import export_models, read_models
from ranklet.workflows.tables.learning import learn_table
from ranklet.workflows.tables.vectors import make_tables


def write_table(
    model: str | Path,
    target: str | Path,
    texts: Sequence[str],
    minutes: float,
    *,
    overwrite: bool = False,
) -> Path:
    """Write the folder of a model with a table that learned to encode queries.

    Args:
        model: the folder of an encoder that makes one vector of a text.
        target: the new folder.
        texts: short texts from which the table learns, beside random words of the model.
        minutes: that it may take.
        overwrite: whether an earlier folder of a model is replaced.

    Raises:
        InputError: the model cannot be read, or the target is something else.
        ExportError: a table cannot replace its network.
    """
    check_place(Path(target), replace=overwrite)
    list_choices(model)  # raises an error for a bundle, which is no model
    read = read_models([model], ExportOptions(variants=("int8",)))
    ((name, found),) = read.items()
    with tempfile.TemporaryDirectory() as folder:
        ready = export_models({name: found}, Path(folder))
        bundle = BundleFiles(export_bundle(ready, Path(folder) / "b").path)
        tables = make_tables(bundle, name)
        made = learn_table(tables.teacher(bundle, name), texts, minutes)
    say(f"{name}: {made}")
    taught = tables.checkpoint(read_model(model), made)
    return replace(taught, training={**taught.training, REPORT: str(made)}).save(target)
