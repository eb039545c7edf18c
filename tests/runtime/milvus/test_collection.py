"""A collection in Milvus that hangs, is away for a while, or is replaced while it is searched."""

from collections.abc import Iterator
from pathlib import Path
from time import perf_counter
from urllib.parse import urlsplit

import pytest
from tests.runtime.milvus.forwarder import Forwarder, forwarder

from ranklet.runtime.bundle import Bundle
from ranklet.runtime.bundles.files import BundleFiles
from ranklet.runtime.ground.errors import RemoteError
from ranklet.runtime.milvus.search import MilvusSearch
from ranklet.workflows.build import build
from ranklet.workflows.feeds.publishing import publish

pytest.importorskip("milvus_lite")
pytest.importorskip("pymilvus")


@pytest.fixture
def between(books: Path, place: str) -> Iterator[Forwarder]:
    from milvus_lite.server_manager import server_manager_instance

    assert books.exists()
    address = server_manager_instance.start_and_get_uri(place)
    with forwarder(urlsplit(str(address)).port or 0) as made:
        yield made


def test_a_search_that_hangs_ends_with_the_budget(books: Path, between: Forwarder) -> None:
    with Bundle.over(
        MilvusSearch(BundleFiles(books), f"milvus://{between.address}/books", seconds=60)
    ) as bundle:
        found = bundle.rank("bread water", k=3).hits
        between.hang()
        begin = perf_counter()
        with pytest.raises(RemoteError, match=r"Milvus at 'http://127\.0\.0\.1:"):
            bundle.rank("bread water", k=3, budget_ms=100)
        assert perf_counter() - begin < 60
        between.work()
        assert bundle.rank("bread water", k=3).hits == found


@pytest.mark.slow
def test_a_search_during_a_replacement_finds_the_new_collection(place: str, tmp_path: Path) -> None:
    old = Path(build([{"id": "1", "text": "bread", "year": 1}], tmp_path / "old.ranklet"))
    new = Path(build([{"id": "2", "text": "bread", "year": 2}], tmp_path / "new.ranklet"))
    publish(old, place, index="swapped")
    with Bundle(old, collection=f"{place}#swapped") as bundle:
        hidden = bundle.only({"year": 1})
        assert [hit.id for hit in bundle.rank("bread")] == ["1"]
        publish(new, place, index="swapped", overwrite=True)
        assert [hit.id for hit in bundle.rank("bread")] == ["2"]  # the old one is gone
        assert [hit.id for hit in hidden.rank("bread")] == []
        assert len(bundle) == 1


@pytest.mark.slow
def test_a_restriction_that_may_mean_something_else_is_not_applied(
    place: str, tmp_path: Path
) -> None:
    old = Path(build([{"id": "1", "text": "bread", "tenant": "a"}], tmp_path / "old.ranklet"))
    new = Path(build([{"id": "2", "text": "bread", "tenant": 1}], tmp_path / "new.ranklet"))
    publish(old, place, index="fields")
    with Bundle(old, collection=f"{place}#fields") as bundle:
        hidden = bundle.only({"not": {"tenant": "b"}})
        assert len(hidden.rank("bread")) == 1
        publish(new, place, index="fields", overwrite=True)
        with pytest.raises(RemoteError, match="other fields of the metadata"):
            hidden.rank("bread")
        assert [hit.id for hit in bundle.rank("bread")] == ["2"]
