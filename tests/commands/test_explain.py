import errno
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tests.commands.running import Capture, fails, strict, succeeds

from ranklet.commands import main
from ranklet.commands.explain import HINT
from ranklet.commands.rank.answers import ROWS
from ranklet.runtime import Bundle

if TYPE_CHECKING:
    from tests.conftest import Built, Described


@pytest.mark.parametrize("pipeline", ["bm25", "bm25_pieces", "rrf", "linear"])
def test_explain_explains(built: "Built", capsys: Capture, pipeline: str) -> None:
    arguments = ("explain", built.fused, "knead dough", "bread", "--pipeline", pipeline)
    wanted = Bundle(built.fused).explain("knead dough", "bread", pipeline=pipeline)
    assert succeeds(capsys, *arguments) == f"{wanted.text(ROWS, HINT)}\n"
    assert strict(succeeds(capsys, *arguments, "--json")) == wanted.to_dict()


MANY = "wash windows or knead dough with warm water"


def test_explain_explains_several_documents_or_the_best(built: "Built", capsys: Capture) -> None:
    bundle = Bundle(built.fused)
    wanted = [bundle.explained("knead dough", each) for each in ("bread", "blank")]
    text = succeeds(capsys, "explain", built.fused, "knead dough", "bread", "blank")
    trees = [hit.explanation.text(ROWS, HINT) for hit in wanted if hit.explanation]
    shown = zip(wanted, trees, strict=True)
    assert text == "".join(f"{hit.id}  {hit.title}\n{tree}\n" for hit, tree in shown)
    assert f"more rows{HINT}" in text
    assert max(len(tree.splitlines()) for tree in trees) == ROWS + 1
    lines = succeeds(capsys, "explain", built.fused, MANY, "-k", 3, "--json").splitlines()
    best = bundle.rank(MANY, k=3, explain=True)
    assert len(best) == 3
    assert [strict(line)["id"] for line in lines] == [hit.id for hit in best]
    assert [strict(line)["value"] for line in lines] == pytest.approx(
        [hit.score for hit in best], rel=1e-5, abs=1e-6
    )
    assert succeeds(capsys, "explain", built.fused, "gnorp") == "no hits for 'gnorp'\n"
    nothing = succeeds(capsys, "explain", built.fused, "What is it")
    assert nothing == "no hits for 'What is it'\nleft out as stop words: What, is, it\n"


def test_explain_writes_a_page_whole_or_not_at_all(
    built: "Built", tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    target = tmp_path / "page.html"
    arguments = ("explain", built.fused, MANY, "--html", target)
    assert succeeds(capsys, *arguments, "-k", 2) == f"2 explained → {target}\n"
    before = target.read_text("utf-8")
    assert before.count('<li class="hit"') == 2
    assert "fuse (linear)" in before
    succeeds(capsys, *arguments, "--pipeline", "bm25", "-k", 1)
    assert target.read_text("utf-8").count('<li class="hit"') == 1
    for wrong in (tmp_path, tmp_path / "nothing" / "page.html"):
        error = fails(capsys, "explain", built.fused, MANY, "--html", wrong)
        assert "cannot write a page" in error
    monkeypatch.setattr(Path, "replace", raise_full)
    before = target.read_text("utf-8")
    assert main([str(each) for each in arguments]) == 1
    assert "No space left" in capsys.readouterr().err
    assert target.read_text("utf-8") == before
    assert [each.name for each in tmp_path.iterdir()] == ["page.html"]


def raise_full(*_: object) -> None:
    raise OSError(errno.ENOSPC, "No space left on device")


def test_explained_hits_can_be_filtered_but_ids_cannot(
    described: "Described", capsys: Capture
) -> None:
    where = ("--where", '{"year": {"missing": false}}')
    shown = succeeds(capsys, "explain", described.path, "bread", "-k", 1, *where)
    (hit,) = described.bundle.rank("bread", k=1, where={"year": {"missing": False}})
    assert shown.startswith(hit.id)
    for option in (where, ("-k", 1)):
        assert "ids name the documents" in fails(
            capsys, "explain", described.path, "bread", "d1", *option
        )
