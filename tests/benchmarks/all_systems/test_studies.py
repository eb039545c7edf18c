"""What is searched holds whatever is relevant to a query of either kind."""

import shutil
from pathlib import Path

from benchmarks.all_systems.studies import Study, searched
from benchmarks.harness.place import Place

from ranklet.corpus.collections.collection import Collection


def test_a_reduced_collection_has_all_relevant_documents(
    tiny_collection: Collection, tmp_path: Path
) -> None:
    shutil.copytree(tiny_collection.path, tmp_path / "data" / "tiny")
    study = Study("tiny", held_out="train[50%:]", passages=14, queries=4, choosing=5)
    found = searched(Place(tmp_path / "data", tmp_path / "work"), "small", study)
    ids = [each.id for each in found.documents()]
    needed = {id_ for query in (*found.queries, *found.held_out) for id_ in query.relevant}
    assert needed <= set(ids)
    assert len(ids) == 14 < len(list(tiny_collection.documents()))
    assert (len(found.queries), len(found.held_out), found.name) == (4, 5, "small")
    assert not {each.id for each in found.queries} & {each.id for each in found.held_out}
