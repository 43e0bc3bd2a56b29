"""Times: convert labels of a group, such as days or seasons, to numbers."""

import contextlib
import datetime
import re
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from bayesrank.data.read.labels import label_repr, quoted

UNITS = {"second": 1.0, "hour": 3600.0, "day": 86400.0, "week": 7 * 86400.0, "year": 365.25 * 86400}
"""Seconds in a unit of time; a year is 365.25 days."""

_NUMBER = re.compile(r"[+-]?\d+(\.\d+)?")
_SEASON = re.compile(r"(\d{4})[-/](\d{2})")


def label_times(labels: pd.Index, name: str, unit: str = "year") -> NDArray[np.float64]:
    """Convert labels of the group `name` to times.

    Numbers (a year, a round) stay unchanged. Dates, or text such as "2024-05-31" or
    "2024-05-31 15:00", become the time since 1970-01-01 in a unit of `UNITS`.
    """
    if unit not in UNITS:
        raise ValueError(f"`unit` is {unit!r}; it must be one of {', '.join(UNITS)}.")
    times = _numbers(labels)
    if times is None:
        times = _dates(labels, name) / UNITS[unit]
    elif not np.isfinite(times).all():
        wrong = labels[~np.isfinite(times)][0]
        raise ValueError(f"The {name} {label_repr(wrong)} is not a time: it must be finite.")
    _check_distinct(times, labels, name)
    return times


def time_coordinates(labels: pd.Index, name: str) -> NDArray[Any]:
    """Convert the labels to coordinates: numbers, or dates in UTC without a time zone."""
    times = _numbers(labels)
    if times is None:
        seconds = _dates(labels, name)
        return np.round(seconds * 1e6).astype("datetime64[us]").astype("datetime64[ns]")
    return labels.to_numpy() if pd.api.types.is_numeric_dtype(labels.dtype) else times


def are_dates(labels: pd.Index) -> bool:
    """Return whether labels are dates, and not numbers."""
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
    """Read numbers, or numbers as text; return None for dates."""
    if pd.api.types.is_numeric_dtype(labels.dtype) and labels.dtype != bool:
        return labels.to_numpy(dtype=float)
    texts = [x.strip() for x in labels if isinstance(x, str)]
    dates = all(len(x) == 8 for x in texts)  # 20240531 is a date
    if len(texts) < len(labels) or dates or not all(map(_NUMBER.fullmatch, texts)):
        return None
    return np.array([float(x) for x in texts])


def _dates(labels: pd.Index, name: str) -> NDArray[np.float64]:
    """Return the seconds since 1970-01-01."""
    _refuse_seasons(labels, name)
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
    if len(labels) and all(isinstance(label, str) for label in labels):
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
        if isinstance(label, str):
            return pd.to_datetime(label.strip(), format="ISO8601")
    except (ValueError, OverflowError):
        pass
    raise ValueError(
        f"The {name} {label_repr(label)} is not an unambiguous date. Write dates as 2024-05-31 or "
        "2024-05-31 15:00, or use the date types of Parquet and pandas. Numbers, such as 2024, are "
        "also times."
    )


def _refuse_seasons(labels: pd.Index, name: str) -> None:
    """Refuse labels such as 2010-11, which may be a month or a season."""
    found = [_SEASON.fullmatch(x.strip()) if isinstance(x, str) else None for x in labels]
    if len(found) and all(match and (int(match[1]) + 1) % 100 == int(match[2]) for match in found):
        raise ValueError(
            f"The {name} {label_repr(labels[0])} may be a month or a season of two years. Write "
            "the first year of a season as a number, or a date as 2010-11-01."
        )


def _check_distinct(times: NDArray[np.float64], labels: pd.Index, name: str) -> None:
    order = np.argsort(times, kind="stable")
    same = np.flatnonzero(np.diff(times[order]) == 0)
    if len(same):
        two = labels[order[same[0] : same[0] + 2]]
        raise ValueError(f"The {name}s {quoted(two)} are the same time. Write them identically.")
