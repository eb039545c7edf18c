"""What the tests of neural training share: a tiny collection, tokenizer and BERT."""

from pathlib import Path

import torch
from tokenizers import Tokenizer, processors

from ranklet.training.backbone import Backbone, load_backbone
from ranklet.training.collection import Collection, Document, Query, write_collection
from ranklet.training.device import seeded
from ranklet.training.indexing import AnalysedCollection, analyse
from ranklet.training.splits import JudgedQuery, read_split
from ranklet.training.wordpieces import train_tokenizer

THINGS = ("apple", "river", "engine", "violin", "castle", "garden", "planet", "winter")
# What people ask for in words that documents do not use: just what Model 1 is to learn.
ASKED = {
    "apple": "fruit", "river": "stream", "engine": "motor", "violin": "fiddle",
    "castle": "fortress", "garden": "yard", "planet": "world", "winter": "cold",
}  # fmt: skip
QUALITIES = ("red", "old", "small", "bright", "quiet", "heavy")


def documents() -> list[Document]:
    """A document for each thing and quality."""
    return [
        Document(f"{thing}-{quality}", thing, f"the {quality} {thing} is {quality} here")
        for thing in THINGS
        for quality in QUALITIES
    ]


def collection(folder: Path) -> Collection:
    """Queries ask for a quality and a thing by its other name; the last of each are dev."""
    splits = {}
    for split, qualities in (("train", QUALITIES[:4]), ("dev", QUALITIES[4:])):
        queries = [
            Query(f"q-{thing}-{quality}", f"{quality} {ASKED[thing]}")
            for thing in THINGS
            for quality in qualities
        ]
        qrels = {query.id: {query.id.removeprefix("q-"): 1} for query in queries}
        splits[split] = (queries, qrels)
    return write_collection(folder / "collection", documents(), splits)


def tokenizer() -> Tokenizer:
    """Word pieces of the collection, [CLS] and [SEP] around a text."""
    asked = [f"{quality} {other}" for quality in QUALITIES for other in ASKED.values()]
    texts = [*(f"{each.title} {each.text}" for each in documents()), *asked]
    made = train_tokenizer(iter(texts), 300)
    ends = [(token, made.token_to_id(token)) for token in ("[CLS]", "[SEP]")]
    made.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", pair="[CLS] $A [SEP] $B:1 [SEP]:1", special_tokens=ends
    )
    return made


def bert(folder: Path) -> Path:
    """A BERT of 2 layers and 32 dimensions with random weights, in Hugging Face's form."""
    from transformers import BertConfig, BertModel

    made = tokenizer()
    config = BertConfig(
        vocab_size=made.get_vocab_size(),
        hidden_size=32,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=64,
        max_position_embeddings=64,
    )
    with seeded(0):
        model = BertModel(config)
    place = folder / "tiny-bert"
    model.save_pretrained(place)
    made.save(str(place / "tokenizer.json"))
    return place


def backbone(folder: Path) -> Backbone:
    """The same, loaded."""
    return load_backbone(bert(folder))


def analysed(found: Collection) -> AnalysedCollection:
    """The collection as neural Model 1 wants it."""
    return analyse(found.documents(), ["lemmas", "wordpieces"], tokenizer=tokenizer())


def split(found: Collection, name: str) -> list[JudgedQuery]:
    """Judged queries."""
    return read_split(found, name)


def same(one: torch.nn.Module, other: torch.nn.Module) -> bool:
    """Whether two models have the same weights, to the bit."""
    mine, theirs = one.state_dict(), other.state_dict()
    return mine.keys() == theirs.keys() and all(torch.equal(mine[n], theirs[n]) for n in mine)
