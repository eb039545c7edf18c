from ranklet.training.data.sources.problems import Problems
from ranklet.training.data.sources.records import Bad


def test_faults_are_counted_with_their_first_places() -> None:
    problems = Problems()
    for line in range(1, 6):
        problems.add(Bad(f"a.csv:{line}", "encoding", "byte 0xe9"))
    problems.add(Bad("a.csv:9", "empty", "text is ''"))
    assert str(problems) == (
        "  5 texts have another encoding: a.csv:1 (byte 0xe9), a.csv:2 (byte 0xe9), "
        "a.csv:3 (byte 0xe9), …\n"
        "  1 document has no text: a.csv:9 (text is '')"
    )
    assert problems.hint() == (
        "Correct them; pass --encoding, for example --encoding cp1252; "
        "or pass --skip-bad to leave them out"
    )
