"""Dates as whole numbers."""

from datetime import UTC, date, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ranklet.runtime.metadata.dates import day_at, days_of, microseconds_of, moment_at, read_date


@given(st.dates())
def test_a_day_comes_back(day: date) -> None:
    assert day_at(days_of(day)) == day
    assert read_date(day.isoformat()) == day
    assert microseconds_of(day) == days_of(day) * 86_400_000_000


@given(st.datetimes(timezones=st.just(UTC)))
def test_an_instant_comes_back(moment: datetime) -> None:
    assert moment_at(microseconds_of(moment)) == moment
    assert read_date(moment.isoformat()) == moment
    assert read_date(moment.isoformat().replace("+00:00", "Z").replace("T", " ")) == moment


def test_time_zones_are_brought_to_utc_and_none_means_utc() -> None:
    noon = datetime(2024, 5, 31, 12, tzinfo=UTC)
    for text in ("2024-05-31T14:00+02:00", "2024-05-31T12:00", "2024-05-31 07:00:00.000-0500"):
        assert read_date(text) == noon
    assert microseconds_of(noon) - microseconds_of(noon - timedelta(0, 1)) == 1_000_000


@pytest.mark.parametrize(
    "text",
    ["", "2024", "2024-05", "20240531", "2024-W22-5", "2024-02-30", "2024-05-31T25:00",
     "٢٠٢٤-٠٥-٣١", "2024-05-31T12", "0001-01-01T00:00+01:00", " 2024-05-31"],
)  # fmt: skip
def test_other_texts_are_no_dates(text: str) -> None:
    assert read_date(text) is None
