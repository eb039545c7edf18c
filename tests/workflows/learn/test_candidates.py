"""What may be learned says when it is worth its time, and how to do the same by hand."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

from ranklet.corpus.languages.options import TextOptions
from ranklet.runtime.rankers.bm25 import BM25Settings
from ranklet.training.checkpoint import Checkpoint
from ranklet.workflows.learn.candidates import BM25, CANDIDATES, plan
from ranklet.workflows.learn.options import LearnOptions

TUNED = Checkpoint(BM25, BM25Settings("lemmas", 0.6, 0.4), languages=("de",), normaliser="stem")
UNSAID = {"bm25", "oracle", "evaluations", "measure"}  # read from paths, or only for Python


def left(seconds: float) -> Any:
    return SimpleNamespace(left=lambda: seconds)


def task(**changes: Any) -> Any:
    work = SimpleNamespace(
        number=lambda _, make: make(), made=lambda _: TUNED, place=lambda name: Path(name),
        checkpoint=lambda *_: None, has=lambda _: False,
    )  # fmt: skip
    facts: dict[str, Any] = {
        "work": work, "options": LearnOptions(measure="nDCG@10"), "titles": False,
        "words": TextOptions(), "tokens": 256, "model": "an encoder", "budget": left(1e6),
        "parts": SimpleNamespace(learn=range(2_000)), "passages": 1_000,
    }  # fmt: skip
    return SimpleNamespace(**{**facts, **changes})


def test_what_is_not_tried_is_explained() -> None:
    by_name = {each.name: each for each in CANDIDATES}
    few = SimpleNamespace(learn=range(150))
    network, lexical = LearnOptions(network=False), LearnOptions(lexical=True)
    assert "it needs 200 queries" in by_name["model1"].why_not(task(parts=few))
    assert "--no-network" in by_name["trained"].why_not(task(options=network))
    assert by_name["sparse"].why_not(task(options=network)) == ""
    assert "--max-ms" in by_name["cross"].why_not(task())
    assert by_name["cross"].why_not(task(options=LearnOptions(max_ms=200))) == ""
    assert "--model FOLDER" in by_name["neural_model1"].why_not(task(model=None))
    assert "only rankers of words" in by_name["trained"].why_not(task(options=lexical))
    assert "minutes, and 1:00 are left" in by_name["light"].why_not(task(budget=left(60)))


def test_steps_are_halved_until_they_fit() -> None:
    (dense,) = [each for each in CANDIDATES if each.name == "trained"]
    enough = dense.steps(task())
    assert enough == 250
    assert dense.steps(task(budget=left(dense.seconds(task(), enough) - 1))) == 125
    assert dense.steps(task(budget=left(0))) == 40


def test_neural_model_1_is_tried_where_a_fifth_of_its_steps_fit() -> None:
    (neural,) = [each for each in CANDIDATES if each.name == "neural_model1"]
    usual = 12 * 2_000 // 16
    assert neural.steps(task()) == usual
    least = neural.seconds(task(), usual // 5)
    assert "left for trainings" in neural.why_not(task(budget=left(least - 1)))
    assert neural.why_not(task(budget=left(least + 1))) == ""
    assert neural.steps(task(budget=left(least + 1))) == usual // 5


def test_an_encoder_has_its_own_time_before_others_have_theirs() -> None:
    by_name = {each.name: each for each in CANDIDATES}
    model1, dense = by_name["model1"], by_name["trained"]
    enough = model1.seconds(task(), 0) + dense.seconds(task(), dense.least_steps(task()))
    planned, skipped = plan(task(budget=left(enough + 30)))
    assert planned == [model1, dense]
    assert "left for trainings" in skipped["neural Model 1"]  # which is cheaper
    nothing, why = plan(task(budget=left(0)))
    assert nothing == []
    assert list(why) == [each.about for each in CANDIDATES]
    made = SimpleNamespace(has=lambda name: name == "sparse")
    assert plan(task(budget=left(0), work=made))[0] == [by_name["sparse"]]


def test_neural_model_1_has_the_time_where_no_encoder_is_trained() -> None:
    names = [each.name for each in plan(task(options=LearnOptions(network=False)))[0]]
    assert names[:2] == ["model1", "neural_model1"]
