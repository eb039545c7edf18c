"""A newcomer for every journey."""

import csv
import json
from pathlib import Path

import pytest
from tests.conftest import DATA
from tests.newcomer import BLOCKED, Newcomer


@pytest.fixture
def newcomer(tmp_path: Path) -> Newcomer:
    """Return a newcomer with the table texts.csv, whose texts are about the household."""
    records = [json.loads(line) for line in (DATA / "household.jsonl").read_text().splitlines()]
    with (tmp_path / "texts.csv").open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["nr", "headline", "body"])
        writer.writerows([each["id"], each["title"], each["text"]] for each in records)
    (tmp_path / "blocked").mkdir()
    (tmp_path / "blocked" / "sitecustomize.py").write_text(BLOCKED)
    return Newcomer(tmp_path, tmp_path / "blocked")
