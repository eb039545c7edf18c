"""Read JSON in which no object has a key twice, because one of the two values would be lost."""

import json
from collections import Counter
from typing import Any


def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return the object that pairs are, as an ``object_pairs_hook``.

    Raises:
        ValueError: a key stands twice.
    """
    content = dict(pairs)
    if len(content) != len(pairs):
        # `list.count` of each key would take hours for a request of 4 MB.
        ((twice, _),) = Counter(name for name, _ in pairs).most_common(1)
        raise ValueError(f"the key {twice[:40]!r} stands twice in an object; give it once")
    return content


DECODER = json.JSONDecoder(object_pairs_hook=unique)
