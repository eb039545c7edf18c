import logging
import sys

import pytest

from ranklet.corpus.languages.segmenters import Counts, Segmenters

PACKAGES = {"ja": "fugashi", "zh": "rjieba", "th": "icu4py", "km": "icu4py"}


@pytest.mark.parametrize(
    ("language", "run", "word"),
    [
        ("ja", "東京都に住んでいる", "東京"),
        ("zh", "北京是中国的首都", "首都"),
        ("th", "แมวนอนหลับเกือบทั้งวัน", "แมว"),
        ("km", "ព្រះរាជាណាចក្រកម្ពុជា", "កម្ពុជា"),
    ],
)
def test_words_of_a_run_without_spaces(language: str, run: str, word: str) -> None:
    pytest.importorskip(PACKAGES[language])
    words = [each.word for each in Segmenters([language]).words(run)]
    assert word in words
    assert "".join(words) == run


def test_particles_are_words_that_are_particles_more_often_than_not() -> None:
    pytest.importorskip("fugashi")
    counts = Counts(Segmenters(["ja"]))
    counts.add(["東京都に住んでいる", "空間のデータ"])
    assert {"に", "の"} <= counts.particles()
    assert not {"東京", "データ"} & counts.particles()
    assert counts.texts["データ"] == 1


def test_kana_are_japanese_in_a_chinese_collection() -> None:
    for package in ("fugashi", "rjieba"):
        pytest.importorskip(package)
    segmenters = Segmenters(["zh", "ja"])
    assert any(each.is_particle for each in segmenters.words("空間のデータ"))
    assert not list(segmenters.words("แมว"))


@pytest.mark.parametrize(
    ("language", "extra"), [("ja", "japanese"), ("zh", "chinese"), ("lo", "icu")]
)
def test_a_missing_package_is_said_once(
    language: str, extra: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    for package in ("fugashi", "rjieba", "icu4py", "icu4py.breakers"):
        monkeypatch.setitem(sys.modules, package, None)
    with caplog.at_level(logging.WARNING):
        assert not Segmenters(["en", language])
    (record,) = caplog.records
    assert f"[{extra}]'" in record.getMessage()
    assert not Segmenters(["en", "de", "ko"])
