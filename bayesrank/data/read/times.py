"""Times: labels of a group, such as days or seasons, as numbers on a line."""

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
    """Read labels of the group `name` as times.

    Numbers are times as they are (a year, a round). Dates, or text like "2024-05-31" or
    "2024-05-31 15:00", are counted from the first of 1970 in a unit of `UNITS`.
    """
    if unit not in UNITS:
        raise ValueError(f"`unit` is {unit!r}; it must be one of {', '.join(UNITS)}.")
    times = _numbers(labels)
    if times is None:
        times = _dates(labels, name) / UNITS[unit]
    elif not np.isfinite(times).all():
        wrong = labels[~np.isfinite(times)][0]
        raise ValueError(f"The {name} {label_repr(wrong)} is no time: it must be finite.")
    _check_distinct(times, labels, name)
    return times


def time_coordinates(labels: pd.Index, name: str) -> NDArray[Any]:
    """Read the same labels as coordinates: numbers, or dates without a time zone, in UTC."""
    times = _numbers(labels)
    if times is None:
        seconds = _dates(labels, name)
        return np.round(seconds * 1e6).astype("datetime64[us]").astype("datetime64[ns]")
    return labels.to_numpy() if pd.api.types.is_numeric_dtype(labels.dtype) else times


def are_instants(labels: pd.Index, name: str) -> bool:
    """Whether labels are dates with hours."""
    if _numbers(labels) is not None:
        return False
    stamps = [_stamp(x, name) for x in labels if not isinstance(x, pd.Period)]
    return any(stamp != stamp.normalize() for stamp in stamps)


def _numbers(labels: pd.Index) -> NDArray[np.float64] | None:
    """Read numbers, or text of them; None of dates."""
    if pd.api.types.is_numeric_dtype(labels.dtype) and labels.dtype != bool:
        return labels.to_numpy(dtype=float)
    texts = [x.strip() for x in labels if isinstance(x, str)]
    dates = all(len(x) == 8 for x in texts)  # 20240531 is a date
    if len(texts) < len(labels) or dates or not all(map(_NUMBER.fullmatch, texts)):
        return None
    return np.array([float(x) for x in texts])


def _dates(labels: pd.Index, name: str) -> NDArray[np.float64]:
    """Seconds since the first of 1970."""
    _refuse_seasons(labels, name)
    stamps = [_stamp(label, name) for label in labels]
    aware = np.array([stamp.tzinfo is not None for stamp in stamps])
    if aware.any() and not aware.all():
        one, other = labels[aware][0], labels[~aware][0]
        raise ValueError(
            f"The {name} {label_repr(one)} has a time zone and {label_repr(other)} has none: which "
            "is the earlier cannot be told. Give all of them one, or none."
        )
    epoch = pd.Timestamp(0, tz="UTC") if aware.any() else pd.Timestamp(0)
    return np.array([(stamp - epoch) / pd.Timedelta(seconds=1) for stamp in stamps])


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
        f"The {name} {label_repr(label)} is no date that can be read in one way only. Write dates "
        "as 2024-05-31 or 2024-05-31 15:00, or as dates have where they have types (Parquet, "
        "pandas); numbers, such as 2024, are times as they are."
    )


def _refuse_seasons(labels: pd.Index, name: str) -> None:
    """Refuse 2010-11, which may be a month and may be a season."""
    found = [_SEASON.fullmatch(x.strip()) if isinstance(x, str) else None for x in labels]
    if len(found) and all(match and (int(match[1]) + 1) % 100 == int(match[2]) for match in found):
        raise ValueError(
            f"The {name} {label_repr(labels[0])} may be a month or a season of two years. Give the "
            "year in which a season begins as a number, or days as 2010-11-01."
        )


def _check_distinct(times: NDArray[np.float64], labels: pd.Index, name: str) -> None:
    order = np.argsort(times, kind="stable")
    same = np.flatnonzero(np.diff(times[order]) == 0)
    if len(same):
        two = labels[order[same[0] : same[0] + 2]]
        raise ValueError(f"The {name}s {quoted(two)} are the same time; write it in one way.")
