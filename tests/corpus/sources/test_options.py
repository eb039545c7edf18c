from typing import Any

import pytest

from ranklet.corpus.sources.options import SourceOptions
from ranklet.runtime.ground.errors import InputError


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"format": "xml"}, "format"),
        ({"encoding": "utf-9"}, "unknown encoding 'utf-9'; give one that Python knows"),
        ({"encoding": "a\0"}, "unknown encoding"),
        ({"passage_words": -1}, "passage_words"),
        ({"passage_words": 50}, "which is 50; pass --overlap-words 25"),
    ],
)
def test_options_that_cannot_be_used_are_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        SourceOptions(**options)


def test_without_passages_the_overlap_has_no_effect() -> None:
    assert SourceOptions(passage_words=0).overlap_words == 30
    assert SourceOptions(passage_words=0).splitting == (0, 0)
