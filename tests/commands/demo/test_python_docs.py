import ast
import os
import re
import subprocess
import sys
import sysconfig
from collections import Counter
from pathlib import Path

import pytest

from ranklet.commands.demo import python_docs
from ranklet.commands.demo.python_docs import PythonDoc, collect, judged
from ranklet.runtime.ground.errors import CollectionError


@pytest.fixture(scope="module")
def docs() -> list[PythonDoc]:
    return collect()


def plain(text: str) -> str:
    return " ".join(re.findall(r"\w+", text.lower()))


def document(text: str) -> PythonDoc:
    return python_docs._with_summary(python_docs._join_summary("module.name", "", text))


@pytest.mark.slow
def test_there_are_thousands_of_documents_with_one_id_each(docs: list[PythonDoc]) -> None:
    assert 4_000 < len(docs) < 15_000
    assert len({doc.id for doc in docs}) == len(docs)
    assert all(doc.id.split() == [doc.id] and doc.title and doc.text.strip() for doc in docs)


@pytest.mark.slow
def test_private_and_test_code_is_not_in_the_corpus(docs: list[PythonDoc]) -> None:
    private = [doc.id for doc in docs if re.search(r"\b_", doc.id)]
    assert private == []
    modules = {doc.module for doc in docs}
    assert not modules & {"test", "idlelib", "lib2to3", "turtledemo"}


@pytest.mark.parametrize(
    ("source", "names"),
    [
        ("__all__ = ['a', 'b']", {"a", "b"}),
        ("__all__ = ('a',)\n__all__ += ['b']", {"a", "b"}),
        ("__all__ = other.__all__", None),
        ("a = 1", None),
    ],
)
def test_a_module_says_which_names_are_public(source: str, names: set[str] | None) -> None:
    assert python_docs._read_all(ast.parse(source)) == names


@pytest.mark.slow
def test_dedent_is_cut_into_question_and_answer(docs: list[PythonDoc]) -> None:
    dedent = next(doc for doc in docs if doc.id == "textwrap.dedent")
    assert dedent.title == "textwrap.dedent(text)"
    assert dedent.module == "textwrap"
    assert dedent.summary.startswith("Remove any common leading whitespace")
    assert "`" not in dedent.summary
    assert "Remove any common" not in dedent.body
    assert dedent.text == f"{dedent.summary}.\n\n{dedent.body}"


@pytest.mark.slow
def test_no_query_stands_in_its_document(docs: list[PythonDoc]) -> None:
    documents, splits = judged(docs)
    text = {document.id: document.text for document in documents}
    assert [document.id for document in documents] == [doc.id for doc in docs]
    for queries, qrels in splits.values():
        assert [query.id for query in queries] == list(qrels)
        for query in queries:
            ((answer, grade),) = qrels[query.id].items()
            assert grade == 1
            assert f" {plain(query.text)} " not in f" {plain(text[answer])} "
            assert 4 <= len(query.text.split()) <= 30
            assert len(text[answer].split()) >= 4


@pytest.mark.slow
def test_splits_share_no_module_and_have_their_sizes(docs: list[PythonDoc]) -> None:
    _, splits = judged(docs)
    module = {doc.id: doc.module for doc in docs}
    modules = {
        split: Counter(module[answer] for judged in qrels.values() for answer in judged)
        for split, (_, qrels) in splits.items()
    }
    assert sum(len(names) for names in modules.values()) == len(set().union(*modules.values()))
    assert modules["train"].keys() >= {"builtins", "turtle"}
    total = sum(names.total() for names in modules.values())
    for split, share in {"train": 0.7, "dev": 0.1, "test": 0.2}.items():
        assert modules[split].total() / total == pytest.approx(share, abs=0.04)


@pytest.mark.slow
def test_all_processes_collect_the_same() -> None:
    program = (
        "import json, sys; from ranklet.commands.demo.python_docs import *; docs = collect();"
        "json.dump([docs, judged(docs)], sys.stdout)"
    )
    collected = []
    for seed in "78":  # of hash()
        printed = subprocess.run(
            [sys.executable, "-c", program],
            check=True,
            capture_output=True,
            env={**os.environ, "PYTHONHASHSEED": seed, "PYTHONIOENCODING": "utf-8"},
        )
        assert printed.stderr == b""
        collected.append(printed.stdout)
    assert collected[0] == collected[1]


@pytest.mark.parametrize(
    ("docstring", "summary", "body"),
    [
        ("Do a thing to it.  More\nof it.", "Do a thing to it", "More\nof it."),
        ("Do a thing\nto it, e.g. This.\n\nMore.", "Do a thing to it, e.g. This", "More."),
        ("The title of it\nMore of it.", "The title of it", "More of it."),
        ("Return a :class:`Thing` of *x*.", "Return a Thing of x", ""),
        ("Return ``a`` or `b` or *c*\n\n- x", "Return a or b or c", "- x"),
        ("name(a) -> value\n\nDo a thing to it.", "Do a thing to it", "name(a) -> value"),
        ("D.pop(k) -> v, remove it from D.\nMore.", "remove it from D", "D.pop(k) -> v,\nMore."),
        ("name(a) --> None.  Do it to all.\n\nMore.", "Do it to all", "name(a) --> None.\nMore."),
        ("module.name\n\nDo a thing to it.\n", "Do a thing to it", ""),
        ("Too short.\n\nMore.", "", "Too short.\n\nMore."),
        ("See RFC 2822 for all of this.", "", "See RFC 2822 for all of this."),
        ("a, b = name(c) and so on", "", "a, b = name(c) and so on"),
        ("name(a, b=(1, 2))", "", "name(a, b=(1, 2))"),
        ("word " * 31, "", ("word " * 31).strip()),
    ],
)
def test_the_summary_is_cut_out(docstring: str, summary: str, body: str) -> None:
    assert (document(docstring).summary, document(docstring).body) == (summary, body)


def test_a_python_without_sources_is_reported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sysconfig, "get_path", lambda name: str(tmp_path))
    with pytest.raises(CollectionError, match=r"no Python sources in .*; use a Python whose"):
        collect()
