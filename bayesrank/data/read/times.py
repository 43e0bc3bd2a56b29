"""Times: convert labels of a group, such as days or seasons, to numbers."""

import contextlib
import datetime
import re
from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from bayesrank.data.read.labels import label_repr, quoted

UNITS = {"second": 1.0, "hour": 3600.0, "day": 86400.0, "week": 7 * 86400.0, "year": 365.25 * 86400}
"""Seconds in a unit of time; a year is 365.25 days."""

_NUMBER = re.compile(r"[+-]?\d+(\.\d+)?")
_SEASON = re.compile(r"(\d{4})([-/\N{EN DASH}])(\d{2}|\d{4})")


class TimeError(ValueError):
    """A label that is not a time."""

    def __init__(self, message: str, label: Any = None) -> None:
        super().__init__(message)
        self.label = label


def label_times(labels: pd.Index, name: str, unit: str = "year") -> NDArray[np.float64]:
    """Convert labels of the group `name` to times.

    Numbers (a year, a round) stay unchanged. Seasons of two years, such as "2012-13" or
    "2010-2011", become their first year. Dates, or text such as "2024-05-31" or
    "2024-05-31 15:00", become the time since 1970-01-01 in a unit of `UNITS`.

    The meaning of a label does not depend on the other labels. So 2010-11 is a month among dates,
    and an error among seasons; see `seasons_in_full`.
    """
    if unit not in UNITS:
        raise ValueError(f"`unit` is {unit!r}; it must be one of {', '.join(UNITS)}.")
    _refuse_mixed_seasons(labels, name)
    times = _numbers(labels)
    if times is None:
        times = _dates(labels, name) / UNITS[unit]
    elif not np.isfinite(times).all():
        wrong = labels[~np.isfinite(times)][0]
        message = f"The {name} {label_repr(wrong)} is not a time: it must be finite."
        raise TimeError(message, wrong)
    _check_distinct(times, labels, name)
    return times


def time_coordinates(labels: pd.Index, name: str) -> NDArray[Any]:
    """Convert the labels to coordinates: numbers, or dates in UTC without a time zone."""
    times = _numbers(labels)
    if times is None:
        seconds = _dates(labels, name)
        return np.round(seconds * 1e6).astype("datetime64[us]").astype("datetime64[ns]")
    return labels.to_numpy() if pd.api.types.is_numeric_dtype(labels.dtype) else times


def seasons_in_full(labels: Iterable[Any]) -> dict[str, str]:
    """Return how labels are written with four digits, if all are seasons; otherwise nothing.

    A column is a column of seasons if each label has two successive years, and at least one label
    cannot be a month.

    >>> seasons_in_full(["2010-11", "2012/13"])
    {'2010-11': '2010-2011', '2012/13': '2012-2013'}
    >>> seasons_in_full(["2010-11", "2011-12"])
    {}
    """
    found = {label: _season(label) for label in labels}
    seasons = {label: season for label, season in found.items() if season is not None}
    if len(seasons) < len(found) or all(season.may_be_month for season in seasons.values()):
        return {}
    return {label: f"{year:04}-{year + 1:04}" for label, (year, _) in seasons.items()}


def are_dates(labels: pd.Index) -> bool:
    """Return whether labels are dates, and not numbers or seasons."""
    return _numbers(labels) is None


def are_instants(labels: pd.Index, name: str) -> bool:
    """Return whether labels are dates with a time of day."""
    if not are_dates(labels):
        return False
    stamps = _stamps([x for x in labels if not isinstance(x, pd.Period)], name)
    if isinstance(stamps, pd.DatetimeIndex):
        return bool((stamps != stamps.normalize()).any())
    return any(stamp != stamp.normalize() for stamp in stamps)


def _numbers(labels: pd.Index) -> NDArray[np.float64] | None:
    """Read numbers, numbers as text, or seasons; return None for dates."""
    if pd.api.types.is_numeric_dtype(labels.dtype) and labels.dtype != bool:
        return labels.to_numpy(dtype=float)
    if seasons := [season.year for x in labels if (season := _certain_season(x))]:
        return np.array(seasons, dtype=float) if len(seasons) == len(labels) else None
    texts = [x.strip() for x in labels if isinstance(x, str)]
    dates = all(len(x) == 8 for x in texts)  # 20240531 is a date
    if len(texts) < len(labels) or dates or not all(map(_NUMBER.fullmatch, texts)):
        return None
    return np.array([float(x) for x in texts])


def _dates(labels: pd.Index, name: str) -> NDArray[np.float64]:
    """Return the seconds since 1970-01-01."""
    stamps = _stamps(labels, name)
    if isinstance(stamps, pd.DatetimeIndex):
        since = stamps - pd.Timestamp(0, tz=None if stamps.tz is None else "UTC")
        return np.asarray(since / pd.Timedelta(seconds=1))
    aware = np.array([stamp.tzinfo is not None for stamp in stamps])
    if aware.any() and not aware.all():
        one, other = labels[aware][0], labels[~aware][0]
        raise ValueError(
            f"The {name} {label_repr(one)} has a time zone but {label_repr(other)} has none, so "
            "they cannot be ordered. Give all of them a time zone, or none."
        )
    epoch = pd.Timestamp(0, tz="UTC") if aware.any() else pd.Timestamp(0)
    return np.array([(stamp - epoch) / pd.Timedelta(seconds=1) for stamp in stamps])


def _stamps(labels: Any, name: str) -> pd.DatetimeIndex | list[pd.Timestamp]:
    """Read dates, all at once if they are text with the same time zone or none."""
    if len(labels) and all(map(_begins_with_digit, labels)):
        with contextlib.suppress(ValueError, OverflowError):
            found = pd.to_datetime([label.strip() for label in labels], format="ISO8601")
            if isinstance(found, pd.DatetimeIndex):
                return found
    return [_stamp(label, name) for label in labels]


def _stamp(label: Any, name: str) -> pd.Timestamp:
    if isinstance(label, pd.Period):
        label = label.start_time
    try:
        if isinstance(label, datetime.date | np.datetime64):
            return pd.Timestamp(label)
        if _begins_with_digit(label):
            return pd.to_datetime(label.strip(), format="ISO8601")
    except (ValueError, OverflowError):
        pass
    message = (
        f"The {name} {label_repr(label)} is not an unambiguous date. Write dates as 2024-05-31 or "
        "2024-05-31 15:00, or use the date types of Parquet and pandas. Numbers, such as 2024, and "
        "seasons, such as 2023-24, are also times."
    )
    raise TimeError(message, label)


def _begins_with_digit(label: Any) -> bool:
    """Return whether this is text that may be a date; pandas also reads "today" and "NaT"."""
    return isinstance(label, str) and label.strip()[:1].isdigit()


class _Season(NamedTuple):
    """The first of two successive years, and whether the text may also be a month."""

    year: int
    may_be_month: bool


def _season(label: Any) -> _Season | None:
    """Read a season such as 2012-13, 2012/13 or 2012-2013."""
    match = _SEASON.fullmatch(label.strip()) if isinstance(label, str) else None
    if match is None:
        return None
    first, mark, second = match.groups()
    if (int(first) + 1) % 10 ** len(second) != int(second):
        return None
    month = len(second) == 2 and 1 <= int(second) <= 12 and mark in "-/"
    return _Season(int(first), month)


def _certain_season(label: Any) -> _Season | None:
    """Read a season that cannot be a month."""
    season = _season(label)
    return None if season is None or season.may_be_month else season


def _refuse_mixed_seasons(labels: pd.Index, name: str) -> None:
    """Refuse labels such as 2010-11, which may be a month or a season, and seasons among others."""
    seasons = [_season(label) for label in labels]
    certain = [season is not None and not season.may_be_month for season in seasons]
    if all(certain) or not (any(certain) or all(seasons)):
        return
    if all(seasons):
        odd = labels[certain.index(False)]
        message = (
            f"The {name} {label_repr(odd)} may be a month or a season of two years. Write months "
            "as 2010-11-01, and seasons as 2010-2011."
        )
    else:
        odd, season = labels[seasons.index(None)], labels[certain.index(True)]
        message = (
            f"The {name} {label_repr(odd)} is not a season of two successive years, but "
            f"{label_repr(season)} is. Write all of them as seasons, or all as dates."
        )
    raise TimeError(message, odd)


def _check_distinct(times: NDArray[np.float64], labels: pd.Index, name: str) -> None:
    order = np.argsort(times, kind="stable")
    same = np.flatnonzero(np.diff(times[order]) == 0)
    if len(same):
        two = labels[order[same[0] : same[0] + 2]]
        raise ValueError(f"The {name}s {quoted(two)} are the same time. Write them identically.")
