from collections.abc import Mapping
from typing import Any

import pytest

from ranklet.corpus.collections.collection import Document
from ranklet.corpus.distributed import shards
from ranklet.corpus.distributed.shards import Shard, Shards, cut
from ranklet.corpus.sources.options import SourceOptions
from ranklet.corpus.sources.source import Source
from ranklet.runtime.bundles.manifest import Splitting
from ranklet.runtime.ground.errors import CollectionError


def documents(count: int, text: str = "x") -> list[Document]:
    return [Document(str(at), "", text) for at in range(count)]


def sizes(given: list[Document]) -> list[int]:
    return [len(each.documents) for each in cut(given)]


def test_shards_are_bounded_by_documents_and_by_characters(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shards, "MOST_DOCUMENTS", 3)
    assert sizes(documents(7)) == [3, 3, 1]
    assert sizes(documents(6)) == [3, 3]
    assert sizes([]) == []
    monkeypatch.setattr(shards, "MOST_CHARACTERS", 10)
    assert sizes(documents(5, "six letters")) == [1, 1, 1, 1, 1]


def test_passages_of_a_document_stay_together(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shards, "MOST_DOCUMENTS", 2)
    given = [Document(name, "", str(at)) for at, name in enumerate("aabbbc")]
    assert [[each.id for each in shard.documents] for shard in cut(given)] == [
        ["a", "a"], ["b", "b", "b"], ["c"]
    ]  # fmt: skip


def test_every_character_survives() -> None:
    shard = Shard([Document("é\0", '"\n', "\U0001f600 \ud800")], Splitting(6, 2))
    assert Shard.from_json(shard.to_json()) == shard
    assert shard.to_json().isascii()


def test_a_source_is_split_where_its_shards_are_indexed() -> None:
    options = SourceOptions(passage_words=6, overlap_words=2)
    records: list[Mapping[str, Any]] = [
        {"text": "One two three. Four five six. Seven eight.", "year": 1},
        {"text": "Nine."},
    ]
    given = Shards(Source(records, options))
    assert len(given) == 1
    assert list(given.listed()) == [
        each._replace(metadata={}) for each in Source(records, options).documents()
    ]
    with pytest.raises(CollectionError, match="has no document"):
        Shards(Source([]))
