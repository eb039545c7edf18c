import numpy as np

from ranklet.corpus.indexing.translation_tables import Translations, as_table, background
from ranklet.runtime.lexical.model1 import UNSEEN


def test_as_table_gives_rows_by_query_token() -> None:
    translations = Translations(
        np.array([1, 2, 0], np.int32), np.array([0, 0, 3], np.int32), np.array([0.5, 0.25, 1.0])
    )
    table = as_table(translations, 5)
    assert table.offsets.tolist() == [0, 2, 2, 2, 3, 3]
    assert [each.tolist() for each in table.row(0)] == [[1, 2], [0.5, 0.25]]
    assert [each.tolist() for each in table.row(3)] == [[0], [1.0]]
    table.verify("a table")


def test_the_background_is_the_share_of_each_token() -> None:
    found = background(np.array([3, 0, 1]))
    np.testing.assert_allclose(found, [0.75, UNSEEN, 0.25])
    assert found.dtype == np.float32
    np.testing.assert_allclose(background(np.array([0, 0])), UNSEEN)
