"""One Milvus Lite for a module, and connections that end with their test."""

from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

import pytest
from tests.metadata_rows import rows

from ranklet.workflows.build import build
from ranklet.workflows.feeds.publishing import publish


@pytest.fixture(autouse=True)
def closed(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """End every connection that a test makes."""
    pymilvus = pytest.importorskip("pymilvus")
    made = []

    def noted(*arguments: Any, **options: Any) -> Any:
        made.append(client(*arguments, **options))
        return made[-1]

    client = pymilvus.MilvusClient
    monkeypatch.setattr(pymilvus, "MilvusClient", noted)
    yield
    for each in made:
        each.close()


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The file of a Milvus Lite that all tests of a module share."""
    pytest.importorskip("milvus_lite")
    return str(tmp_path_factory.mktemp("milvus") / "m.db")


@pytest.fixture(scope="module")
def documents() -> list[dict[str, Any]]:
    """Documents with metadata."""
    return rows(Random(7), 60)


@pytest.fixture(scope="module")
def books(
    documents: list[dict[str, Any]], place: str, tmp_path_factory: pytest.TempPathFactory
) -> Path:
    """A bundle of these documents, which is also the collection ``books`` in Milvus."""
    path = Path(build(documents, tmp_path_factory.mktemp("books") / "books.ranklet"))
    publish(path, place)
    return path
