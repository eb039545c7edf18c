"""Fixtures: two tiny collections and the bundles made of them, once per run."""

import ctypes
import gc
import json
import os
import signal
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import settings
from tests.fusing import fused
from tests.kinds import TinyData, TinyRankers
from tests.metadata_rows import rows
from tests.once import once
from tests.word_pieces import train_tokenizer

from ranklet.corpus.collections import probes
from ranklet.corpus.collections.collection import Collection, Document, Query, write_collection
from ranklet.corpus.collections.splits import read_split
from ranklet.corpus.index import index_bundle
from ranklet.corpus.indexing.analysed import AnalysedCollection, analyse
from ranklet.export.bundles import export_bundle
from ranklet.runtime.bundle import Bundle
from ranklet.runtime.kinds import KINDS
from ranklet.runtime.text.words import words
from ranklet.training.checkpoint import Checkpoint
from ranklet.training.rankers.bm25.options import Options as BM25Options
from ranklet.training.rankers.bm25.training import train as train_bm25
from ranklet.training.rankers.model1.options import Options as Model1Options
from ranklet.training.rankers.model1.training import train as train_model1
from ranklet.workflows.build import build

if TYPE_CHECKING:
    from tokenizers import Tokenizer
    from transformers import PreTrainedModel

    from ranklet.training.pretrained.backbone import Backbone

DATA = Path(__file__).parent / "data"

# One thread, here and in the processes that tests start: on tiny models two mostly wait for each
# other, and another number of them adds up in another order, so other last bits. This is set before
# torch is imported, by the tests that need it, and imports nothing for the others.
os.environ |= {"OMP_NUM_THREADS": "1", "RANKLET_THREADS": "1"}
# Nothing is kept in the user's own cache, nor found there.
_cache = tempfile.TemporaryDirectory(prefix="ranklet-tests-")
os.environ["RANKLET_CACHE"] = _cache.name
# Connections to Milvus Lite that idle report pings on the standard error, which other tests read.
os.environ["GRPC_VERBOSITY"] = "NONE"
# The proof of a tiny ranker on as many texts as a real one needs takes longer than all else that a
# test does. What completes them is tested in tests/training/data and tests/export/proof.
probes.LEAST_QUERIES, probes.LEAST_DOCUMENTS = 6, 16
FIELDS = ("lemmas", "words", "wordpieces")
RANKERS = ("bm25", "bm25_words", "bm25_pieces", "model1", "model1_pieces")

# A machine that does something else, too, is no fault of an example.
settings.register_profile("unhurried", deadline=None)
settings.register_profile("quick", deadline=None, max_examples=12)  # of `make quick`
settings.register_profile("fuzz", deadline=None, max_examples=3000)  # of `make fuzz`
settings.load_profile("unhurried")


class SignalStack(ctypes.Structure):
    """The C type stack_t: where a thread's handlers of signals run."""

    _fields_ = (
        ("pointer", ctypes.c_void_p), ("flags", ctypes.c_int), ("size", ctypes.c_size_t),
    )  # fmt: skip


SS_DISABLE = 2  # the flag of a stack_t that handlers run on the ordinary stack


@pytest.fixture
def ctrl_c() -> Iterator[None]:
    """Let Ctrl-C be Python's to handle: shells have what they start in the background ignore it.

    The handler runs on the thread's ordinary stack. After OpenVINO has run in this process, as an
    earlier test may have let it, a signal on the alternate stack ends the process by SIGSEGV.
    """
    libc, alternate = ctypes.CDLL(None), SignalStack()
    libc.sigaltstack(ctypes.byref(SignalStack(flags=SS_DISABLE)), ctypes.byref(alternate))
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)
    libc.sigaltstack(ctypes.byref(alternate), None)


MANY_MODULES = 50
frozen: set[str] = set()  # names of modules that are out of the collector's sight


@pytest.hookimpl(trylast=True)
def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--kind", help="run only tests that hold for this kind of ranker")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out all tests but those with the kind among their parameters or in their path."""
    if not (kind := config.getoption("--kind")):
        return
    if kind not in KINDS:
        raise pytest.UsageError(f"--kind {kind}: the kinds are {', '.join(KINDS)}")
    chosen = [each for each in items if _is_of_kind(each, kind)]
    config.hook.pytest_deselected(items=[each for each in items if each not in set(chosen)])
    items[:] = chosen


def _is_of_kind(item: pytest.Item, kind: str) -> bool:
    found = {item.path.stem.removeprefix("test_"), *item.path.parent.parts}
    if call := getattr(item, "callspec", None):
        found |= {each for each in call.params.values() if isinstance(each, str)}
        found |= set(call.id.split("-"))
    return kind in found


def pytest_runtest_teardown() -> None:
    """Keep what was imported out of later garbage collections: it stays until the end.

    Each export collects several times, and would look at all of transformers each time.
    """
    if len(sys.modules.keys() - frozen) > MANY_MODULES:
        frozen.update(sys.modules)
        gc.collect()
        gc.freeze()


@dataclass(frozen=True)
class Built:
    """What the whole way from a collection to a bundle left on disk."""

    collection: Collection  # 42 documents; splits train and test
    checkpoints: dict[str, Path]  # by ranker name; bm25 is over lemmas
    tokenizer: Path
    exported: Path  # without a collection
    indexed: Path
    fused: Path  # indexed, with the pipeline "linear" as its default
    zipped: Path  # the same as `fused`, as a .zip


@pytest.fixture(scope="session")
def collection(tmp_path_factory: pytest.TempPathFactory) -> Collection:
    """Return 42 documents on household matters: one is empty, one has no title, one accents."""
    lines = (DATA / "household.jsonl").read_text("utf-8").splitlines()
    records = [json.loads(line) for line in lines]
    splits = {}
    for split in ("train", "test"):
        judged = [record for record in records if record[split]]
        queries = [Query(f"{split}-{record['id']}", record[split]) for record in judged]
        splits[split] = (queries, {f"{split}-{each['id']}": {each["id"]: 1} for each in judged})
    documents = [Document(each["id"], each["title"], each["text"]) for each in records]
    return write_collection(tmp_path_factory.mktemp("data") / "household", documents, splits)


@pytest.fixture(scope="session")
def tokenizer_file(collection: Collection, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a word-piece tokenizer that was trained on the collection."""
    path = tmp_path_factory.mktemp("tokenizer") / "tokenizer.json"
    texts = (f"{each.title}\n{each.text}" for each in collection.documents())
    train_tokenizer(texts, 400).save(str(path))
    return path


@pytest.fixture(scope="session")
def analysed(collection: Collection, tokenizer_file: Path) -> AnalysedCollection:
    """Return the collection analysed in all fields."""
    from ranklet.corpus.indexing.wordpieces import read_tokenizer

    return analyse(collection.documents(), FIELDS, tokenizer=read_tokenizer(tokenizer_file))


@pytest.fixture(scope="session")
def checkpoints(collection: Collection, tokenizer_file: Path) -> dict[str, Checkpoint]:
    """Return trained rankers by name."""
    queries = read_split(collection, "train")
    fields = {"bm25": "lemmas", "bm25_words": "words", "bm25_pieces": "wordpieces"}
    grid = BM25Options(k1_grid=(0.6, 1.2), b_grid=(0.3, 0.75))
    found = {
        name: train_bm25(collection, queries, [], replace(grid, field=field, tokenizer=tokenizer))
        for name, field in fields.items()
        for tokenizer in [tokenizer_file if field == "wordpieces" else None]
    }
    settings = found["bm25"].settings
    for name, field in (("model1", "words"), ("model1_pieces", "wordpieces")):
        options = Model1Options(field=field, bm25=settings, tokenizer=tokenizer_file)
        found[name] = train_model1(collection, queries[:30], queries[30:], options)
    return found


@pytest.fixture(scope="session")
def shared_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder that all processes of a test run share."""
    folder = tmp_path_factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        folder = folder.parent  # that of the whole run
    (folder / "shared").mkdir(exist_ok=True)
    return folder / "shared"


@pytest.fixture(scope="session")
def built(
    collection: Collection,
    tokenizer_file: Path,
    shared_folder: Path,
    request: pytest.FixtureRequest,
) -> Built:
    """Return the bundles that all of it ends in."""

    def build(folder: Path) -> None:
        checkpoints: dict[str, Checkpoint] = request.getfixturevalue("checkpoints")
        for name, each in checkpoints.items():
            each.save(folder / "checkpoints" / name)
        exported = Path(export_bundle(checkpoints, folder / "exported.ranklet"))
        indexed = Path(index_bundle(exported, collection, folder / "indexed.ranklet"))
        queries = read_split(collection, "train")
        rankers = ("bm25", "model1", "model1_pieces")
        for target in ("fused.ranklet", "fused.zip"):
            fused(indexed, folder / target, queries, rankers)

    folder = once(shared_folder / "bundles", build)
    return Built(
        collection,
        {name: folder / "checkpoints" / name for name in RANKERS},
        tokenizer_file,
        folder / "exported.ranklet",
        folder / "indexed.ranklet",
        folder / "fused.ranklet",
        folder / "fused.zip",
    )


@pytest.fixture(scope="session")
def bundle(built: Built) -> Bundle:
    """Return the fused bundle, loaded; immutable, so all tests may share it."""
    return Bundle(built.fused, check="full")


# Things and the words that queries use for them, which is what Model 1 must learn.
SYNONYMS = {
    "apple": "fruit", "river": "stream", "engine": "motor", "violin": "fiddle",
    "castle": "fortress", "garden": "yard", "planet": "world", "winter": "cold",
}  # fmt: skip
QUALITIES = ("red", "old", "small", "bright", "quiet", "heavy")


@pytest.fixture(scope="session")
def tiny_documents() -> list[Document]:
    return [
        Document(f"{thing}-{quality}", thing, f"the {quality} {thing} is {quality} " + "here " * at)
        for thing in SYNONYMS
        for at, quality in enumerate(QUALITIES)
    ]


@pytest.fixture(scope="session")
def tiny_collection(
    tmp_path_factory: pytest.TempPathFactory, tiny_documents: list[Document]
) -> Collection:
    """Queries name a quality and a thing by its other name; two qualities are kept for dev."""
    splits = {}
    for split, qualities in (("train", QUALITIES[:4]), ("dev", QUALITIES[4:])):
        queries = [
            Query(f"q-{thing}-{quality}", f"{quality} {other}")
            for thing, other in SYNONYMS.items()
            for quality in qualities
        ]
        qrels = {query.id: {query.id.removeprefix("q-"): 1} for query in queries}
        splits[split] = (queries, qrels)
    folder = tmp_path_factory.mktemp("tiny") / "collection"
    return write_collection(folder, tiny_documents, splits)


@pytest.fixture(scope="session")
def tiny_tokenizer(tiny_documents: list[Document]) -> "Tokenizer":
    """Word pieces of the collection and its queries, [CLS] and [SEP] around a text."""
    from tokenizers import processors

    texts = [f"{each.title} {each.text}" for each in tiny_documents]
    texts += [f"{quality} {other}" for quality in QUALITIES for other in SYNONYMS.values()]
    made = train_tokenizer(iter(texts), 300)
    ends = [(token, made.token_to_id(token)) for token in ("[CLS]", "[SEP]")]
    made.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", pair="[CLS] $A [SEP] $B:1 [SEP]:1", special_tokens=ends
    )
    return made


@pytest.fixture(scope="session")
def tiny_analysed(tiny_collection: Collection, tiny_tokenizer: "Tokenizer") -> AnalysedCollection:
    """The collection in all fields, with the words of its queries, which no document has."""
    queries = [query for split in ("train", "dev") for query in tiny_collection.queries(split)]
    of_queries = {word for query in queries for word in words(query.text)}
    return analyse(
        tiny_collection.documents(), FIELDS, tokenizer=tiny_tokenizer, known_words=of_queries
    )


def saved(model: "PreTrainedModel", tokenizer: "Tokenizer", folder: Path) -> Path:
    """Write a model and its tokenizer in Hugging Face's form; returns the folder."""
    model.save_pretrained(folder)
    tokenizer.save(str(folder / "tokenizer.json"))
    return folder


@pytest.fixture(scope="session")
def tiny_bert(tmp_path_factory: pytest.TempPathFactory, tiny_tokenizer: "Tokenizer") -> Path:
    """A BERT of 2 layers and 32 dimensions with random weights, in Hugging Face's form."""
    from transformers import BertConfig, BertModel

    from ranklet.training.learning.device import seeded

    config = BertConfig(
        vocab_size=tiny_tokenizer.get_vocab_size(),
        hidden_size=32,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=64,
        max_position_embeddings=64,
    )
    with seeded(0):
        model = BertModel(config)
    return saved(model, tiny_tokenizer, tmp_path_factory.mktemp("bert") / "tiny-bert")


@pytest.fixture(scope="session")
def tiny_electra(tmp_path_factory: pytest.TempPathFactory, tiny_tokenizer: "Tokenizer") -> Path:
    """An ELECTRA of the same size, its embeddings of 16 dimensions."""
    from transformers import ElectraConfig, ElectraModel

    from ranklet.training.learning.device import seeded

    config = ElectraConfig(
        vocab_size=tiny_tokenizer.get_vocab_size(),
        embedding_size=16,
        hidden_size=32,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=64,
        max_position_embeddings=64,
    )
    with seeded(0):
        model = ElectraModel(config)
    return saved(model, tiny_tokenizer, tmp_path_factory.mktemp("electra") / "tiny-electra")


@pytest.fixture
def tiny_backbone(tiny_bert: Path) -> "Backbone":
    """The same, loaded; training changes it."""
    from ranklet.training.pretrained.backbone import load_backbone

    return load_backbone(tiny_bert)


@pytest.fixture(scope="session")
def tiny(
    tiny_collection: Collection,
    tiny_analysed: AnalysedCollection,
    tiny_bert: Path,
    shared_folder: Path,
) -> TinyRankers:
    """A tiny ranker of every kind, and its bundles."""
    return TinyRankers(TinyData(tiny_collection, tiny_bert), shared_folder)


@pytest.fixture(scope="session")
def tiny_bundle(tiny: TinyRankers) -> Callable[[str], Bundle]:
    """Return a loaded bundle of a kind, which has a BM25, too, and the tiny collection."""
    return tiny.bundle


@pytest.fixture
def epic_checkpoints(tiny: TinyRankers) -> dict[str, Checkpoint]:
    return tiny.checkpoints("epic")


@pytest.fixture
def exported_epic(tiny: TinyRankers) -> Path:
    return tiny.exported("epic")


@pytest.fixture
def epic_bundle(tiny: TinyRankers) -> Bundle:
    return tiny.bundle("epic")


@pytest.fixture
def cross_path(tiny: TinyRankers) -> Path:
    return tiny.indexed("cross_encoder")


@pytest.fixture
def cross_bundle(tiny: TinyRankers) -> Bundle:
    return tiny.bundle("cross_encoder")


@dataclass(frozen=True)
class Described:
    """A bundle of documents with metadata of every type, and these documents."""

    rows: list[dict[str, Any]]
    path: Path
    bundle: Bundle


@pytest.fixture(scope="session")
def described(tmp_path_factory: pytest.TempPathFactory) -> Described:
    made = rows(Random(7), 48)
    path = Path(build(made, tmp_path_factory.mktemp("described") / "rows.ranklet"))
    return Described(made, path, Bundle(path))
