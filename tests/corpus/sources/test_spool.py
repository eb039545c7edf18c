"""What can be read only once comes back as it was."""

from datetime import UTC, date, datetime
from decimal import Decimal

from ranklet.corpus.collections.opening import Position
from ranklet.corpus.sources.cells import Bad, Cell, Record
from ranklet.corpus.sources.spool import Spool


def test_records_come_back_with_their_types() -> None:
    fields = {
        "text": "a\udcff\n", "n": 1, "f": 0.1, "inf": float("inf"), "flag": True, "none": None,
        "list": ["a", None], "object": {"a": {"b": 1}}, "day": date(2024, 5, 31), "bytes": b"\xff",
        "at": datetime(2024, 5, 31, 1, 2, 3, 4, UTC), "exact": Decimal("1.50"),
        "\0": {"\0": ["x", 1]},
    }  # fmt: skip
    records: list[Record | Bad] = [
        Record("a:1", fields),
        Bad("a:2", "broken", "why"),
        Record("a:3", {"x": Cell("1")}),
    ]
    spool = Spool()
    assert list(spool.copied(iter(records))) == records
    for _ in range(2):
        position = spool.position()
        found = list(spool.records(position))
        assert found == records
        assert position == Position(3, 3)
    last = found[-1]
    assert isinstance(last, Record)
    assert isinstance(last.fields["x"], Cell)


def test_a_value_of_no_known_type_keeps_the_name_of_its_type() -> None:
    spool = Spool()
    list(spool.copied(iter([Record("a", {"x": {1}})])))
    (record,) = spool.records(Position(0))
    assert isinstance(record, Record)
    assert type(record.fields["x"]).__name__ == "set"
