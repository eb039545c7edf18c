import io
import json
import sys
from typing import Any

import pytest

from ranklet.handlers import logs


def written(capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
    (line,) = capsys.readouterr().out.splitlines()
    found: dict[str, Any] = json.loads(line)
    return found


def test_a_line_is_one_json_object_whatever_it_holds(capsys: pytest.CaptureFixture[str]) -> None:
    logs.write("INFO", "two\nlines", stages={"retrieve": 1.5}, path=io, half="\udcff")
    line = written(capsys)
    assert (line["severity"], line["message"]) == ("INFO", "two\nlines")
    assert line["time"].endswith("Z")
    assert line["stages"] == {"retrieve": 1.5}


def test_no_character_moves_a_terminal_or_is_unseen(capsys: pytest.CaptureFixture[str]) -> None:
    unseen = "\x1b[2J\x7f\x9b1m\u2028\u202e\u200b\ufeff\U000e0041\ud800"
    logs.write("INFO", f"dé{unseen}🍞", path=unseen)
    (line,) = capsys.readouterr().out.splitlines()
    assert line.isprintable()
    assert json.loads(line)["message"] == f"dé{unseen}🍞"
    assert "dé" in line


def test_no_line_has_the_signature_of_an_address(capsys: pytest.CaptureFixture[str]) -> None:
    logs.write("INFO", "https://h/b?sig=SECRET", error="at 'https://u:SECRET@h/b'", more=["x"])
    line = written(capsys)
    assert (line["message"], line["error"]) == ("https://h/b?…", "at 'https://…@h/b'")


def test_a_stack_quotes_files_and_no_request() -> None:
    def fail() -> None:
        try:
            raise OSError("/srv/b is gone")
        except OSError as error:
            raise KeyError("what somebody asked") from error

    with pytest.raises(KeyError) as caught:
        fail()
    stack = logs.describe_stack(caught.value)
    assert "somebody" not in stack.replace('raise KeyError("what somebody asked")', "")
    assert "builtins.KeyError\n" in stack
    assert "because of" in stack
    assert "OSError: /srv/b is gone" in stack
    assert "in fail" in stack


def test_a_closed_output_is_no_error(monkeypatch: pytest.MonkeyPatch) -> None:
    closed = io.TextIOWrapper(io.BytesIO())
    closed.buffer.close()
    monkeypatch.setattr(sys, "stdout", closed)
    logs.write("INFO", "nobody reads this")
