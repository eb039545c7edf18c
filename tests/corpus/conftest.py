import csv
from collections.abc import Iterator

import pytest


@pytest.fixture
def csv_limit() -> Iterator[None]:
    """Give back the limit of a field, which a reader of tables sets for the whole process."""
    before = csv.field_size_limit()
    yield
    csv.field_size_limit(before)
