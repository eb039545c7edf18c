"""Parts are joined by places, and the passages of a document stay together."""

import numpy as np

from ranklet.corpus.collections.collection import Document
from ranklet.corpus.indexing.parts import Part, join


def test_new_documents_stand_in_their_places() -> None:
    ids = ["a", "a", "gone", "b", "c", "c"]
    new = [Document(id_, "", f"text {at}", {"of": id_}) for at, id_ in enumerate(ids)]
    part = Part(np.array([7, 7, -1, 0, 9, 9]), new=new)
    contents, origins = join([Part(np.empty(0, np.int64)), part])
    assert list(contents.texts) == ["text 3", "text 0", "text 1", "text 4", "text 5"]
    assert contents.first.tolist() == [0, 1, 1, 3, 3]
    assert [each["of"] for each in contents.metadata] == ["b", "a", "c"]
    assert origins.new.tolist() == [0, 1, 2, 3, 4]
    assert list(join([part.in_order()]).contents.ids) == ["a", "a", "b", "c", "c"]
