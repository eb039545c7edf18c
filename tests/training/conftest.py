"""What the tests of neural training share: a tiny collection, its word pieces, a tiny BERT."""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from ranklet.training.backbone import Backbone, load_backbone
from ranklet.training.collection import Collection, Document, Query, write_collection
from ranklet.training.indexing import AnalysedCollection, analyse
from ranklet.training.wordpieces import train_tokenizer

if TYPE_CHECKING:
    from tokenizers import Tokenizer

# Things, and the word that people ask for them by: just what Model 1 is to learn.
ASKED = {
    "apple": "fruit", "river": "stream", "engine": "motor", "violin": "fiddle",
    "castle": "fortress", "garden": "yard", "planet": "world", "winter": "cold",
}  # fmt: skip
QUALITIES = ("red", "old", "small", "bright", "quiet", "heavy")


@pytest.fixture(scope="session", autouse=True)
def _one_thread() -> Iterator[None]:
    """One thread: another number of them adds up in another order, so other last bits."""
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture(scope="session")
def tiny_documents() -> list[Document]:
    return [
        Document(f"{thing}-{quality}", thing, f"the {quality} {thing} is {quality} " + "here " * at)
        for thing in ASKED
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
            for thing, other in ASKED.items()
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
    texts += [f"{quality} {other}" for quality in QUALITIES for other in ASKED.values()]
    made = train_tokenizer(iter(texts), 300)
    ends = [(token, made.token_to_id(token)) for token in ("[CLS]", "[SEP]")]
    made.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", pair="[CLS] $A [SEP] $B:1 [SEP]:1", special_tokens=ends
    )
    return made


@pytest.fixture(scope="session")
def tiny_analysed(tiny_collection: Collection, tiny_tokenizer: "Tokenizer") -> AnalysedCollection:
    """The collection as neural Model 1 wants it."""
    return analyse(tiny_collection.documents(), ["lemmas", "wordpieces"], tokenizer=tiny_tokenizer)


@pytest.fixture(scope="session")
def tiny_bert(tmp_path_factory: pytest.TempPathFactory, tiny_tokenizer: "Tokenizer") -> Path:
    """A BERT of 2 layers and 32 dimensions with random weights, in Hugging Face's form."""
    from transformers import BertConfig, BertModel

    from ranklet.training.device import seeded

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
    folder = tmp_path_factory.mktemp("bert") / "tiny-bert"
    model.save_pretrained(folder)
    tiny_tokenizer.save(str(folder / "tokenizer.json"))
    return folder


@pytest.fixture
def tiny_backbone(tiny_bert: Path) -> Backbone:
    """The same, loaded; training changes it."""
    return load_backbone(tiny_bert)
