"""Build a bundle that searches any texts, without judgements and without training."""

import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import NamedTuple, cast

from ranklet.corpus.building.default_fusion import FUSION, FusionOptions
from ranklet.corpus.building.document_encoding import ENCODING
from ranklet.corpus.building.writer import BundleWriter
from ranklet.corpus.building.writing import INDEXING, write_indexed
from ranklet.corpus.collections.collection import Document
from ranklet.corpus.distributed.cluster import Cluster, connected
from ranklet.corpus.distributed.indexing import analysed_on
from ranklet.corpus.distributed.options import LOCAL, EngineOptions
from ranklet.corpus.distributed.shards import Shards
from ranklet.corpus.indexing.analysed import ANALYSING, AnalysedCollection, analyse
from ranklet.corpus.languages.names import AUTO
from ranklet.corpus.languages.options import TextOptions
from ranklet.corpus.progress import expect, one_bar
from ranklet.corpus.sources.options import SourceOptions
from ranklet.corpus.sources.source import FINDING, Source, Texts, source_of
from ranklet.export.bundles import export_bundle
from ranklet.export.exporter import exporter
from ranklet.export.imported import with_probes
from ranklet.export.models import exported, read_models, steps
from ranklet.export.options import ExportOptions
from ranklet.export.vocabulary.cutting import cut_all
from ranklet.runtime.arguments import listed
from ranklet.runtime.bundle import Bundle
from ranklet.runtime.bundles.files import BundleFiles
from ranklet.runtime.errors import InputError
from ranklet.runtime.extras import hinted
from ranklet.runtime.options import check_one_of, check_type
from ranklet.runtime.rankers.bm25 import BM25Settings
from ranklet.runtime.ranking import load
from ranklet.runtime.short_tracebacks import short_tracebacks
from ranklet.runtime.storage.address import writable
from ranklet.runtime.text.classes import STEM
from ranklet.runtime.text.ranked import ranked_text
from ranklet.training.checkpoint import Checkpoint
from ranklet.training.imported.hub import model_folder
from ranklet.training.imported.importing import needed_extra

ENCODING_SECONDS = 0.01  # per passage
VOCABULARIES = ("model", "collection")  # tokens that a model keeps
BM25 = "bm25"  # the ranker that every such bundle has, and its kind
TITLE_BOOST = 2.0  # better than 1 on all collections with titles (`bm25_defaults`)


@short_tracebacks
def build(
    documents: Texts | Source,
    target: str | Path,
    *,
    models: Sequence[str | Path] = (),
    label: str | None = None,
    query_prompt: str | None = None,
    document_prompt: str | None = None,
    vocabulary: str = VOCABULARIES[0],
    options: SourceOptions | None = None,
    types: Mapping[str, str] | None = None,
    export: ExportOptions | None = None,
    titles: bool = True,
    language: str = AUTO,
    normaliser: str = STEM,
    forms: str | Path | None = None,
    title_boost: float | None = None,
    impacts: str = BM25Settings.impacts,
    overwrite: bool = False,
    engine: EngineOptions = LOCAL,
    fusion: FusionOptions = FUSION,
) -> Bundle:
    """Write a bundle that searches texts with BM25, and with models if there are any.

    With a model of vectors, the scores of all retrievers are added up, with weights that are
    measured on the collection. A cross-encoder reranks the best of them.

    Args:
        documents: a file or folder of texts, or an iterable of texts or of objects with a text; see
            `ranklet.corpus.sources.source.Source`, which may be passed as well.
        target: a folder, or a path that ends in .zip.
        models: folders of models, of sentence-transformers, transformers or ranklet; or names of
            models in the Hugging Face hub's cache on this machine.
        label: the label of a cross-encoder that means relevant, if it has several.
        query_prompt: the text before every query of an encoder; None for what its folder says.
        document_prompt: the text before every document of an encoder, likewise.
        vocabulary: ``model`` for all tokens of the models, or ``collection`` for those of the
            documents only, of which the models make the same vectors and scores. Other words of
            queries, and of documents that are added later, are split into smaller tokens.
        options: how the documents are read and split into passages.
        types: types of columns, such as ``{"price": "number", "tags": "list"}``; see `value_of`.
        export: how models are exported. They are verified on ranklet's own texts, so that the
            same model is exported once on a machine, and kept in the user's folder for caches.
        titles: whether titles are part of the text that is ranked.
        language: the language of the texts, as a code such as ``de`` or an English name; ``auto``
            finds out that of each document.
        normaliser: what the forms of a word have in common: ``stem``, which includes the first
            letters in most languages but English, or ``none``.
        forms: a file of forms and lemmas in place of stems; see `TextOptions`.
        title_boost: how often BM25 counts each word of a title, from 1 to 100; None for
            `TITLE_BOOST`, or 1 if titles are not ranked.
        impacts: how BM25's impacts are stored, as float32, float16 or uint8.
        overwrite: whether an existing bundle is replaced.
        engine: where documents are analysed and encoded, on this machine or on several by Ray.
        fusion: how the lists of several rankers become one.

    Returns:
        The bundle, which is open.

    Raises:
        CollectionError: documents cannot be read; the message counts the faults.
        InputError: a column does not exist, a model cannot be used, or an option is wrong.
        ExportError: the target exists, or no variant of a model can be verified.
        MissingPackageError: a package is not installed.
        ClusterError: the cluster cannot be used.
    """
    writable(target)
    check_one_of("vocabulary", vocabulary, VOCABULARIES)
    given_forms = None if forms is None else Path(forms)
    words = TextOptions(language=language, normaliser=normaliser, forms=given_forms)
    if title_boost is None:
        title_boost = TITLE_BOOST if titles else 1.0
    bm25 = BM25Settings(title_boost=title_boost, impacts=impacts)
    bm25.check_titles(titles)
    check_type("export", export or ExportOptions(), ExportOptions)
    check_type("fusion", fusion, FusionOptions)
    if not models and (export is not None or fusion.fusion != FUSION.fusion):
        raise InputError(
            f"{'fusion' if export is None else 'export'} has no effect without models; leave it "
            "out, or give models"
        )
    models = [model_folder(each) for each in listed(models, "models", "put the one in a list")]
    export = export or ExportOptions()
    source, whole = source_of(documents, options, types), vocabulary == VOCABULARIES[0]
    with (
        hinted(lambda: needed_extra(models)),
        connected(engine) as cluster,
        one_bar(*_plan(len(models), export)),
        BundleWriter(target, overwrite=overwrite) as writer,
        tempfile.TemporaryDirectory() as folder,
    ):
        scratch = Path(folder)
        read = read_models(
            models, export, keep=whole, taken={BM25: BM25}, label=label,
            query_prompt=query_prompt, document_prompt=document_prompt,
        )  # fmt: skip
        given = _read(cluster, source, titles=titles, words=words)
        rankers: dict[str, Checkpoint | Path] = {BM25: Checkpoint(BM25, bm25)}
        if whole:
            rankers |= exported(read, scratch)
        else:
            checkpoints = {name: cast("Checkpoint", each.ready) for name, each in read.items()}
            folders = {name: each.folder for name, each in read.items()}
            texts = partial(_texts, given, titles=titles)
            rankers |= cut_all(with_probes(checkpoints, folders), texts)
        made = export_bundle(rankers, scratch / "rankers", _left(export, rankers))
        bundle = engine.opened(made.path)
        analysed = given.analysed(bundle, writer.resume_folder)
        provenance = {"collection": {"name": source.name, "titles": titles}}
        write_indexed(bundle, analysed, writer, source.splitting, provenance, fusion, source.types)
    return load(target)


def _left(options: ExportOptions, rankers: Mapping[str, Checkpoint | Path]) -> ExportOptions:
    """Return options without the settings that only rankers have that were exported before."""
    kinds = [each.kind for each in rankers.values() if isinstance(each, Checkpoint)]
    names = {name for kind in kinds for name in exporter(kind).settings}
    own = {name: value for name, value in options.settings.items() if name in names}
    return replace(options, settings=own)


class _Given(NamedTuple):
    """A collection that was read before its rankers exist."""

    listed: Callable[[], Iterator[Document]]  # its passages
    analysed: Callable[[BundleFiles, Path], AnalysedCollection]  # for rankers; see `analysed_on`


def _texts(given: _Given, *, titles: bool) -> Iterator[str]:
    return (ranked_text(each.title, each.text, titles) for each in given.listed())


def _read(cluster: Cluster | None, source: Source, *, titles: bool, words: TextOptions) -> _Given:
    """Read a source, and analyse it unless a cluster will do that.

    Raises:
        CollectionError: documents cannot be read.
    """
    if cluster is not None:
        shards = Shards(source)
        return _Given(
            shards.listed, partial(analysed_on, cluster, shards, titles=titles, words=words)
        )
    fields = {BM25Settings().field}
    found = analyse(source.documents(), fields, titles=titles, keep_metadata=True, options=words)
    expect(ENCODING, len(found.documents) * ENCODING_SECONDS)
    return _Given(found.listed, lambda *_: found)


def _plan(models: int, export: ExportOptions) -> list[tuple[str, float]]:
    """Return the steps with the seconds that each probably takes, for a progress bar."""
    # Until the documents are counted, encoding is taken for ten thousand of them.
    encoding = [(ENCODING, 10_000 * ENCODING_SECONDS)] * models
    own = steps(models, export.variants)
    return [*own, (FINDING, 0.5), (ANALYSING, 5.0), (INDEXING, 2.0), *encoding]
