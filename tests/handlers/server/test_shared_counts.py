from pathlib import Path

from ranklet.handlers.server.shared_counts import SharedCounts


def test_each_process_adds_to_its_row_and_all_are_read(tmp_path: Path) -> None:
    SharedCounts.make(4, tmp_path, 2)
    first, second = (SharedCounts(4, tmp_path, row, 2) for row in range(2))
    for counts in (first, second):
        counts.add(("open", "0"), 1)
    second.add(("line\nbreak", "é"), 0.5)
    second.add(("open", "0"), 2)
    assert first.of_all(("open", "0")) == [1, 3]
    assert second.get(("open", "0")) == 3
    assert first.by_name() == [{("open", "0"): 1}, {("open", "0"): 3, ("line\nbreak", "é"): 0.5}]


def test_a_successor_goes_on_even_after_a_name_that_was_cut(tmp_path: Path) -> None:
    SharedCounts.make(4, tmp_path, 1)
    SharedCounts(4, tmp_path, 0, 1).add(("a",), 1)
    with (tmp_path / "0.names").open("a") as file:
        file.write('["b')
    successor = SharedCounts(4, tmp_path, 0, 1)
    successor.add(("c",), 2)
    assert successor.by_name() == [{("a",): 1, ("c",): 2}]


def test_a_process_alone_needs_no_folder() -> None:
    counts = SharedCounts()
    counts.set(("a",), 3)
    assert counts.by_name() == [{("a",): 3}]
    assert counts.of_all(("a",)) == [3]
    assert list(counts.names) == [("a",)]
