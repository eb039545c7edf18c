import io
import json
import os
from pathlib import Path

import pytest

from ranklet.runtime.answers.console import Screen, bare, printable, suggest_command

CONTROLS = [chr(code) for code in (*range(9), *range(10, 32), *range(127, 160))]
ORDERS = list("\u2028\u2029\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
ORDINARY = "\tcafé नमस्ते 東京 👩‍👩‍👧 שלום\u200f نامه\u200cها \u3000x\u00a0y\\"


@pytest.mark.parametrize("sign", [*CONTROLS, *ORDERS], ids=ascii)
def test_what_controls_a_terminal_or_reorders_text_is_escaped(sign: str) -> None:
    assert printable(f"a{sign}b") == f"a\\u{ord(sign):04x}b"


def test_ordinary_text_stays() -> None:
    assert printable(ORDINARY) == ORDINARY


def test_json_stays_the_same_json() -> None:
    value = {"".join(CONTROLS): "".join(ORDERS) + ORDINARY}
    assert json.loads(printable(json.dumps(value, ensure_ascii=False))) == value


def test_only_ends_of_lines_pass_a_screen() -> None:
    stream = io.StringIO()
    screen = Screen(stream, needed=True)
    assert screen.write("a\r\x1b[2J\n") == 7
    screen.writelines(["b\x07\n", "c"])
    assert screen.getvalue() == "a\\u000d\\u001b[2J\nb\\u0007\nc"


def test_text_without_a_reader_is_dropped() -> None:
    reader, writer = os.pipe()
    os.close(reader)
    with os.fdopen(writer, "w", encoding="utf-8") as stream:
        screen = Screen(stream, needed=True)
        screen.write("text")
        screen.flush()
        assert screen.gone
        screen.write("more")
        screen.flush()


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="it stands for a disk that is full")
def test_what_cannot_be_written_is_an_error_where_it_is_needed() -> None:
    with open("/dev/full", "w", encoding="utf-8") as stream:  # noqa: PTH123
        screen = Screen(stream, needed=True)
        screen.write("text")
        with pytest.raises(OSError, match="No space"):
            screen.flush()
    with open("/dev/full", "w", encoding="utf-8") as stream:  # noqa: PTH123
        screen = Screen(stream, needed=False)
        screen.write("text")
        screen.flush()
        assert screen.gone


def test_a_stream_that_is_missing_or_closed_is_none() -> None:
    stream = io.StringIO()
    assert bare(Screen(stream, needed=True)) is stream
    assert bare(stream) is stream
    assert bare(None) is None
    stream.close()
    assert bare(stream) is None


def test_a_suggestion_keeps_what_begins_with_a_dash() -> None:
    assert suggest_command("eval", "-b", "c d", split="-s") == "ranklet eval --split=-s -- -b 'c d'"
