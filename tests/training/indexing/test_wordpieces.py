import subprocess
import sys
from pathlib import Path

import pytest

from ranklet.runtime.errors import InputError
from ranklet.training.data.collection import Collection
from ranklet.training.indexing.wordpieces import SPECIAL, read_tokenizer, train_tokenizer

TEXTS = ["Mice and a mouse.", "the mouse RAN", "naïve mice, naïve mouse!"] * 3


def texts(collection: Collection) -> list[str]:
    return [f"{each.title}\n{each.text}" for each in collection.documents()]


def test_the_same_texts_give_the_same_pieces(collection: Collection) -> None:
    # The trainer of `tokenizers` alone ends in other pieces every time.
    first = train_tokenizer(texts(collection), 400)
    assert first.get_vocab_size() == 400
    assert all(train_tokenizer(texts(collection), 400).to_str() == first.to_str() for _ in range(3))
    code = (
        "from ranklet.training.indexing.wordpieces import train_tokenizer\n"
        f"print(train_tokenizer({TEXTS!r}, 60).to_str())"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True)
    assert done.stdout.decode("utf-8").strip() == train_tokenizer(iter(TEXTS), 60).to_str()


def test_pieces_are_berts() -> None:
    tokenizer = train_tokenizer(TEXTS, 60)
    vocabulary = tokenizer.get_vocab()
    assert [tokenizer.id_to_token(at) for at in range(len(SPECIAL))] == list(SPECIAL)
    assert sorted(vocabulary.values()) == list(range(len(vocabulary)))
    assert len(vocabulary) <= 60
    encoded = tokenizer.encode("The MOUSE naive", add_special_tokens=False)
    assert encoded.tokens == ["the", "mouse", "naive"]
    assert tokenizer.encode("ran ᚠ", add_special_tokens=False).tokens == ["ran", "[UNK]"]
    assert tokenizer.decode(tokenizer.encode("mousean").ids) == "mousean"


def test_a_piece_that_somebody_spells_out_is_text() -> None:
    tokenizer = train_tokenizer([*TEXTS, "# # # #"], 60)
    assert tokenizer.encode("##a", add_special_tokens=False).tokens == ["#", "#", "a"]


def test_no_texts_make_a_tokenizer_of_nothing() -> None:
    assert train_tokenizer([]).get_vocab_size() == len(SPECIAL)


def test_a_tokenizer_reads_back_from_a_file_or_its_folder(tmp_path: Path) -> None:
    tokenizer = train_tokenizer(TEXTS, 60)
    tokenizer.enable_truncation(3)
    tokenizer.enable_padding(length=9)
    tokenizer.save(str(tmp_path / "tokenizer.json"))
    tokenizer.no_truncation()
    tokenizer.no_padding()
    for path in (tmp_path, tmp_path / "tokenizer.json", str(tmp_path)):
        assert read_tokenizer(path).to_str() == tokenizer.to_str()


def test_a_vocabulary_of_bert_is_read(tmp_path: Path) -> None:
    (tmp_path / "vocab.txt").write_text("\n".join([*SPECIAL, "mouse", "##s"]), "utf-8")
    for path in (tmp_path, tmp_path / "vocab.txt"):
        encoded = read_tokenizer(path).encode("Mouses mice", add_special_tokens=False)
        assert encoded.tokens == ["mouse", "##s", "[UNK]"]


# The last one makes the Rust code of tokenizers panic.
PANIC = """{"model": {"type": "WordLevel", "vocab": {"a": 0}, "unk_token": "a"}, "added_tokens": [],
"normalizer": {"type": "Precompiled", "precompiled_charsmap": "AAAA"}}"""


@pytest.mark.parametrize("content", ["", "{}", "[", "\0", PANIC])
def test_what_is_no_tokenizer_is_refused(tmp_path: Path, content: str) -> None:
    (tmp_path / "tokenizer.json").write_text(content)
    with pytest.raises(InputError, match="cannot be read as a tokenizer"):
        read_tokenizer(tmp_path)


def test_no_tokenizer_is_refused(tmp_path: Path) -> None:
    for path in (tmp_path, tmp_path / "nothing.json"):
        with pytest.raises(InputError, match=r"no tokenizer\.json or vocab\.txt at"):
            read_tokenizer(path)
