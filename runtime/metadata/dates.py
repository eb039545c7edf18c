"""Dates of ISO 8601 as whole numbers: days or microseconds since 1970."""

import re
from datetime import UTC, date, datetime, timedelta

MICROSECOND = timedelta(microseconds=1)
MICROSECONDS = timedelta(days=1) // MICROSECOND  # of a day
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_DATE = re.compile(r"\d{4}-\d\d-\d\d", re.ASCII)
_DATETIME = re.compile(
    r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d([.,]\d{1,9})?)?(Z|[+-]\d\d(:?\d\d)?)?", re.ASCII
)


def read_date(text: str) -> date | datetime | None:
    """Return the day or the instant that a text is, or None if it is neither.

    >>> read_date("2024-05-01"), read_date("2024-05-01T10:00+02:00"), read_date("May 1")
    (datetime.date(2024, 5, 1), datetime.datetime(2024, 5, 1, 8, 0, tzinfo=datetime.timezone.utc), None)
    """  # noqa: E501
    try:
        if _DATE.fullmatch(text):
            return date.fromisoformat(text)
        if _DATETIME.fullmatch(text):
            return in_utc(datetime.fromisoformat(text))
    except (ValueError, OverflowError):  # February 30, or a year that UTC would put before 1
        pass
    return None


def in_utc(moment: datetime) -> datetime:
    """Return an instant in UTC; one without a time zone is taken to be in UTC.

    Raises:
        OverflowError: it would lie before year 1 or after year 9999.
    """
    return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)


def days_of(day: date) -> int:
    """Return the days from 1970-01-01 to a day.

    >>> days_of(date(1970, 1, 2))
    1
    """
    return day.toordinal() - _EPOCH.toordinal()


def microseconds_of(moment: date) -> int:
    """Return the microseconds from 1970 to an instant, or to the beginning of a day in UTC."""
    if isinstance(moment, datetime):
        return (in_utc(moment) - _EPOCH) // MICROSECOND
    return days_of(moment) * MICROSECONDS


def day_at(days: int) -> date:
    """Return the day that many days after 1970-01-01.

    Raises:
        ValueError, OverflowError: the year is not one from 1 to 9999.
    """
    return date.fromordinal(days + _EPOCH.toordinal())


def moment_at(microseconds: int) -> datetime:
    """Return the instant that many microseconds after 1970, in UTC.

    Raises:
        OverflowError: the year is not one from 1 to 9999.
    """
    return _EPOCH + microseconds * MICROSECOND
