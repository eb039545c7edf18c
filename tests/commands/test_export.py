import os
import resource
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tests.classifiers import classifier_folder
from tests.commands.running import Capture, fails, succeeds
from tests.kinds import TinyRankers
from tests.models import TEXTS, sentence_folder, sentence_transformers, transformer_folder

from ranklet.commands import main
from ranklet.corpus.evaluation.proof_report import read_reports
from ranklet.export.exporter import list_export_settings
from ranklet.runtime.bundles.files import BundleFiles

if TYPE_CHECKING:
    from tests.conftest import Built


def test_a_path_with_an_equals_sign_is_a_path(
    built: "Built", tmp_path: Path, capsys: Capture
) -> None:
    path = shutil.copytree(built.checkpoints["bm25"], tmp_path / "k1=0.9" / "bm25")
    assert succeeds(capsys, "export", path, "-o", tmp_path / "a").startswith("bm25 →")
    assert succeeds(capsys, "export", f"x={path}", "-o", tmp_path / "b").startswith("x →")


def test_each_setting_that_an_export_may_change_has_a_flag(capsys: Capture) -> None:
    with pytest.raises(SystemExit):
        main(["export", "--help"])
    shown = " ".join(capsys.readouterr().out.split())
    for name, kinds in list_export_settings().items():
        assert f"--{name.replace('_', '-')}" in shown
        for option in kinds.values():
            assert option.about in shown


@pytest.mark.slow
def test_a_setting_that_exports_had_no_flag_for_is_changed(
    tiny: TinyRankers, tmp_path: Path
) -> None:
    saved = tiny.checkpoint("conformer_kernel").save(tmp_path / "checkpoint" / "ck")
    out = tmp_path / "b"
    given = ["--terms", "7", "--scorer", "impacts", "--variants", "fp32", "--max-ndcg-loss", "1"]
    assert main(["export", str(saved), "-o", str(out), *given]) == 0
    assert BundleFiles(out).manifest.rankers["ck"].settings["terms"] == 7


@pytest.fixture
def saved(tiny: TinyRankers, tmp_path: Path) -> Path:
    """Return a checkpoint of a RepBERT."""
    return tiny.checkpoint("dense").save(tmp_path / "checkpoint" / "dense")


@pytest.mark.slow
def test_a_variant_out_of_tolerance_is_not_written_and_the_exit_status_says_so(
    tiny: TinyRankers, saved: Path, tmp_path: Path, capsys: Capture
) -> None:
    proofs = read_reports(tiny.exported("dense"))["dense"]
    sizes = {each.variant: each.bytes for each in proofs}
    between = (sizes["fp32"] + sizes["int8"]) / 2e6
    arguments = ["export", str(saved), "-o", str(tmp_path / "b"), "--max-ndcg-loss", "0.5"]
    assert main([*arguments, "--max-mb", f"{between:.6f}"]) == 3
    assert "REFUSED" in capsys.readouterr().out
    assert not BundleFiles(tmp_path / "b").has("rankers/dense/model.onnx")
    assert BundleFiles(tmp_path / "b").has("rankers/dense/model_int8.onnx")


@pytest.mark.slow
def test_where_there_is_no_room_nothing_is_left_and_the_error_says_so(
    saved: Path, tmp_path: Path
) -> None:
    def little_room() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (30_000, 30_000))  # as a full disk: write() fails

    target = tmp_path / "bundles" / "b"
    target.parent.mkdir()
    command = [sys.executable, "-m", "ranklet", "export", str(saved), "-o", str(target)]
    done = subprocess.run(
        [*command, "--variants", "fp32"],
        capture_output=True,
        text=True,
        check=False,
        preexec_fn=little_room,
        env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1"},
    )
    assert done.returncode == 1
    assert "Traceback" not in done.stderr
    assert "File too large" in done.stderr
    assert list(target.parent.iterdir()) == []


@pytest.mark.slow
def test_models_of_other_libraries_are_verified_on_texts_of_the_user(
    built: "Built", tmp_path: Path, capsys: Capture
) -> None:
    sentence_transformers()
    dense = sentence_folder(tmp_path / "my encoder (v1)", after=lambda m: [m.Normalize()])
    names = {0: "no", 1: "yes"}
    cross = classifier_folder(tmp_path / "judge", num_labels=2, id2label=names)
    queries = tmp_path / "queries.txt"
    queries.write_text("rising dough\nhow to remove a stain\n")
    texts = built.collection.path / "corpus.jsonl"
    out = tmp_path / "x"
    arguments = [f"words={built.checkpoints['bm25']}", dense, cross, "-o", out, "--label", "yes"]
    arguments += ["--dimension", 16, "--texts", texts, "--queries", queries, "--max-ndcg-loss", 1]
    arguments += ["--variants", "fp32"]
    assert main(["export", *map(str, arguments)]) == 0
    shown = capsys.readouterr().out
    assert "my-encoder-v1: dense encoder, mean pooling, cosine, 40 tokens, 16 dimensions" in shown
    assert "judge: cross-encoder, imported head, softmax of 'yes', 40 tokens" in shown
    assert shown.count("equal to sentence-transformers") == 2
    assert "nDCG" not in shown
    assert "documents, without judgements" in shown
    rankers = BundleFiles(out).manifest.rankers
    assert list(rankers) == ["words", "my-encoder-v1", "judge"]
    assert rankers["judge"].settings["head"] == "imported"
    wrong = [dense, built.checkpoints["bm25"], "-o", out, "--force", "--label", "yes"]
    assert "no model here has a label to choose" in fails(capsys, "export", *wrong)


@pytest.mark.slow
def test_a_model_is_verified_on_judgements_if_there_are_any(
    built: "Built", tmp_path: Path, capsys: Capture
) -> None:
    folder = classifier_folder(tmp_path / "judge")
    arguments = ["export", str(folder), "-o", str(tmp_path / "x"), "--variants", "fp32"]
    probes = ["--probes", str(built.collection.path), "--split", "test"]
    assert main([*arguments, *probes]) == 0
    assert "nDCG@10" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("files", "message"),
    [
        (None, "no folder"),
        ({}, "no config.json and no modules.json"),
        ({"config.json": "{}"}, "no model_type"),
        ({"config.json": '{"architectures": ["LlamaForCausalLM"]}'}, "generates texts"),
        ({"config.json": "{"}, "cannot be read"),
    ],
)
def test_a_folder_that_cannot_be_used_gives_one_line_and_status_2(
    tmp_path: Path, capsys: Capture, files: dict[str, str] | None, message: str
) -> None:
    folder = tmp_path / "model"
    if files is not None:
        folder.mkdir()
        for name, content in files.items():
            (folder / name).write_text(content)
    assert main(["export", str(folder), "-o", str(tmp_path / "x")]) == 2
    lines = capsys.readouterr().err.splitlines()
    assert lines[-1].startswith("ranklet export: ")
    assert message in lines[-1]
    assert all("after" in each for each in lines[:-1])  # progress, where loading takes seconds
    assert not (tmp_path / "x").exists()


def test_several_labels_without_a_choice_give_status_2(tmp_path: Path, capsys: Capture) -> None:
    folder = classifier_folder(tmp_path / "nli", num_labels=3)
    capsys.readouterr()
    assert main(["export", str(folder), "-o", str(tmp_path / "x")]) == 2
    assert "0 'LABEL_0', 1 'LABEL_1', 2 'LABEL_2'); pass --label" in capsys.readouterr().err


@pytest.mark.slow
def test_a_model_is_written_for_other_libraries_and_verified(
    tmp_path: Path, capsys: Capture
) -> None:
    folder = transformer_folder(tmp_path / "model")
    other = transformer_folder(tmp_path / "deeper", num_hidden_layers=3)
    capsys.readouterr()  # bars of transformers
    texts = tmp_path / "texts.txt"
    texts.write_text("\n\n".join(TEXTS))
    hub = tmp_path / "hub"
    command = ("export", folder, "--layout", "hub", "-o", hub, "--texts", texts)
    printed = succeeds(capsys, *command, "--variants", "fp32")
    assert "fp32" in printed
    assert (hub / "onnx" / "model.onnx").is_file()
    assert "has no weights to compare its graphs with" in fails(capsys, "verify", hub, "--full")
    assert "has the bytes that were proven" in succeeds(capsys, "verify", hub)
    verified = ("verify", hub, "--original", folder, "--texts", texts)
    assert "fp32" in succeeds(capsys, *verified)
    for more, said in (
        (("--variants", "fp32,openvino"), "other libraries have no variant openvino"),
        (("--stored", "int8"), "--stored is for bundles"),
        (("--dimension", 4), "--dimension is for bundles"),
    ):
        assert said in fails(capsys, *command, "--force", *more)
    two = ("export", folder, f"b={folder}", "--layout", "hub", "-o", tmp_path / "two")
    assert "--layout hub writes one model, not 2" in fails(capsys, *two)
    assert main(["verify", str(hub), "--original", str(other), "--texts", str(texts)]) == 3
    capsys.readouterr()
    assert "--full, --original and --texts are for" in fails(
        capsys, "verify", tmp_path, "--texts", texts
    )


@pytest.mark.parametrize("layout", ["bundle", "hub"])
def test_what_cannot_be_written_is_refused_before_a_model_is_read(
    layout: str, tmp_path: Path, capsys: Capture
) -> None:
    folder = tmp_path / "model"
    folder.mkdir()
    (folder / "config.json").write_text("{}")  # which cannot be read
    arguments = ["export", folder, "--layout", layout, "-o"]
    assert "exists" in fails(capsys, *arguments, folder)
    assert str(folder) in fails(capsys, *arguments, folder, "--force")
    arguments[1] = f"a b={folder}"
    if layout == "bundle":
        assert "NAME=CHECKPOINT" in fails(capsys, *arguments, tmp_path / "new")
    else:
        assert "leave .zip out" in fails(capsys, *arguments, tmp_path / "new.zip")
