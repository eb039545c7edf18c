"""Make one bundle of rankers that were indexed one by one."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from ranklet.corpus.building.default_pipelines import standard_pipelines
from ranklet.corpus.building.writer import BundleWriter
from ranklet.export.errors import ExportError
from ranklet.runtime.bundles.files import TOKENIZER, BundleFiles
from ranklet.runtime.onnx.encoder import VARIANTS, variant_files
from ranklet.runtime.pipelines.pipeline import Fuse, Pipeline, Rescore, Retrieve
from ranklet.runtime.pipelines.relevance import Calibration

PIECES = "wordpieces"  # the field whose tokens are those of the tokenizer


def write_joined(parts: Sequence[tuple[BundleFiles, Sequence[str]]], target: Path) -> Path:
    """Write one bundle of several over the same documents; all but rankers is the first one's.

    Args:
        parts: bundles, and the names of the rankers to take of each.
        target: is replaced.

    Raises:
        ExportError: bundles have different word pieces, or different documents.
    """
    first = parts[0][0]
    tokenizers = {
        bytes(each.file(TOKENIZER))
        for each, names in parts
        if each.has(TOKENIZER) and any(each.settings(name).field == PIECES for name in names)
    }
    if len(tokenizers) > 1:
        raise ExportError("the rankers have different word pieces, and a bundle has only one kind")
    if len({each.manifest.documents for each, _ in parts}) > 1:
        raise ExportError("the rankers were indexed for different documents")
    rankers = {name: each.manifest.rankers[name] for each, names in parts for name in names}
    pipelines, default = standard_pipelines(rankers)
    learned = {
        name: each.manifest.provenance.get("checkpoints", {}).get(name, {})
        for each, names in parts
        for name in names
    }
    with BundleWriter(target, overwrite=True) as writer:
        for name in first.manifest.files:
            if not name.startswith("rankers/") and name != TOKENIZER:
                writer.data(name, first.file(name))
        for each, names in parts:
            for name in names:
                writer.copy(each, f"rankers/{name}/")
        for tokenizer in tokenizers:
            writer.data(TOKENIZER, tokenizer)
        provenance = {**first.manifest.provenance, "checkpoints": learned}
        return writer.finish(
            replace(
                first.manifest,
                rankers=rankers,
                pipelines=pipelines,
                default_pipeline=default,
                provenance=provenance,
            )
        )


def write_reduced(
    source: BundleFiles,
    target: Path,
    pipelines: Mapping[str, Pipeline],
    default: str,
    provenance: Mapping[str, object],
    relevance: Sequence[Calibration] = (),
    *,
    called: Mapping[str, str] | None = None,
    overwrite: bool,
) -> Path:
    """Write a bundle with no more rankers than some pipelines have, and networks in 8 bits.

    Rankers may be called by other names than in the source.
    """
    names = called or {}
    used = {ranker for each in pipelines.values() for ranker in each.rankers}
    kept = [name for name in source.manifest.rankers if name in used]
    rankers = {names.get(name, name): source.manifest.rankers[name] for name in kept}
    reports = source.manifest.provenance.get("checkpoints", {})
    learned = {names.get(name, name): reports.get(name, {}) for name in kept}
    own, _ = standard_pipelines(rankers)
    with BundleWriter(target, overwrite=overwrite) as writer:
        for name in list_needed_files(source, kept):
            folder, _, file = name.removeprefix("rankers/").partition("/")
            moved = folder in names and name.startswith("rankers/")
            writer.data(f"rankers/{names[folder]}/{file}" if moved else name, source.file(name))
        return writer.finish(
            replace(
                source.manifest,
                rankers=rankers,
                fields=tuple(
                    each
                    for each in source.manifest.fields
                    if each != PIECES or _reads_pieces(source, kept)
                ),
                pipelines={
                    **own,
                    **{name: _rename(each, names) for name, each in pipelines.items()},
                },
                default_pipeline=default,
                provenance={**source.manifest.provenance, "checkpoints": learned, **provenance},
                relevance=tuple(
                    replace(each, rankers=tuple(names.get(name, name) for name in each.rankers))
                    for each in relevance
                ),
            )
        )


def list_needed_files(source: BundleFiles, rankers: Sequence[str]) -> list[str]:
    """Return the names of the files of a bundle that some of its rankers and all documents need.

    Networks that are stored in 8 bits need no other variant.
    """
    own = tuple(f"rankers/{each}/" for each in rankers)
    unused = {TOKENIZER, f"documents/{PIECES}.npy", f"documents/{PIECES}.offsets.npy"}
    if _reads_pieces(source, rankers):
        unused = set()
    kept = VARIANTS["int8"]
    others = [file for each in VARIANTS.values() if each != kept for file in variant_files(each)]
    for name in source.manifest.files:
        folder, _, file = name.rpartition("/")
        if file == kept:
            unused |= {f"{folder}/{each}" for each in others}
    return [
        name
        for name in source.manifest.files
        if name not in unused and (name.startswith(own) or not name.startswith("rankers/"))
    ]


def _reads_pieces(source: BundleFiles, rankers: Sequence[str]) -> bool:
    return any(source.settings(name).field == PIECES for name in rankers)


def _rename(pipeline: Pipeline, names: Mapping[str, str]) -> Pipeline:
    """Return a pipeline whose rankers are called by other names."""
    stages = []
    for each in pipeline.stages:
        if isinstance(each, Fuse):
            each = replace(each, inputs=tuple(names.get(name, name) for name in each.inputs))
        elif isinstance(each, Retrieve | Rescore):
            each = replace(each, ranker=names.get(each.ranker, each.ranker))
        stages.append(each)
    return Pipeline(tuple(stages))
