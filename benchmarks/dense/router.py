"""Routers whose documents a network encodes and whose queries static embeddings encode.

A small network is tried in their place, too.

Both students learn from the same texts what MiniLM says of them, no query among these, and are
saved as sentence-transformers saves a router. Every bundle is kept, so an interrupted run
continues.
"""

from collections.abc import Mapping, Sequence
from itertools import islice
from pathlib import Path
from time import monotonic, process_time
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.fusion.collections import BM25
from benchmarks.harness.place import MissingDataError, Place
from benchmarks.harness.report import table
from benchmarks.harness.timing import take_turns
from ranklet import runtime
from ranklet.corpus.building.default_pipelines import SUM
from ranklet.corpus.collections.splits import JudgedQuery, read_split
from ranklet.corpus.evaluation.systems import evaluate
from ranklet.corpus.rankers.dense import INDEXED
from ranklet.corpus.sources.options import SourceOptions
from ranklet.corpus.sources.source import Source
from ranklet.export.build import build
from ranklet.export.options import ExportOptions
from ranklet.export.query_side import Teacher
from ranklet.export.query_tables.learning import beginning, learned, single_tokens
from ranklet.export.query_tables.texts import random_texts, short_texts, words_of
from ranklet.runtime.sets import evenly
from ranklet.training.pretrained.backbone import wheel_folder

PACKAGES = ("onnxruntime", "sentence-transformers", "tokenizers", "torch", "transformers")
MEASURE, DEPTH = "nDCG@10", 100
COLLECTIONS = ("scifact", "qa-mix", "medquad", "google-wiki", "debian-packages", "debian-de-en")
DOCUMENTS, QUERIES = 2_500, 300  # of a collection; those that answer the queries are among them
RANDOM, SHORT = 6_000, 1_500  # learned texts: of random words, and of each collection
LAYERS = (0, 5)  # of MiniLM's six, with which the small network begins
EPOCHS, BATCH, RATE = 3, 64, 1e-4
SYSTEMS = ("network", "small network", "static")  # what encodes queries
CODE = ("corpus", "training", "export", "runtime/rankers")

Values = Mapping[str, NDArray[np.float64]]  # of each query, by system


def run(place: Place) -> str:
    """Learn both students, and compare the systems on the queries of each collection."""
    models = {"network": wheel_folder(), **_routers(place)}
    found, bundles = dict[str, Values](), dict[str, runtime.Bundle]()
    for name in COLLECTIONS:
        try:
            queries = _queries(place, name)
        except MissingDataError as missing:
            print(f"{name}: {missing}")
            continue
        bundles = {each: _bundle(place, name, each, models[each]) for each in SYSTEMS}
        found[name] = _values(bundles, queries)
        print(_quality({name: found[name]}), flush=True)
    texts = [each.text for name in found for each in _queries(place, name)][:200]
    return f"{_quality(found)}\n\n{_costs(bundles, texts)}\n\n{_said()}"


def _queries(place: Place, name: str) -> list[JudgedQuery]:
    split = "test" if name == "scifact" else "dev"
    queries = read_split(place.collection(name), split)
    return [queries[at] for at in evenly(len(queries), QUERIES)]


def _records(place: Place, name: str) -> list[dict[str, Any]]:
    """Return the documents that answer the queries, and others at even distances."""
    wanted = {answer for query in _queries(place, name) for answer in query.relevant}
    documents = list(place.collection(name).documents())
    others = {documents[at].id for at in evenly(len(documents), max(0, DOCUMENTS - len(wanted)))}
    return [each._asdict() for each in documents if each.id in wanted | others]


def _bundle(place: Place, name: str, system: str, model: Path) -> runtime.Bundle:
    """Return a collection's bundle with BM25 and a model, as `ranklet build` makes it."""

    def write(path: Path) -> None:
        source = Source(_records(place, name), SourceOptions(skip_bad=True))
        export = ExportOptions(variants=("int8",))
        build(source, path, models=[model], export=export, overwrite=True)

    kept = place.keep(f"{name}.{system.replace(' ', '-')}.router.ranklet", write, CODE)
    return runtime.load(kept)


def _model(bundle: runtime.Bundle) -> str:
    """Return the name of the ranker beside BM25."""
    return next(name for name in bundle.manifest.rankers if name != BM25)


def _values(
    bundles: Mapping[str, runtime.Bundle], queries: Sequence[JudgedQuery]
) -> dict[str, NDArray[np.float64]]:
    values = dict[str, NDArray[np.float64]]()
    for system, bundle in bundles.items():
        recipes = {system: _model(bundle), f"BM25 + {system}": SUM}
        if system == SYSTEMS[0]:
            recipes = {"BM25": BM25, **recipes}
        pipelines = {name: bundle.manifest.pipelines[own] for name, own in recipes.items()}
        for each in evaluate(bundle, queries, pipelines, measures=[MEASURE], depth=DEPTH):
            values[each.pipeline] = each.values[MEASURE]
    return values


def _quality(found: Mapping[str, Values]) -> str:
    names = [*next(iter(found.values()))]
    rows = [[each, *(f"{own[name].mean():.3f}" for name in names)] for each, own in found.items()]
    means = {name: np.mean([own[name].mean() for own in found.values()]) for name in names}
    rows.append(["mean", *(f"{means[name]:.3f}" for name in names)])
    share = {name: means[name] / means[name.replace(name.split("+ ")[-1], "network")]
             for name in names[1:]}  # fmt: skip
    rows.append(["share of the network's", "", *(f"{share[name]:.1%}" for name in names[1:])])
    return table([MEASURE, *names], rows)


def _costs(bundles: Mapping[str, runtime.Bundle], texts: Sequence[str]) -> str:
    """Return the bytes of each bundle's encoders and the processor's time of a query's vector."""
    took = take_turns(
        {name: bundle.encode_query for name, bundle in bundles.items()}, texts, 5,
        clock=process_time,
    )  # fmt: skip
    rows = []
    for name, bundle in bundles.items():
        own, files = f"rankers/{_model(bundle)}/", bundle.manifest.files
        size = sum(
            entry.bytes for file, entry in files.items()
            if file.startswith(own) and file.removeprefix(own) not in INDEXED
        )  # fmt: skip
        ms = float(np.median(took[name]))
        ratio = ms / float(np.median(took[SYSTEMS[0]]))
        rows.append([name, f"{size / 1e6:.1f}", f"{ms:.2f}", f"{ratio:.2f} ×"])
    return table(["queries by", "encoders in the bundle, MB", "ms per query", "of MiniLM's"], rows)


def _said() -> str:
    return f"""{QUERIES} queries and {DOCUMENTS} documents of each collection, those that answer a \
query among them; MiniLM is in 8 bits. The small network has layers {LAYERS[0]} and {LAYERS[1]} of \
MiniLM's six, and learned for {EPOCHS} epochs; the static embeddings are a query table (one vector \
per token). Both learned from MiniLM's vectors of {RANDOM:,} sequences of random words and at most \
{SHORT:,} titles, sentences and phrases of each collection's documents."""


def _routers(place: Place) -> dict[str, Path]:
    """Return the folders of both routers by what encodes their queries."""
    texts, vectors = _learned_texts(place)
    words = len(single_tokens(_minilm()[0].tokenizer.backend_tokenizer))
    small = place.keep(
        "small.router", lambda path: _save_small(path, texts[words:], vectors[words:]), CODE
    )
    static = place.keep("static.router", lambda path: _save_static(path, texts, vectors), CODE)
    return {"small network": small, "static": static}


def _learned_texts(place: Place) -> tuple[list[str], NDArray[np.float32]]:
    """Return texts, single tokens first, with MiniLM's vectors, (texts, dimension)."""
    model = _minilm()
    texts = [*single_tokens(model[0].tokenizer.backend_tokenizer).values()]
    texts += islice(random_texts(words_of(model[0].tokenizer.backend_tokenizer)), RANDOM)
    for name in COLLECTIONS:
        try:
            titled = ((each["title"], each["text"]) for each in _records(place, name))
        except MissingDataError:
            continue
        texts += short_texts(titled, SHORT)

    def encode(path: Path) -> None:
        np.save(path, model.encode(texts, batch_size=BATCH, normalize_embeddings=True))

    return texts, np.load(place.keep("router-texts.npy", encode, CODE, str(len(texts))))


def _minilm() -> Any:
    from sentence_transformers import SentenceTransformer

    return SentenceTransformer(str(wheel_folder()), device="cpu")


def _save(path: Path, queries: Sequence[Any]) -> None:
    """Save a router of some modules for queries, and MiniLM for documents."""
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.sentence_transformer.modules import Normalize, Router

    router = Router.for_query_document([*queries], [*_minilm()][:2])
    SentenceTransformer(modules=[router, Normalize()], device="cpu").save(str(path))


def _save_static(path: Path, texts: list[str], vectors: NDArray[np.float32]) -> None:
    from sentence_transformers.sentence_transformer.modules import StaticEmbedding

    tokenizer = _minilm()[0].tokenizer.backend_tokenizer
    tokenizer.no_truncation()
    tokenizer.no_padding()
    alone = [*single_tokens(tokenizer)]
    given = vectors.astype(np.float16)
    begin = beginning(alone, given[: len(alone)], tokenizer.get_vocab_size())
    teacher = Teacher(lambda _: vectors, tokenizer, vectors.shape[1], "")
    made = learned(teacher, texts[len(alone) :], given[len(alone) :], begin, monotonic())
    print(f"static: cosine {made.cosine:.3f}", flush=True)
    _save(path, [StaticEmbedding(tokenizer, embedding_weights=made.rows)])


def _save_small(path: Path, texts: list[str], vectors: NDArray[np.float32]) -> None:
    """Let a network of a few of MiniLM's layers learn its vectors, by their cosines."""
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = _minilm()
    network, tokenizer = model[0].model, model[0].tokenizer
    network.encoder.layer = nn.ModuleList(network.encoder.layer[at] for at in LAYERS)
    network.config.num_hidden_layers = len(LAYERS)
    wanted = torch.from_numpy(vectors.astype(np.float32))
    steps = EPOCHS * -(-len(texts) // BATCH)
    optimiser = torch.optim.AdamW(network.parameters(), RATE)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimiser, RATE, total_steps=steps)
    network.train()
    lengths = np.array([len(text) for text in texts])
    draw, losses = np.random.default_rng(0), list[float]()
    for _ in range(EPOCHS):
        order = np.argsort(lengths + draw.uniform(0, 8, len(texts)), kind="stable")
        batches = np.array_split(order, -(-len(order) // BATCH))
        for at in draw.permutation(len(batches)).tolist():
            rows = batches[at]
            inputs = tokenizer(
                [texts[row] for row in rows], padding=True, truncation=True, max_length=64,
                return_tensors="pt",
            )  # fmt: skip
            states, mask = network(**inputs).last_hidden_state, inputs["attention_mask"][..., None]
            made = (states * mask).sum(1) / mask.sum(1)
            loss = 1 - nn.functional.cosine_similarity(made, wanted[rows]).mean()
            optimiser.zero_grad()
            loss.backward()  # type: ignore[no-untyped-call]
            optimiser.step()
            schedule.step()
            losses.append(float(loss))
    print(f"small network: cosine {1 - np.mean(losses[-50:]):.3f} of {steps} steps", flush=True)
    network.eval()
    _save(path, [*model][:2])
