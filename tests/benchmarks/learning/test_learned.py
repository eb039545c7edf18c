"""The benchmark gives each search documents of its judged queries, and says what was learned."""

import pytest
from benchmarks.learning import learned
from benchmarks.learning.learned import Study

from ranklet.corpus.collections.collection import Document
from ranklet.corpus.collections.splits import JudgedQuery

FOUND = {
    "parts": [300, 40, 50, 60], "before": 0.5, "after": 0.6, "claimed": [0.1, 0.05, 0.15],
    "gain": [0.09, 0.03, 0.15], "members": "0.5 · bm25 + 0.5 · model1", "minutes": 3.21,
    "memory": 1.2e9, "ms": [1.0, 2.0],
}  # fmt: skip


def test_documents_of_reported_queries_come_first(monkeypatch: pytest.MonkeyPatch) -> None:
    documents = [Document(str(n), "", "text") for n in range(100)]
    report = [JudgedQuery("r", "text", {"90": 1})]
    train = [JudgedQuery(f"t{n}", "text", {str(n): 1}) for n in range(80)]
    monkeypatch.setattr(learned, "DOCUMENTS", 50)
    found = [each.id for each in learned._documents(documents, report, train)]
    assert len(found) == 50
    assert "90" in found
    assert {str(n) for n in range(49)} <= set(found)


def test_a_row_says_what_changed() -> None:
    study = Study("medquad", model="", titles=False)
    assert learned._row(study, FOUND) == [
        "medquad, without titles, no network", "340 + 50 + 60", "0.500", "0.600",
        "+0.100 (+0.050 to +0.150)", "+0.090 (+0.030 to +0.150)", "0.5 · bm25 + 0.5 · model1",
        "3.2", "1.2", "1.0 → 2.0",
    ]  # fmt: skip
    kept = {**FOUND, "members": "nothing was written: it is not sure"}
    assert learned._row(study, kept)[5] == ""
