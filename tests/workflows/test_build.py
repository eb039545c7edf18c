"""`build` makes a bundle of any texts, and of models of any kind that needs no collection."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.classifiers import classifier_folder
from tests.kinds import TinyRankers
from tests.models import TEXTS, router_folder, transformer_folder

from ranklet import runtime
from ranklet.corpus.errors import BuildError
from ranklet.corpus.evaluation.proof_report import read_reports
from ranklet.corpus.sources.options import SourceOptions
from ranklet.corpus.updating.compact import compact
from ranklet.corpus.updating.update import update
from ranklet.export.options import ExportOptions
from ranklet.runtime.ground.errors import BundleError, CollectionError, InputError
from ranklet.workflows.build import build

FP32 = ExportOptions(variants=("fp32",))
RECORDS = [
    {"name": f"text {at}", "key": f"id/{at} ä", "body": text} for at, text in enumerate(TEXTS)
]


@pytest.fixture(scope="module")
def encoder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return transformer_folder(tmp_path_factory.mktemp("models") / "encoder")


def test_texts_become_a_search_without_any_model(tmp_path: Path) -> None:
    path = Path(build(RECORDS, tmp_path / "search.ranklet"))
    bundle = runtime.load(path)
    assert len(bundle) == len(TEXTS)
    assert list(bundle.manifest.rankers) == ["bm25"]
    query = max(TEXTS[2].split(), key=len)
    best = bundle.rank(query)[0]
    assert (best.id, best.title, best.text) == ("id/2 ä", "text 2", TEXTS[2])


def test_an_iterator_is_read_once_and_texts_alone_are_numbered(tmp_path: Path) -> None:
    def texts() -> Iterator[str]:
        yield from TEXTS

    bundle = runtime.load(build(texts(), tmp_path / "b"))
    ids = {hit.id for hit in bundle.rank(" ".join(TEXTS), k=100)}
    assert ids <= {str(number) for number in range(1, len(TEXTS) + 1)}


def test_the_same_texts_give_the_same_bundle(tmp_path: Path) -> None:
    files = []
    for name in ("a", "b"):
        path = Path(build(RECORDS, tmp_path / name))
        files.append(json.loads((path / "manifest.json").read_text())["files"])
    assert files[0] == files[1]


def test_nothing_is_written_if_texts_are_wrong_or_the_target_exists(tmp_path: Path) -> None:
    with pytest.raises(CollectionError, match="1 of 2 documents"):
        build([*TEXTS[:1], ""], tmp_path / "b")
    assert not list(tmp_path.iterdir())
    build(TEXTS, tmp_path / "b")
    with pytest.raises(BuildError, match="exists"):
        build(TEXTS, tmp_path / "b")
    build([*TEXTS, ""], tmp_path / "b", source=SourceOptions(skip_bad=True), overwrite=True)
    assert len(runtime.load(tmp_path / "b")) == len(TEXTS)


@pytest.mark.slow
def test_a_dense_encoder_is_fused_with_bm25(tmp_path: Path, encoder: Path) -> None:
    bundle = runtime.load(build(RECORDS, tmp_path / "b", models=[encoder], export=FP32))
    assert bundle.manifest.default_pipeline == "sum"
    weights = bundle.manifest.pipelines["sum"].stages[-1].weights  # type: ignore[union-attr]
    assert sum(weights) == pytest.approx(1, abs=0.002)
    assert str(bundle.manifest.pipelines["rrf"]).endswith("fuse (rrf) 1·bm25 + 1·encoder")
    assert len(bundle.rank("nothing of this is in a text")) > 0
    report, *stored = read_reports(bundle.path)["encoder"]
    assert [each.variant for each in stored] == ["stored float16", "stored int8"]
    assert (report.variant, report.refused) == ("fp32", "")
    checkpoints = bundle.manifest.provenance["checkpoints"]
    assert checkpoints["encoder"]["imported"] == "encoder"


@pytest.mark.slow
def test_a_cross_encoder_comes_last_and_its_label_is_chosen(tmp_path: Path, encoder: Path) -> None:
    names = {"0": "wrong", "1": "right"}
    folder = classifier_folder(tmp_path / "judge", num_labels=2, id2label=names)
    with pytest.raises(InputError, match="--label"):
        build(RECORDS, tmp_path / "b", models=[folder], export=FP32)
    models = [encoder, folder]
    path = Path(build(RECORDS, tmp_path / "b", models=models, label="right", export=FP32))
    bundle = runtime.load(path)
    assert bundle.manifest.default_pipeline == "judge"
    assert bundle.manifest.pipelines["judge"].stages[-1].ranker == "judge"  # type: ignore[union-attr]
    ranking = bundle.rank(" ".join(TEXTS[0].split()[:3]))
    alone = bundle.score(ranking.query, [hit.text for hit in ranking], pipeline="judge")
    assert len(alone) == len(ranking)


@pytest.mark.slow
def test_checkpoints_of_ranklet_are_models_too(tmp_path: Path, tiny: TinyRankers) -> None:
    models = [tiny.checkpoint(kind).save(tmp_path / kind) for kind in ("dense", "epic")]
    path = Path(
        build(RECORDS, tmp_path / "b", models=models, export=ExportOptions(("fp32",), prune=40))
    )
    bundle = runtime.load(path)
    assert list(bundle.manifest.rankers) == ["bm25", "dense", "epic"]
    assert len(bundle.rank("water")) > 0


def test_models_that_cannot_be_used_are_refused_before_texts_are_read(
    tmp_path: Path, tiny: TinyRankers, encoder: Path
) -> None:
    def texts() -> Iterator[str]:
        yield ""
        raise AssertionError("the texts were read")

    for models, label, message in (
        ([tmp_path / "nothing"], None, "nothing"),
        ([encoder, encoder], None, "two rankers would be named 'encoder'"),
        ([encoder], "right", "no model has labels"),
        ([tiny.checkpoint("model1").save(tmp_path / "model1")], None, "trained for one collection"),
    ):
        with pytest.raises(InputError, match=message):
            build(texts(), tmp_path / "b", models=models, label=label)
    assert not (tmp_path / "b").exists()


@pytest.mark.slow
@pytest.mark.parametrize("queries", ["network", "static"])
def test_a_router_leaves_what_encodes_documents_at_the_build(queries: str, tmp_path: Path) -> None:
    router = router_folder(tmp_path / "models", queries)
    both = build(RECORDS, tmp_path / "both", models=router, export=FP32, sides="both")
    alone = build(RECORDS, tmp_path / "alone", models=router, export=FP32)
    graph = {"network": "query/model.onnx", "static": "query/table.npy"}[queries]
    kept, whole = (
        {file.removeprefix("rankers/model/") for file in bundle.manifest.files}
        for bundle in (alone, both)
    )
    assert whole - kept == {"model.onnx", "tokenizer.json"}
    assert graph in kept
    query = TEXTS[2]
    hits = alone.rank(query, pipeline="model", explain=True)
    assert [(hit.id, hit.score) for hit in hits] == [
        (hit.id, hit.score) for hit in both.rank(query, pipeline="model")
    ]
    told = hits[0].explanation
    assert told is not None
    assert (len(told.parts) > 1) == (queries == "static")
    assert told.value == pytest.approx(hits[0].score, abs=1e-5)
    with pytest.raises(BundleError, match=r"built for queries alone .* build it again") as refused:
        update(tmp_path / "alone", [{"id": "new", "text": "a new text"}])
    assert "\n" not in str(refused.value)
    update(tmp_path / "alone", delete=[hits[0].id])  # needs no encoder
    compact(tmp_path / "alone")
    left = runtime.load(tmp_path / "alone")
    assert [hit.id for hit in left.rank(query, pipeline="model")] == [hit.id for hit in hits[1:]]
    with pytest.raises(InputError, match="no model encodes documents alone"):
        build(RECORDS, tmp_path / "words", sides="query")
