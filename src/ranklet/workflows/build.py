"""Build a bundle that searches any texts, without judgements and without training."""

import logging
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from ranklet.corpus.building.document_encoding import ENCODING
from ranklet.corpus.building.folder import INDEXING, write_indexed
from ranklet.corpus.building.indexer import QUERY, serves_queries_alone
from ranklet.corpus.building.writer import BundleWriter
from ranklet.corpus.collections.collection import Document
from ranklet.corpus.distributed.cluster import Cluster, connected
from ranklet.corpus.distributed.indexing import analysed_on
from ranklet.corpus.distributed.shards import Shards
from ranklet.corpus.indexing.analysed import ANALYSING, AnalysedCollection, analyse
from ranklet.corpus.indexing.searched import check_columns
from ranklet.corpus.languages.options import TextOptions
from ranklet.corpus.processes import one_pool
from ranklet.corpus.progress import expect, one_bar, say
from ranklet.corpus.sources.source import FINDING, Source, Texts, source_of
from ranklet.corpus.sources.vectors import GivenVectors
from ranklet.export.bundles import export_bundle
from ranklet.export.exporter import exporter
from ranklet.export.options import ExportOptions
from ranklet.export.query_side import REPORT
from ranklet.export.vocabulary.cutting import cut_all
from ranklet.runtime.bundle import Bundle
from ranklet.runtime.bundles.files import BundleFiles
from ranklet.runtime.ground.errors import InputError
from ranklet.runtime.ground.extras import hint_packages
from ranklet.runtime.ground.options import check_type
from ranklet.runtime.ground.short_tracebacks import short_tracebacks
from ranklet.runtime.kinds import KINDS
from ranklet.runtime.rankers.bm25 import BM25Settings
from ranklet.runtime.ranking import load
from ranklet.runtime.storage.address import writable
from ranklet.runtime.storage.strings import Strings
from ranklet.runtime.text.ranked import ranked_text
from ranklet.training.checkpoint import Checkpoint
from ranklet.training.imported.hub import model_folder
from ranklet.training.imported.importing import find_needed_extra
from ranklet.workflows.build_options import (
    BUILD,
    SOURCE,
    VOCABULARIES,
    BuildOptions,
    accept_options,
)
from ranklet.workflows.imported import with_probes
from ranklet.workflows.models import export_models, read_models, steps
from ranklet.workflows.tables.agreement import LEAST, say_agreement
from ranklet.workflows.tables.given import learn_given_table
from ranklet.workflows.tables.vectors import with_query_tables

ENCODING_SECONDS = 0.01  # per passage
_log = logging.getLogger(__name__)

BM25 = "bm25"  # the ranker that every such bundle has, and its kind
VECTORS = "vectors"  # the ranker of vectors from outside
VECTOR_KIND = next(each.name for each in KINDS.values() if each.index == "vectors")


@accept_options
@short_tracebacks
def build(
    documents: Texts | Source,
    target: str | Path,
    options: BuildOptions = BUILD,
    *,
    overwrite: bool = False,
    **given: Any,
) -> Bundle:
    """Write a bundle that searches texts with BM25, and with models if there are any.

    With a model of vectors, the scores of all retrievers are added up, with weights that are
    measured on the collection. A cross-encoder reranks the best of them.

    Args:
        documents: a file or folder of texts, or an iterable of texts or of objects with a text; see
            `ranklet.corpus.sources.source.Source`, which may be passed as well.
        target: a folder, or a path that ends in .zip.
        options: how; see `BuildOptions`.
        overwrite: whether an existing bundle is replaced.
        given: options by name, in place of those in `options`; also ``language``, ``normaliser``
            and ``forms`` of its words, and ``types`` of its source.

    Returns:
        The bundle, which is open.

    Raises:
        CollectionError: documents cannot be read; the message counts the faults.
        InputError: a column does not exist, a model cannot be used, or an option is wrong.
        BuildError: the target exists.
        ExportError: no variant of a model can be verified.
        MissingPackageError: a package is not installed.
        ClusterError: the cluster cannot be used.
    """
    writable(target)
    check_type("options", options, BuildOptions)
    options = options.changed(given)
    models, export = [model_folder(each) for each in options.models], options.export
    export = export or ExportOptions()
    own = None if options.source is SOURCE else options.source  # given, even if equal
    source, whole = source_of(documents, own), options.vocabulary == VOCABULARIES[0]
    titles, words = options.titles, options.words
    if options.vectors is not None:
        source.vectors, source.titles = GivenVectors(options.vectors), titles
    with (
        hint_packages(lambda: find_needed_extra(models)),
        connected(options.engine) as cluster,
        one_bar(*_plan(len(models), export)),
        one_pool(),
        BundleWriter(target, overwrite=overwrite) as writer,
        tempfile.TemporaryDirectory() as folder,
    ):
        scratch = Path(folder)
        taken = {BM25: BM25} | ({VECTORS: VECTOR_KIND} if source.vectors is not None else {})
        read = read_models(
            models, export, keep=whole, taken=taken, label=options.label,
            query_prompt=options.query_prompt, document_prompt=options.document_prompt,
        )  # fmt: skip
        texts = _read(
            cluster, source, titles=titles, words=words, columns=options.bm25.columns,
            when_read=writer.compress_early,
        )  # fmt: skip
        rankers: dict[str, Checkpoint | Path] = {BM25: Checkpoint(BM25, options.bm25)}
        if whole:
            rankers |= export_models(read, scratch)
        else:
            checkpoints = {name: cast("Checkpoint", each.ready) for name, each in read.items()}
            folders = {name: each.folder for name, each in read.items()}
            ranked = partial(_texts, texts, titles=titles)
            rankers |= cut_all(with_probes(checkpoints, folders), ranked)
        if source.vectors is not None:
            rankers[VECTORS] = _describe_vectors(texts, source.vectors, options)
        made = export_bundle(rankers, scratch / "rankers", _drop_settings(export, rankers)).path
        if options.query.table and models:
            learned_from = options.query.learned_from(texts.titled(), documents)
            made = with_query_tables(
                made, scratch / "tables", learned_from, options.query.table_minutes
            )
        bundle = options.engine.opened(made)
        _say_sides(bundle, options.sides)
        analysed = texts.analysed(bundle, writer.resume_folder)
        provenance: dict[str, Any] = {"collection": {"name": source.name, "titles": titles}}
        if options.recipe:
            provenance["recipe"] = options.recipe
        write_indexed(
            bundle, analysed, writer, source.splitting, provenance, options.fusion, source.types,
            options.sides,
        )  # fmt: skip
    built = load(Path(target))
    if (
        options.query.table and models and options.sides != QUERY
    ):  # the network is there to compare with
        say_agreement(built)
    return built


def _describe_vectors(texts: "_Given", given: GivenVectors, options: BuildOptions) -> Checkpoint:
    """Return the ranker of vectors that somebody else has computed, perhaps with a table."""
    describe = exporter(VECTOR_KIND).given
    if describe is None:  # unreachable, because vectors are what the kind compares
        raise InputError(f"{VECTOR_KIND} takes no vectors from outside")
    settings = {
        "similarity": options.similarity, "model": options.vector_model,
        "dimension": given.dimension,
    }  # fmt: skip
    facts = {"column": given.column}
    if not options.query.table or texts.vectors is None:
        return describe(facts, **settings)
    made = learn_given_table(
        [*_texts(texts, titles=options.titles)], texts.vectors, options.query.pairs,
        options.query.table_minutes,
    )  # fmt: skip
    say(f"{VECTORS}: {made}")
    if not made.pairs:
        say(f"{VECTORS}: it has seen no query; if the model encodes queries in another way than "
            "documents, or for better ones anyway, give encoded queries by --pairs")  # fmt: skip
    if made.shared < LEAST:
        _log.warning(
            "%s: the table of queries hardly follows the vectors, so words alone may rank as well; "
            "give more documents or --pairs, or an endpoint for queries", VECTORS,
        )  # fmt: skip
    return describe({**facts, REPORT: str(made)}, made.rows, made.tokenizer, **settings)


def _say_sides(bundle: BundleFiles, sides: str | None) -> None:
    """Say which encoders of documents a built bundle will not have.

    Raises:
        InputError: queries alone were asked for, and no encoder of documents can be left out.
    """
    names = [
        name
        for name in bundle.manifest.rankers
        if serves_queries_alone(bundle.settings(name), sides)
    ]
    if sides == QUERY and not names:
        raise InputError(
            "sides is 'query', but no model encodes documents alone; leave it out, or give a "
            "router or queries='table'"
        )
    for name in names:
        say(f"{name}: the bundle keeps what encodes queries; to add documents later, build it with "
            "--sides both")  # fmt: skip


def _drop_settings(
    options: ExportOptions, rankers: Mapping[str, Checkpoint | Path]
) -> ExportOptions:
    """Return options without the settings that only rankers have that were exported before."""
    kinds = [each.kind for each in rankers.values() if isinstance(each, Checkpoint)]
    names = {name for kind in kinds for name in exporter(kind).settings}
    own = {name: value for name, value in options.settings.items() if name in names}
    return replace(options, settings=own)


class _Given(NamedTuple):
    """A collection that was read before its rankers exist."""

    listed: Callable[[], Iterator[Document]]  # its passages
    analysed: Callable[[BundleFiles, Path], AnalysedCollection]  # for rankers; see `analysed_on`
    vectors: NDArray[np.float32] | None = None  # from outside, (passages, dimension)

    def titled(self) -> Iterator[tuple[str, str]]:
        """Yield the title and the text of each passage."""
        return ((each.title, each.text) for each in self.listed())


def _texts(given: _Given, *, titles: bool) -> Iterator[str]:
    return (ranked_text(each.title, each.text, titles) for each in given.listed())


def _read(
    cluster: Cluster | None,
    source: Source,
    *,
    titles: bool,
    words: TextOptions,
    columns: Sequence[str],
    when_read: Callable[[Strings, Strings], None],
) -> _Given:
    """Read a source, and analyse it unless a cluster will do that.

    Raises:
        CollectionError: documents cannot be read.
    """
    if cluster is not None:
        shards = Shards(source)
        on_cluster = partial(analysed_on, cluster, shards, titles=titles, words=words)
        return _Given(shards.listed, lambda *given: _having(on_cluster(*given), columns))
    fields = {BM25Settings().field}
    found = analyse(
        source.documents(), fields, titles=titles, keep_metadata=True, options=words,
        columns=columns, when_read=when_read, size=source.size,
    )  # fmt: skip
    _having(found, columns)
    expect(ENCODING, len(found.documents) * ENCODING_SECONDS)
    return _Given(found.listed, lambda *_: found, found.vectors)


def _having(found: AnalysedCollection, columns: Sequence[str]) -> AnalysedCollection:
    """Return a collection that has some columns; raise InputError if one is missing."""
    check_columns(found.metadata, columns)
    return found


def _plan(models: int, export: ExportOptions) -> list[tuple[str, float]]:
    """Return the steps with the seconds that each probably takes, for a progress bar."""
    # Until the documents are counted, encoding is taken for ten thousand of them.
    encoding = [(ENCODING, 10_000 * ENCODING_SECONDS)] * models
    own = steps(models, export.variants)
    return [*own, (FINDING, 0.5), (ANALYSING, 5.0), (INDEXING, 2.0), *encoding]
