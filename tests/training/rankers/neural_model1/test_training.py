import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from ranklet.corpus.collections.collection import Collection
from ranklet.corpus.collections.splits import read_split
from ranklet.corpus.indexing.analysed import AnalysedCollection, open_bm25
from ranklet.runtime.ground.errors import InputError
from ranklet.runtime.lexical.model1 import log_odds, translation_likelihoods
from ranklet.runtime.rankers.bm25 import BM25Settings
from ranklet.runtime.storage.forward import Gathered
from ranklet.training.checkpoint import Checkpoint, read_checkpoint
from ranklet.training.learning.device import seeded
from ranklet.training.rankers.neural_model1 import training as neural_model1
from ranklet.training.rankers.neural_model1.network import Network, NetworkTranslation, NeuralModel1
from ranklet.training.rankers.neural_model1.options import Options, PairOptions
from ranklet.training.rankers.neural_model1.sparsify import tables
from ranklet.training.rankers.neural_model1.training import Pairs
from ranklet.training.sampling.negatives import relevant_numbers

pytestmark = pytest.mark.slow

SIZE, PADDING = 40, 0
THINGS, OTHER_WORDS = ("engine", "castle", "winter"), ("motor", "fortress", "cold")
OPTIONS = Options(
    epochs=40, learning_rate=0.02, device="cpu", batch=4, vector=8, hidden=(8, 4),
    embeddings="random",
)  # fmt: skip


def model(**changes: object) -> NeuralModel1:
    network = replace(Network(SIZE, PADDING, (0, 1), 8, (6, 5)), **changes)  # type: ignore[arg-type]
    background = np.random.default_rng(0).uniform(1e-6, 1e-2, SIZE).astype(np.float32)
    with seeded(1):
        return NeuralModel1(network, background).eval()


def network_of(net: NeuralModel1) -> NetworkTranslation:
    assert isinstance(net.translate, NetworkTranslation)
    return net.translate


def by_the_papers_formula(net: NeuralModel1, query: int, document: int) -> float:
    """T(q|d) of one pair, written out (Boytsov & Kolter, §3)."""
    layer = network_of(net)
    norm = torch.nn.functional.layer_norm

    def vector(token: int, table: str, name: str, projection: str) -> torch.Tensor:
        embedded = getattr(layer, table).weight[token]
        scale = getattr(layer, name)
        normed = norm(embedded, embedded.shape, scale.weight, scale.bias)
        found: torch.Tensor = getattr(layer, projection)(torch.tanh(normed))
        return found

    x_q = vector(query, "queries", "query_norm", "query_projection")
    x_d = vector(document, "documents", "document_norm", "document_projection")
    hidden = torch.relu(layer.first(torch.cat([x_q, x_d, x_q * x_d])))
    return torch.sigmoid(layer.third(torch.relu(layer.second(hidden)))).item()


def test_the_network_is_the_papers() -> None:
    net = model()
    with torch.no_grad():
        found = net.translation(torch.arange(4), torch.arange(4, 9))
        expected = [[by_the_papers_formula(net, q, d) for d in range(4, 9)] for q in range(4)]
    assert found.shape == (4, 5)
    np.testing.assert_allclose(found, expected, rtol=1e-5)


def test_the_cosine_variant_is_the_papers() -> None:
    net = model(parametrisation="cosine")
    with torch.no_grad():
        found = net.translation(torch.tensor([3]), torch.tensor([3, 7]))[0]
        e_q, e_d = net.translate.queries.weight[3], net.translate.documents.weight
        cosines = [torch.cosine_similarity(e_q, e_d[at], dim=0).item() for at in (3, 7)]
    np.testing.assert_allclose(found, [0.5 * (each + 1) for each in cosines], rtol=1e-5)


def test_the_likelihood_is_eq_3_and_4() -> None:
    net = model()
    query, document = [5, 9, 9], [7, 5, 5, 20]
    p_self, lambda_ = net.network.p_self, net.network.lambda_
    expected = 0.0
    for q in query:
        by_d = [
            p_self if d == q else (1 - p_self) * by_the_papers_formula(net, q, d) for d in document
        ]
        mean = sum(by_d) / len(document)
        expected += math.log((1 - lambda_) * mean + lambda_ * net.background[q].item())
    with torch.no_grad():
        found = net(torch.tensor([query]), torch.tensor([document]))
    assert found.item() == pytest.approx(expected, rel=1e-5)


def test_a_batch_holds_each_querys_documents_over_their_tokens(
    tiny_analysed: AnalysedCollection, tiny_collection: Collection
) -> None:
    retriever = open_bm25(BM25Settings("lemmas"), tiny_analysed.postings("lemmas"))
    queries = read_split(tiny_collection, "train")
    options = PairOptions(batch=3, negatives_each=2, max_document_tokens=5)
    pairs = Pairs(tiny_analysed, queries, retriever, options, 0, None)
    kept, relevant = relevant_numbers(list(tiny_analysed.documents.ids), queries)
    batches = pairs.batches(0)
    assert sorted(np.concatenate([each.queries for each in batches])) == list(range(len(kept)))
    offsets, held = tiny_analysed.offsets("wordpieces"), tiny_analysed.tokens("wordpieces")
    for batch in batches:
        asked, tokens, shares = pairs.arrays(batch)
        assert shares.shape == (len(batch.queries), tokens.shape[1], 3)
        for row, query in enumerate(batch.queries):
            text = tiny_analysed.analyzer.begin().tokens(kept[query].text, "wordpieces")
            assert asked[row][asked[row] > 0].tolist() == text.tolist()
            first, *others = batch.documents[row]
            assert first in relevant[query]
            assert not set(others) & set(relevant[query])
            for column, document in enumerate(batch.documents[row]):
                its = held[offsets[document] : offsets[document + 1]][:5]
                expected = {int(token): float((its == token).mean()) for token in its}
                of_it = shares[row, :, column]
                found = dict(zip(tokens[row][of_it > 0].tolist(), of_it[of_it > 0], strict=True))
                assert found == pytest.approx(expected)


@pytest.mark.parametrize(("p_self", "lambda_"), [(0.3, 0.1), (0.0, 1e-3), (1.0, 0.5), (0.3, 1.0)])
def test_the_runtimes_scorer_gives_the_same_ranking_score(p_self: float, lambda_: float) -> None:
    net = model(p_self=p_self, lambda_=lambda_, special=(0,))
    with torch.no_grad():
        network_of(net).third.bias.fill_(0.5)  # no T below the threshold
    query = np.array([5, 9, 9], np.int32)
    document = np.array([7, 5, 5, 20], np.int32)
    gathered = Gathered(document, np.array([4]))
    likelihoods = translation_likelihoods(query, tables(net)(query, document), p_self, gathered)
    served = log_odds(likelihoods, net.background.numpy()[query], lambda_).sum()
    with torch.no_grad():
        score = net(torch.tensor(query[None]).long(), torch.tensor(document[None]).long()).item()
    nothing = sum(math.log(lambda_ * net.background[q].item()) for q in query.tolist())
    assert served == pytest.approx(score - nothing, rel=1e-4, abs=1e-4)


def train(collection: Collection, tokenizer: Path, **changes: Any) -> Checkpoint:
    queries, dev = read_split(collection, "train"), read_split(collection, "dev")
    options = replace(OPTIONS, tokenizer=tokenizer, **changes)
    return neural_model1.train(collection, queries, dev, options)


@pytest.fixture(scope="module")
def learned(tiny_collection: Collection, tiny_bert: Path) -> Checkpoint:
    return train(tiny_collection, tiny_bert)


def test_it_learns_by_which_other_words_people_ask(
    learned: Checkpoint, tiny_analysed: AnalysedCollection
) -> None:
    course = [each["value"] for each in learned.training["evaluations"]]
    assert learned.training["best"] > 0.8 > course[0] + 0.1
    net = neural_model1.load(learned)
    find = tiny_analysed.analyzer.tokenizer.token_to_id
    with torch.no_grad():
        asked, named = ([find(word) for word in words] for words in (OTHER_WORDS, THINGS))
        found = net.translation(torch.tensor(asked), torch.tensor(named)).numpy()
    wrong = found[~np.eye(len(found), dtype=bool)]
    assert found.diagonal().mean() > 3 * wrong.mean()


def test_a_checkpoint_holds_the_model_that_was_tuned(learned: Checkpoint, tmp_path: Path) -> None:
    back = neural_model1.load(read_checkpoint(learned.save(tmp_path / "c")))
    here = neural_model1.load(learned)
    assert back.network == here.network
    assert back.network.p_self == learned.settings.p_self
    assert back.network.lambda_ == learned.settings.lambda_
    pair = torch.tensor([[6, 7]]), torch.tensor([[8, 9, 10]])
    with torch.no_grad():
        assert back(*pair).item() == here(*pair).item()
    assert learned.probes is not None
    with pytest.raises(InputError, match="do not fit"):
        neural_model1.load(replace(learned, network={**learned.network, "vector": 9}))
    with pytest.raises(InputError, match="lacks 'vocabulary'"):
        neural_model1.load(replace(learned, network={}))


@pytest.mark.parametrize(
    ("option", "value"),
    [("vector", 0), ("hidden", (3,)), ("parametrisation", "sine"), ("p_self", 2), ("padding", -1)],
)
def test_values_that_are_not_allowed_are_refused(option: str, value: object) -> None:
    with pytest.raises(InputError, match=option):
        model(**{option: value})
