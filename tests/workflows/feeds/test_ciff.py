"""A CIFF file says how often each document has each lemma, as readers of the format see it."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tests.commands.running import Capture, fails, succeeds

from ranklet import build

TEXTS = ["knead the dough", "doughs and dough", "windows", "x " * 130]


def messages(content: bytes) -> Iterator[bytes]:
    """Yield messages, each after its length."""
    while content:
        length, content = number(content)
        yield content[:length]
        content = content[length:]


def number(content: bytes) -> tuple[int, bytes]:
    """Read a number in groups of seven bits; return it and the rest."""
    end = next(at for at, byte in enumerate(content) if byte < 128)
    return sum((byte & 127) << 7 * at for at, byte in enumerate(content[: end + 1])), content[
        end + 1 :
    ]


def fields(content: bytes) -> list[tuple[int, Any]]:
    """Return the numbers and the contents of a message's fields."""
    found: list[tuple[int, Any]] = []
    while content:
        key, content = number(content)
        if key & 7 == 0:
            value, content = number(content)
            found.append((key >> 3, value))
            continue
        length, content = (8, content) if key & 7 == 1 else number(content)
        found.append((key >> 3, content[:length]))
        content = content[length:]
    return found


def test_every_count_is_read_back(tmp_path: Path, capsys: Capture) -> None:
    records = [{"id": f"d{at}", "text": text} for at, text in enumerate(TEXTS)]
    bundle = str(build(records, tmp_path / "b").path)
    out = tmp_path / "index.ciff"
    assert "4 documents" in succeeds(capsys, "feed", bundle, "-o", str(out))
    header, *others = messages(out.read_bytes())
    counts = dict(fields(header))
    assert [counts[at] for at in (1, 3, 5, 6)] == [1, 4, 4, 135]
    terms, documents = others[: counts[2]], others[counts[2] :]
    found = {}
    for each in terms:
        (_, term), (_, df), (_, cf), *postings = fields(each)
        gaps = [dict(fields(own)) for _, own in postings]
        assert len(gaps) == df
        assert sum(gap[2] for gap in gaps) == cf
        found[term] = [(gap[1], gap[2]) for gap in gaps]
    assert found == {
        b"dough": [(0, 1), (1, 2)], b"knead": [(0, 1)], b"window": [(2, 1)], b"x": [(3, 130)],
    }  # fmt: skip
    assert [*found] == sorted(found)
    assert [[value for _, value in fields(each)] for each in documents] == [
        [0, b"d0", 2], [1, b"d1", 2], [2, b"d2", 1], [3, b"d3", 130],
    ]  # fmt: skip
    assert "exists" in fails(capsys, "feed", bundle, "-o", str(out))
    assert "leave out --ranker" in fails(
        capsys, "feed", bundle, "-o", str(out), "--ranker", "bm25", "--force"
    )
