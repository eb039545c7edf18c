"""A search learns from judged queries what its words mean, and says what that gained."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.kinds import TinyRankers
from tests.query_tables import rankers_with_network

from ranklet.commands import main
from ranklet.corpus.building.default_fusion import FUSION
from ranklet.corpus.collections.collection import Collection, Query, write_collection
from ranklet.corpus.errors import BuildError
from ranklet.corpus.evaluation.significance import Interval
from ranklet.corpus.index import index_bundle
from ranklet.corpus.sources.source import Source
from ranklet.export.query_side import Learned as Taught
from ranklet.runtime import load
from ranklet.runtime.bundle import Bundle
from ranklet.runtime.bundles.files import BundleFiles
from ranklet.runtime.ground.errors import InputError
from ranklet.runtime.pipelines.pipeline import Rescore
from ranklet.runtime.rankers.cross_encoder.ranker import CrossEncoderSettings
from ranklet.runtime.rankers.dense import open_vectors
from ranklet.workflows.build import build
from ranklet.workflows.learn import candidates, choosing, training, weighing
from ranklet.workflows.learn.bundles import write_reduced
from ranklet.workflows.learn.learn import learn
from ranklet.workflows.learn.options import LearnOptions
from ranklet.workflows.learn.result import Row, table
from ranklet.workflows.tables import vectors as writing

WORDS, SHARED = 40, 8
NO_NETWORK = LearnOptions(network=False)


def texts(count: int = 600) -> list[dict[str, Any]]:
    """Texts of three words each, of which queries will know other names, and a common word."""
    rng = np.random.default_rng(0)
    return [
        {
            "id": f"d{n}",
            "shelf": n % 3,
            "text": " ".join(
                [f"topic{n % SHARED}", *(f"word{w}" for w in rng.choice(WORDS, 3, replace=False))]
            ),
        }
        for n in range(count)
    ]


@pytest.fixture(scope="module")
def bundle(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return Path(build(texts(), tmp_path_factory.mktemp("learn") / "words.ranklet", language="en"))


@pytest.fixture(scope="module")
def judged(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Queries that call every word of a text but the common one by another name."""
    folder = tmp_path_factory.mktemp("judged") / "judged"
    queries = [Query(f"q{each['id']}", each["text"].replace("word", "name")) for each in texts()]
    qrels = {f"q{each['id']}": {each["id"]: 1} for each in texts()}
    write_collection(folder, [], {"train": (queries, qrels)})
    return folder


@pytest.fixture(scope="module")
def better(bundle: Path, judged: Path) -> Path:
    found = learn(bundle, judged, bundle.with_name("better"), NO_NETWORK)
    assert found.target is not None
    kept = found.kept
    assert kept is not None
    assert kept.gain.low > 0.2
    assert "model1" in kept.name
    assert "← kept" in table(found)
    assert found.relevance is not None
    assert f"relevance: {found.relevance}" in table(found)
    return found.target


@pytest.mark.slow
def test_model_1_learns_the_other_names(better: Path, bundle: Path) -> None:
    first, text = texts()[0]["id"], texts()[0]["text"].replace("word", "name")
    assert load(better).manifest.default_pipeline == "learned"
    assert load(better).rank(text)[0].id == first
    (own,) = load(better).manifest.relevance  # which ranklet does not know of these rankers
    assert (own.rankers, own.queries) == (load(better).manifest.pipeline(None).rankers, 252)
    likely = load(better).rank(text, relevance=True).answerable
    assert likely is not None
    assert likely > 0.5
    assert not better.with_name("better.learn").exists()
    assert load(bundle).manifest.default_pipeline == "bm25"
    assert load(better).metadata == load(bundle).metadata == {"shelf": "number"}
    assert {hit.metadata["shelf"] for hit in load(better).rank(text, where={"shelf": 2})} == {2}


@pytest.mark.slow
def test_the_same_judgements_give_the_same_bundle(better: Path, bundle: Path, judged: Path) -> None:
    again = learn(bundle, judged, bundle.with_name("again"), NO_NETWORK).target
    assert again is not None
    one, other = load(better).manifest, load(again).manifest
    assert one.pipelines == other.pipelines
    assert one.files == other.files


@pytest.mark.slow
def test_what_was_made_is_found_again_after_an_interruption(
    bundle: Path, judged: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def stop(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(choosing, "read_pools", stop)
        with pytest.raises(KeyboardInterrupt):
            learn(bundle, judged, tmp_path / "b", NO_NETWORK)
        patched.setattr(training, "tune_bm25", stop)
        with pytest.raises(KeyboardInterrupt):  # not in the tuning, which is done
            learn(bundle, judged, tmp_path / "b", NO_NETWORK)
    assert (tmp_path / "b.learn" / "all.untuned_bm25.bm25.model1.ranklet").is_dir()
    found = learn(bundle, judged, tmp_path / "b", NO_NETWORK)
    assert found.target == tmp_path / "b"
    assert sorted(each.name for each in tmp_path.iterdir()) == ["b"]


@pytest.mark.slow
def test_every_kind_is_learned_and_takes_part(
    bundle: Path, judged: Path, tiny_bert: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(candidates, "MOST_STEPS", 2)
    monkeypatch.setattr(candidates, "LEAST_STEPS", 2)
    monkeypatch.setattr(candidates.Task, "tokens", 48)
    # The tiny BERT knows none of these words, so neural Model 1 has nothing to learn.
    tried = tuple(
        each._replace(least=1) for each in candidates.CANDIDATES if each.name != "neural_model1"
    )
    monkeypatch.setattr(candidates, "CANDIDATES", tried)
    seen: list[str] = []

    def kept(after: Bundle, queries: Any, names: list[str]) -> Any:
        seen.extend(names)
        return weighing.read_pools(after, queries, names)

    monkeypatch.setattr(choosing, "read_pools", kept)
    found = learn(bundle, judged, tmp_path / "b", LearnOptions(model=tiny_bert))
    assert set(seen) == {"bm25", "untuned_bm25", *(each.name for each in tried if not each.pairs)}
    assert "--max-ms" in found.untrained["a cross-encoder that reads the best documents"]
    assert found.target is not None


@pytest.mark.slow
def test_a_cross_encoder_reads_last_where_there_is_time(
    bundle: Path, judged: Path, tiny_bert: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(candidates, "MOST_STEPS", 2)
    monkeypatch.setattr(candidates, "LEAST_STEPS", 2)
    (cross,) = (each for each in candidates.CANDIDATES if each.pairs)
    short = {"settings": CrossEncoderSettings(max_tokens=48)}  # as many as the tiny BERT reads
    tried = cross._replace(least=1, options=lambda *given: {**cross.options(*given), **short})
    monkeypatch.setattr(candidates, "CANDIDATES", (tried,))
    read: list[float] = []

    def far_better(*arguments: Any, **options: Any) -> Any:
        step, base = weighing.rerank_last(*arguments, **options)
        read.append(float(np.mean(step.values)))
        gained = 0.5 + 0.01 * (np.arange(len(base)) % 2)  # whatever two steps have taught it
        return step._replace(values=base + gained), base

    monkeypatch.setattr(choosing, "rerank_last", far_better)
    monkeypatch.setattr(Row, "gain", Interval(0.5, 0.4, 0.6))
    found = learn(bundle, judged, tmp_path / "b", LearnOptions(model=tiny_bert, max_ms=1e6))
    assert read
    assert found.target is not None
    assert Rescore("cross") in load(found.target).manifest.pipelines["learned"].stages
    assert len(load(found.target).rank("topic1 name2", k=5)) == 5


@pytest.mark.slow
def test_the_own_bm25_stays_beside_the_tuned_one(
    bundle: Path, judged: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(candidates, "K1S", (30.0,))  # worse than its own
    monkeypatch.setattr(candidates, "CANDIDATES", ())
    monkeypatch.setattr(Row, "gain", Interval(0.5, 0.4, 0.6))
    found = learn(bundle, judged, tmp_path / "b", NO_NETWORK)
    assert found.kept is not None
    assert found.kept.name == "1 · untuned_bm25"
    own, kept = load(bundle), load(tmp_path / "b")
    assert kept.manifest.rankers == own.manifest.rankers  # it keeps its name
    assert kept.rank_ids("topic1 word2") == own.rank_ids("topic1 word2")


@pytest.mark.slow
def test_judgements_that_bm25_meets_already_end_with_status_3(
    bundle: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"

    def status(count: int) -> int:
        rows = "".join(f"{each['text']},{each['id']},9\n" for each in texts(count))
        clicks = tmp_path / "clicks.csv"
        clicks.write_text(f"query,id,clicks\n{rows}", "utf-8")
        return main(["learn", str(bundle), str(clicks), "-o", str(out), "--no-network"])

    assert status(300) == 3
    printed = capsys.readouterr().out
    assert "queries is not sure" in printed
    assert not out.exists()
    assert status(100) == 1  # there is nothing to weigh
    assert "trained with --no-training or by 100 judged queries" in capsys.readouterr().err


@pytest.mark.slow
def test_without_time_for_trainings_only_weights_are_learned(
    bundle: Path, judged: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    found = learn(bundle, judged, tmp_path / "b", LearnOptions(minutes=0.01))
    assert found.target is None  # BM25 alone has no weights
    assert "the time for it was over" in found.untrained["a tuned BM25 and new rankers"]
    assert "give more --minutes" in capsys.readouterr().out


@pytest.mark.slow
def test_weights_alone_are_learned_of_the_rankers_that_there_are(
    better: Path, bundle: Path, judged: Path, tmp_path: Path
) -> None:
    files, plain = BundleFiles(better), tmp_path / "plain"
    pipelines = {name: files.manifest.pipelines[name] for name in ("bm25", "learned")}
    write_reduced(files, plain, pipelines, "bm25", {}, overwrite=False)
    command = ["learn", str(plain), str(judged), "-o", str(tmp_path / "b"), "--no-training"]
    assert main(command) == 0
    assert sorted(load(tmp_path / "b").manifest.rankers) == ["bm25", "model1"]
    with pytest.raises(InputError, match=r"has only one ranker.* with --no-training"):
        learn(bundle, judged, tmp_path / "c", LearnOptions(training=False))


@pytest.mark.slow
def test_a_table_in_place_of_a_network_is_kept_where_it_gains(
    tiny: TinyRankers, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    network, rng = rankers_with_network(tiny), np.random.default_rng(0)
    tokenizer = BundleFiles(network).tokenizer("rankers/dense/tokenizer.json", plain=True)
    known = sorted(each for each in tokenizer.get_vocab() if each.isalpha() and len(each) > 2)
    words, names = known[: len(known) // 2], known[len(known) // 2 :]
    drawn = [rng.choice(len(words), 3, replace=False).tolist() for _ in range(600)]
    written = [{"id": f"d{n}", "text": " ".join(words[w] for w in d)} for n, d in enumerate(drawn)]
    index_bundle(network, Source(written), tmp_path / "network", fusion=FUSION)
    queries = [Query(f"q{n}", " ".join(names[w] for w in d)) for n, d in enumerate(drawn)]
    qrels = {f"q{n}": {f"d{n}": 1} for n in range(len(drawn))}
    write_collection(tmp_path / "judged", [], {"train": (queries, qrels)})

    def told(*_: object) -> Taught:
        """A name's vector is that of the documents with its word, so no network could do more."""
        files = BundleFiles(tmp_path / "network")
        floats = open_vectors(files, "dense", files.settings("dense")).floats(slice(None))
        rows = np.zeros((tokenizer.get_vocab_size(), floats.shape[1]), np.float32)
        for word, name in enumerate(names[: len(words)]):
            having = [n for n, each in enumerate(drawn) if word in each]
            rows[tokenizer.token_to_id(name)] = floats[having].mean(0) - floats.mean(0)
        return Taught(rows, 1, 1.0, 0.0)

    monkeypatch.setattr(writing, "learn_table", told)
    # As it is of an imported model, which has not learned from these queries.
    monkeypatch.setattr(choosing, "trained_rankers", lambda _: [])
    options = LearnOptions(network=False, training=False)
    found = learn(tmp_path / "network", tmp_path / "judged", tmp_path / "b", options)
    assert found.target is not None
    assert found.kept is not None
    assert found.kept.gain.low > 0
    assert len(found.kept.values) == len(queries)  # all prove weights, not a part alone
    learned = load(tmp_path / "b")
    assert learned.manifest.rankers["dense"].settings["encoder"] == "query_table"
    assert len(learned.rank(queries[0].text, k=5)) == 5


@pytest.mark.slow
def test_inspect_says_what_a_bundle_learned_from(
    bundle: Path, judged: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    collection = Collection(judged, documents=False)
    queries, grades = collection.queries("train"), collection.qrels("train")
    again = [Query(f"{each.id}-again", each.text) for each in queries[:20]]
    test = [*queries[450:], *again]
    of_test = {each.id: grades[each.id.removesuffix("-again")] for each in test}
    learned = {each.id: grades[each.id] for each in queries[:450]}
    splits = {"train": (queries[:450], learned), "test": (test, of_test)}
    folder = write_collection(tmp_path / "both", [], splits).path
    found = learn(bundle, folder, tmp_path / "b", NO_NETWORK)
    assert found.target is not None
    assert found.seen == 20
    assert main(["inspect", str(tmp_path / "b")]) == 0
    assert "'learned' was learned by `ranklet learn`" in capsys.readouterr().out


def test_a_target_that_exists_is_not_replaced(bundle: Path, judged: Path, tmp_path: Path) -> None:
    with pytest.raises(BuildError, match="exists; choose another name"):
        learn(bundle, judged, tmp_path)
    (tmp_path / "mine.txt").touch()
    with pytest.raises(BuildError, match="is not a bundle"):  # and not after an hour of learning
        learn(bundle, judged, tmp_path, overwrite=True)
