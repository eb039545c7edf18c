"""A bundle per study with all rankers, made of parts that are kept one by one.

Each ranker is exported once per training. What encodes documents without the collection's
vocabulary is indexed on its own, so that another Model 1 does not encode them again.
"""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from hashlib import sha256
from pathlib import Path

import numpy as np

from benchmarks.all_systems.rankers import RANKERS
from benchmarks.all_systems.studies import STUDIES, Ranker, Reads, Searched, Study, searched
from benchmarks.built.trained import all_cores, code_of
from benchmarks.harness.place import ROOT, Place
from ranklet.corpus.collections.collection import Document
from ranklet.corpus.index import index_bundle
from ranklet.export.bundles import export_bundle
from ranklet.export.options import ExportOptions
from ranklet.runtime.bundles.files import TOKENIZER, BundleFiles
from ranklet.runtime.onnx.encoder import VARIANTS
from ranklet.training.checkpoint import Checkpoint
from ranklet.workflows.learn.bundles import write_joined

PREFIX, LEXICAL_PART = "all", "lexical"
REPORT = "report.json"
WRITING = (
    "corpus/indexing",
    "corpus/collections/probes.py",
    *(f"export/{name}" for name in ("onnx", "proof", "sparse")),
    *(f"export/{name}.py" for name in ("bundles", "options")),
    *(f"corpus/building/{name}.py" for name in ("document_encoding", "resumable", "writer")),
    "src/ranklet/workflows/learn/bundles.py",
    "runtime/onnx",
    "runtime/lexical",
    "runtime/text",
    "runtime/storage/strings.py",
    "runtime/bundles/manifest.py",
    "benchmarks/harness/evenly.py",
    "benchmarks/all_systems/studies.py",
)


@dataclass(frozen=True)
class Scope:
    """What one run of the benchmark covers; a test gives a smaller one.

    Attributes:
        place: of the run.
        studies: by name.
        rankers: by name; the first is BM25.
        options: of all exports.
        processes: that work on studies side by side, one thread each.
        timed: queries that are timed, at most.
        timed_pairs: the same of systems whose networks read pairs.
        rounds: of timing, not counting the first.
        starts: fresh processes of a system.
        name: what bundles of all rankers are called.
        parts: what bundles of single rankers are called, which runs of other names may share.
    """

    place: Place
    studies: Mapping[str, Study] = field(default_factory=lambda: STUDIES)
    rankers: Mapping[str, Ranker] = field(default_factory=lambda: RANKERS)
    options: ExportOptions = field(default_factory=ExportOptions)
    processes: int = 2
    timed: int = 100
    timed_pairs: int = 30
    rounds: int = 2
    starts: int = 5
    name: str = PREFIX
    parts: str = PREFIX

    def rankers_of(self, study: str) -> dict[str, Ranker]:
        """Return the rankers of a study, which are those that learn from something for it."""
        here = self.studies[study]
        return {name: each for name, each in self.rankers.items() if each.source_of(study, here)}


def searched_in(scope: Scope, study: str) -> Searched:
    """Return the documents and queries of a study."""
    return searched(scope.place, study, scope.studies[study])


def exported(scope: Scope, study: str, name: str) -> Path:
    """Return the bundle of one ranker, without a collection; it is trained where it is not kept."""
    ranker = scope.rankers[name]
    source = ranker.source_of(study, scope.studies[study])
    learned = scope.studies.get(source, next(iter(scope.studies.values())))
    checkpoint = ranker.learn(scope.place, learned)
    settings = {**scope.options.settings, **ranker.settings}
    options = replace(scope.options, settings=settings)

    def build(path: Path) -> None:
        with all_cores():
            export_bundle({name: checkpoint}, path, options, overwrite=True)

    kept = slug(scope.parts, source, name, "exported")
    return scope.place.keep(kept, build, _code([ranker]), digest_of_numbers(checkpoint, options))


def bundle_of(scope: Scope, study: str) -> Path:
    """Return the bundle of a study with all rankers, indexed; encoders are indexed one by one."""
    here, used = searched_in(scope, study), scope.rankers_of(study)
    titles = scope.studies[study].titles
    texts = digest_of_texts(here.passages, titles=titles)
    alone = {name: BundleFiles(exported(scope, study, name)) for name in used}

    def kept(names: Sequence[str], prefix: str, build: Callable[[Path], object]) -> Path:
        digests = [compute_digest(alone[name], [name]) for name in names]
        code = _code(used[name] for name in names)
        return scope.place.keep(prefix, build, code, " ".join([*digests, texts]))

    def indexed(names: Sequence[str], path: Path) -> None:
        rankers = path.with_name(f"{path.name}.rankers")
        write_joined([(alone[name], [name]) for name in names], rankers)
        index_bundle(rankers, here, path, titles=titles, overwrite=True)

    lexical = [name for name, each in used.items() if not each.encodes]
    groups = {slug(scope.name, study, LEXICAL_PART, "indexed"): lexical}
    for name in (each for each in used if each not in lexical):
        groups[slug(scope.parts, study, name, "indexed")] = [name]
    parts = [
        (BundleFiles(kept(names, prefix, partial(indexed, names))), names)
        for prefix, names in groups.items()
    ]
    return kept(list(used), slug(scope.name, study, "ranklet"), partial(write_joined, parts))


def list_needed_files(bundle: BundleFiles, rankers: Mapping[str, Reads]) -> list[str]:
    """Return the files of a bundle that some rankers need to rank its collection.

    Of the variants of a network only the one that is served counts, and none where no network runs
    for a query. Proofs do not count. The documents and the vocabulary always do.

    Args:
        bundle: with all rankers.
        rankers: those that rank, and what their networks read.
    """
    fields = {bundle.settings(name).field for name in rankers}
    unused = {
        name
        for field_, users in (("words", {"words", "lemmas"}), ("wordpieces", {"wordpieces"}))
        if not fields & users
        for name in (f"documents/{field_}.npy", f"documents/{field_}.offsets.npy")
    }
    if "wordpieces" not in fields:
        unused.add(TOKENIZER)
    found = [
        name
        for name in bundle.manifest.files
        if not name.startswith("rankers/") and name not in unused
    ]
    for ranker, reads in rankers.items():
        own = [name for name in bundle.manifest.files if name.startswith(f"rankers/{ranker}/")]
        found += [name for name in own if not _spare(name, own, reads)]
    return found


def megabytes(bundle: BundleFiles, rankers: Mapping[str, Reads]) -> float:
    """Return the size of `list_needed_files` in 10⁶ bytes."""
    files = bundle.manifest.files
    return sum(files[name].bytes for name in list_needed_files(bundle, rankers)) / 1e6


def compute_digest(bundle: BundleFiles, rankers: Iterable[str]) -> str:
    """Return a digest of what some rankers of a bundle rank with."""
    folders = tuple(f"rankers/{name}/" for name in sorted(rankers))
    told = [
        f"{name} {entry.sha256}"
        for name, entry in sorted(bundle.manifest.files.items())
        if (not name.startswith("rankers/") or name.startswith(folders))
        and not name.endswith(REPORT)  # has times
    ]
    return sha256("\n".join(told).encode()).hexdigest()


def digest_of_numbers(checkpoint: Checkpoint, options: ExportOptions) -> str:
    """Return a digest of what an export of a checkpoint depends on besides its code."""
    found = sha256(f"{checkpoint.digest} {options}".encode())
    for name, values in sorted(checkpoint.arrays.items()):
        found.update(name.encode() + np.ascontiguousarray(values).tobytes())
    return found.hexdigest()


def digest_of_texts(passages: Iterable[Document], *, titles: bool) -> str:
    """Return a digest of what is indexed, so that runs of one name may cut a collection anew."""
    found = sha256(str(titles).encode())
    for each in passages:
        found.update(repr(each).encode())
    return found.hexdigest()


def minutes(bundle: BundleFiles, rankers: Iterable[str], scope: Scope) -> float:
    """Return how long rankers and what they learned from were trained."""
    names = set(rankers)
    names |= {needed for name in names for needed in scope.rankers[name].needs}
    learned = bundle.manifest.provenance["checkpoints"]
    kinds = ("seconds", "evaluation_seconds")
    return sum(float(learned[name].get(kind, 0)) for name in names for kind in kinds) / 60


def slug(*parts: str) -> str:
    """Return a name for a file.

    >>> slug("all", "medquad without titles", "model1")
    'all.medquad-without-titles.model1'
    """
    return ".".join(re.sub("[^a-z0-9_]+", "-", part.lower()) for part in parts)


def _code(rankers: Iterable[Ranker]) -> tuple[str, ...]:
    """Return the code that a bundle of some rankers depends on."""
    found: list[str] = list(WRITING)
    for ranker in rankers:
        found += code_of(ranker.kind)
        found += [_module(f"{layer}/rankers/{ranker.kind}") for layer in ("export", "runtime")]
    return tuple(sorted(set(found)))


def _module(name: str) -> str:
    return name if (ROOT / name).is_dir() else f"{name}.py"


def _spare(name: str, own: list[str], reads: Reads) -> bool:
    """Return whether a ranker of these files ranks without one of them."""
    if name.endswith(REPORT):
        return True
    folder, _, file = name.rpartition("/")
    if file not in VARIANTS.values():
        return False
    served = VARIANTS["int8"]
    return reads == Reads.NOTHING or (f"{folder}/{served}" in own and file != served)
