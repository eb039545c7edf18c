"""The benchmark finds answers that mix versions, and a server that is replaced gives none."""

import asyncio
import json
from pathlib import Path

import pytest
from benchmarks.footprint.replacements import WORDS, Answers, checked, measured, text_of


def answer(*hits: tuple[int, str]) -> bytes:
    return json.dumps(
        {"hits": [{"id": str(number), "text": text} for number, text in hits]}
    ).encode()


def test_every_document_names_its_generation() -> None:
    assert text_of(3, 7).split()[:-2] == text_of(3, 8).split()[:-2] != text_of(4, 7).split()[:-2]
    assert text_of(3, 7).endswith("generation 7")
    assert len(set(WORDS)) == len(WORDS) > 400


def test_an_answer_of_one_generation_is_right() -> None:
    answers = Answers()
    assert checked(answer((3, text_of(3, 7)), (4, text_of(4, 7))), answers, last=6) == 7
    assert (answers.mixed, answers.older, answers.generations) == ([], 0, {7})


@pytest.mark.parametrize(
    "hits", [[(3, text_of(3, 7)), (4, text_of(4, 8))], [(3, text_of(4, 7))], []]
)
def test_a_mixed_answer_is_found(hits: list[tuple[int, str]]) -> None:
    answers = Answers()
    checked(answer(*hits), answers, last=6)
    assert len(answers.mixed) == 1


def test_an_answer_of_an_earlier_generation_is_found() -> None:
    answers = Answers()
    checked(answer((3, text_of(3, 7))), answers, last=8)
    assert answers.older == 1


@pytest.mark.slow
def test_a_server_whose_bundle_is_replaced_answers_every_request(tmp_path: Path) -> None:
    quiet, replaced, delays = asyncio.run(
        measured(tmp_path, documents=50, requests=200, replacements=5)
    )
    assert min(len(quiet.seconds), len(replaced.seconds)) >= 200
    assert quiet.generations == {0}
    assert {0, 5} <= replaced.generations <= set(range(6))
    assert len(delays) == 5
