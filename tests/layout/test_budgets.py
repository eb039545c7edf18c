"""Each room has a budget of lines of code, so that growth is decided and seen."""

from pathlib import Path

from tests.layout.code import OTHERS, count_code_lines, count_rooms

BUDGETS = Path(__file__).with_name("budgets.txt")  # who needs more raises a number there
PRODUCT_LINES, TEST_LINES = 56_800, 46_210  # of all rooms together


def test_lines_of_code_are_counted_without_comments_and_docstrings() -> None:
    source = '"""Say."""\n# why\nx = """a\nb"""\n\n\ndef f():\n    """Say."""\n    return x  # so\n'
    assert count_code_lines(source) == 4


def test_no_room_has_more_lines_than_its_budget() -> None:
    rows = dict(line.rsplit(" ", 1) for line in BUDGETS.read_text("utf-8").splitlines())
    budgets = {room: int(lines.replace(",", "")) for room, lines in rows.items()}
    rooms = count_rooms()
    assert rooms.keys() == budgets.keys()
    above = {room: lines for room, lines in rooms.items() if lines > budgets[room]}
    assert not above, f"{above}: make room, or raise the number in tests/layout/budgets.txt"
    product = sum(lines for room, lines in budgets.items() if room not in OTHERS)
    assert product <= PRODUCT_LINES
    assert budgets["tests"] <= TEST_LINES
