"""What a publication does with what a killed one has left; tests/runtime/milvus has the rest."""

from unittest.mock import Mock

import pytest

from ranklet.workflows.feeds.publishing import _warn_of_leftovers


def test_collections_that_a_killed_run_has_left_are_named(
    capsys: pytest.CaptureFixture[str],
) -> None:
    names = ["books_0a1b2c3d", "books_00000000", "books_old", "other_0a1b2c3d"]
    client = Mock(list_collections=lambda: names)
    _warn_of_leftovers(client, "books", "books_00000000")
    assert "Milvus has books_0a1b2c3d, which" in capsys.readouterr().err
    _warn_of_leftovers(client, "shelf", "")
    assert capsys.readouterr().err == ""
