from pathlib import Path

import pytest
from tests.word_pieces import SPECIAL, train_tokenizer

from ranklet.corpus.indexing.wordpieces import read_tokenizer
from ranklet.runtime.ground.errors import InputError

TEXTS = ["Mice and a mouse.", "the mouse RAN", "naïve mice, naïve mouse!"] * 3


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
