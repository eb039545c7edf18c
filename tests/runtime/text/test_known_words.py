from collections import Counter

from ranklet.runtime.text.known_words import KnownWords
from ranklet.runtime.text.scripts import splitter


def known(language: str, **counts: int) -> KnownWords:
    total = Counter(counts).total
    return KnownWords(lambda word: counts.get(word, 0), total, pairs=language == "zh")


def test_a_run_without_spaces_gives_the_words_of_the_collection() -> None:
    japanese = known("ja", 空間=5, データ=9, 向け=3, 空=2, 間=2)
    split = splitter(("ja",), known=japanese)
    assert split.words("空間データ向け") == ["空間", "データ", "向け"]
    assert list(split.placed("X の空間デ"))[2:] == [(3, 5, "空間"), (5, 6, "デ")]


def test_letters_outside_of_known_words_are_pairs() -> None:
    split = splitter(("ja",), known=known("ja", 空間=5))
    assert split.words("空間メソッド") == ["空間", "メソ", "ソッ", "ッド"]
    assert split.words("한국어") == ["한국", "국어"]


def test_chinese_words_stand_next_to_pairs() -> None:
    split = splitter(("zh",), known=known("zh", 北京市=5, 是=9))
    assert split.words("北京市是") == ["北京市", *splitter(("zh",)).words("北京市是")]


def test_marks_stay_with_their_letters() -> None:
    split = splitter(("th",), known=known("th", แมว=5, นอน=3))
    assert split.words("แมวนอน") == ["แมว", "นอน"]


def test_a_run_is_divided_without_asking_for_words_that_nothing_begins() -> None:
    asked = list[str]()

    def count(word: str) -> int | None:
        asked.append(word)
        return {"空": 0, "空間": 5}.get(word)

    words = KnownWords(count, lambda: 5)
    assert words.division("空間都" * 2) == [
        ((0, 2), True), ((2, 3), False), ((3, 5), True), ((5, 6), False)
    ]  # fmt: skip
    assert set(asked) == {"空", "空間", "空間都", "間", "都"}
