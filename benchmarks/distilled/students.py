"""The students: rankers that learn from judgements or from a teacher, alike in everything else."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from hashlib import sha256
from importlib import import_module
from pathlib import Path
from typing import Any

from benchmarks.all_systems.bundles import Scope, digest_of, exported
from benchmarks.all_systems.rankers import untrained_dense
from benchmarks.all_systems.studies import OWN, QA_MIX, Ranker, Reads, Study
from benchmarks.built.conformers import CONFORMER, CONFORMER_SIZES
from benchmarks.built.trained import (
    CROSS,
    DENSE,
    EPIC,
    LEARN,
    NEURAL_MODEL1,
    learn_and_save,
    tuned_bm25,
)
from benchmarks.harness.place import Place
from ranklet import runtime
from ranklet.export.bundles import export_bundle, index_bundle
from ranklet.runtime.bundles.files import BundleFiles
from ranklet.runtime.rankers.conformer_kernel.settings import ConformerKernelSettings
from ranklet.training.checkpoint import Checkpoint, read_checkpoint
from ranklet.training.data.splits import read_split
from ranklet.training.rankers.conformer_kernel.sizes import Network
from ranklet.training.teaching.options import ScoreOptions
from ranklet.training.teaching.score_file import read_scores
from ranklet.training.teaching.scoring import score
from ranklet.training.teaching.taught import match
from ranklet.training.teaching.teacher import bundle_teacher

TEACHER = "cross"  # among the rankers of `all_systems`
DEPTH = 20  # candidates of BM25, and as many of the untrained MiniLM
QUERIES = 1_920  # of train, which a student sees with either kind of lesson
# A student learns margins of this mean size. Cosines cannot differ by more than 2, and the dense
# encoder's are divided by its temperature. None leaves the teacher's margins as they are.
DENSE_MARGIN, COLBERT_MARGIN = 4.0, 1.0
DIGITS = 16  # of a digest
LESSONS = FROM_JUDGEMENTS, FROM_TEACHER = "judgements", "teacher"
TEACHING = ("training/teaching", "benchmarks/distilled/students.py")


@dataclass(frozen=True)
class Student:
    """A kind of ranker that learns from judgements, from the teacher, or from both in turn.

    Attributes:
        kind: its kind.
        label: what tables call it.
        reads: what a network reads for a query.
        code: that its training depends on.
        options: of both trainings.
        judged: options of the one that learns from judgements.
        margin: mean size of the margins that it learns from a teacher; None for the teacher's own.
        settings: that its export changes.
        lessons: what it learns from.
        beside: the student that it is compared with, if it has one lesson only.
        queries: of train, that it learns from.
    """

    kind: str
    label: str
    reads: Reads
    code: tuple[str, ...]
    options: Mapping[str, Any] = field(default_factory=dict)
    judged: Mapping[str, Any] = field(default_factory=dict)
    margin: float | None = None
    settings: Mapping[str, Any] = field(default_factory=dict)
    lessons: tuple[str, ...] = LESSONS
    beside: str = ""
    queries: int = QUERIES


COLBERT = {"markers": False, "special_tokens": False, "punctuation": True}
STUDENTS = {
    "dense": Student(
        "dense", "MiniLM", Reads.QUERY, DENSE, judged={"negatives": "bm25"}, margin=DENSE_MARGIN
    ),
    "colbert": Student(
        "colbert", "ColBERT", Reads.QUERY, (*DENSE, "training/rankers/colbert"), COLBERT,
        margin=COLBERT_MARGIN,
    ),
    "epic": Student("epic", "EPIC", Reads.QUERY, EPIC),
    # The loss of MacAvaney et al.: a relevant document and one negative, without others' documents.
    "epic_triples": Student(
        "epic", "EPIC with the paper's triples", Reads.QUERY, EPIC, judged={"pairwise": True},
        lessons=(FROM_JUDGEMENTS,), beside="epic",
    ),
    "splade": Student("splade", "SPLADE", Reads.QUERY, (*EPIC, "training/rankers/splade")),
    "ndrm3": Student(
        "conformer_kernel", "NDRM3 impacts", Reads.NOTHING, CONFORMER,
        {"epochs": 4, "vectors": "word2vec"}, settings={"scorer": "impacts"},
    ),
    "neural_model1": Student(
        "neural_model1", "neural Model 1", Reads.NOTHING, NEURAL_MODEL1, {"epochs": 6}
    ),
}  # fmt: skip


def rankers(base: Mapping[str, Ranker], students: Mapping[str, Student]) -> dict[str, Ranker]:
    """Return some rankers, and each student once per lesson."""
    found = dict(base)
    for name, each in students.items():
        for lesson in each.lessons:
            found[f"{name}_{lesson}"] = Ranker(
                each.kind,
                label(each, lesson),
                partial(_learned, name=name, student=each, lesson=lesson),
                OWN,
                each.reads,
                (*each.code, *TEACHING),
                encodes=each.reads == Reads.QUERY,
                settings=each.settings,
            )
    return found


def label(student: Student, lesson: str) -> str:
    """Return what tables call a student with one of its lessons."""
    return f"{student.label} by {lesson}"


def _learned(place: Place, _: Study, *, name: str, student: Student, lesson: str) -> Checkpoint:
    """Return a student that has learned; it is trained if it is not kept."""
    kept, code = f"qa-mix.{name}.by.{lesson}", (*student.code, *TEACHING)

    def build(path: Path) -> None:
        package = f"ranklet.training.rankers.{student.kind}"
        train: Callable[..., Checkpoint] = import_module(f"{package}.training").train
        options = _options(place, package, student)
        of_teacher = lesson == FROM_TEACHER
        more = taught(place, student.margin, student.queries) if of_teacher else student.judged
        queries = read_split(place.collection("qa-mix"), LEARN, limit=student.queries)
        state = place.state(kept, code)
        learn_and_save(place, "qa-mix", train, options(**more), path, state, queries)

    return read_checkpoint(place.keep(kept, build, code, _given(place, student, lesson)))


def _given(place: Place, student: Student, lesson: str) -> str:
    """Return what a student depends on besides code: its options, and the teacher if it has one."""
    return " ".join(
        [
            sha256(str(student).encode()).hexdigest()[:DIGITS],
            *([_teacher_digest(place)] if lesson == FROM_TEACHER else []),
        ]
    )


def _options(place: Place, package: str, student: Student) -> Callable[..., Any]:
    """Return what makes the options of a student."""
    made: Any = import_module(f"{package}.options").Options
    own = dict(student.options)
    if student.kind == "conformer_kernel":
        field_ = tuned_bm25(place, "qa-mix").field
        own["settings"] = ConformerKernelSettings(field=field_, architecture="ndrm3", scorer="onnx")
        own["network"] = Network(**CONFORMER_SIZES)
    return partial(made, **own)


def taught(place: Place, margin: float | None, most: int) -> dict[str, Any]:
    """Return the options of a student that learns margins of a mean size from the teacher."""
    path = teacher_scores(place, most)
    if margin is None:
        return {"teacher": path}
    documents = place.collection("qa-mix")
    queries = read_split(documents, LEARN, limit=most)
    facts = match(read_scores(path), documents, queries, True, str(path)).facts
    return {"teacher": path, "teacher_scale": round(margin / facts["mean_margin"], 4)}


def teacher_scores(place: Place, most: int) -> Path:
    """Return the file of the cross-encoder's scores, by its int8 model, as it is served.

    Candidates are those of BM25 and of MiniLM as it comes, and all relevant documents.

    Args:
        place: of the run.
        most: queries of train that are scored.
    """

    def build(path: Path) -> None:
        teacher = bundle_teacher(runtime.load(exported(Scope(place), QA_MIX, TEACHER)))
        documents = place.collection("qa-mix")
        queries = read_split(documents, LEARN, limit=most)
        options = ScoreOptions(depth=DEPTH, bm25=tuned_bm25(place, "qa-mix"))
        blocks = path.with_name(f"{path.name}.run")
        found = score(
            teacher, documents, queries, options,
            candidates=[runtime.load(_minilm(place))], folder=blocks,
        )  # fmt: skip
        found.save(path)

    name = "qa-mix.teacher.npz" if most == QUERIES else f"qa-mix.teacher.{most}.npz"
    return place.keep(name, build, (*CROSS, *TEACHING), _teacher_digest(place))


def _teacher_digest(place: Place) -> str:
    """Return a digest of the model that scores."""
    return digest_of(BundleFiles(exported(Scope(place), QA_MIX, TEACHER)), [TEACHER])[:DIGITS]


def _minilm(place: Place) -> Path:
    """Return a bundle of all of qa-mix by MiniLM as it comes."""

    def build(path: Path) -> None:
        without = path.with_name(f"{path.name}.rankers")
        start = untrained_dense(place, Study("qa-mix"))
        start = replace(start, settings=replace(start.settings, max_document_tokens=128))
        export_bundle({"minilm": start}, without, overwrite=True)
        index_bundle(without, place.collection("qa-mix"), path, overwrite=True)

    return place.keep("qa-mix-minilm.ranklet", build, (*DENSE, "benchmarks/distilled/students.py"))
