"""Labels as times."""

import datetime

import numpy as np
import pandas as pd
import pytest

from bayesrank.data.read import are_dates, label_times, seasons_in_full, time_coordinates

DAY = 1 / 365.25


@pytest.mark.parametrize(
    "labels",
    [
        ["2024-02-28", "2024-03-01"],
        ["2024-02-28 15:00", "2024-03-01T15:00"],
        ["20240228", "20240301"],
        [datetime.date(2024, 2, 28), datetime.date(2024, 3, 1)],
        pd.to_datetime(["2024-02-28", "2024-03-01"]),
        ["2024-02-28T01:00+01:00", "2024-02-29T23:00-01:00"],
    ],
)
def test_dates_are_read_with_leap_days(labels):
    times = label_times(pd.Index(labels), "day")
    assert np.diff(times)[0] == pytest.approx(2 * DAY)
    assert times[0] == pytest.approx(54.16, abs=0.01)


def test_numbers_are_times_as_they_are():
    assert label_times(pd.Index([2010, 2012]), "season").tolist() == [2010, 2012]
    assert label_times(pd.Index(["1.5", "2"]), "round", "day").tolist() == [1.5, 2]
    assert label_times(pd.PeriodIndex(["2024-01"], freq="M"), "month", "day")[0] == 19723


def test_seasons_are_their_first_years():
    labels = pd.Index(["1999-00", "2012-13", "2013/14", "2010-2011", "2009\N{EN DASH}10"])
    assert label_times(labels, "season").tolist() == [1999, 2012, 2013, 2010, 2009]
    assert time_coordinates(labels, "season").tolist() == [1999, 2012, 2013, 2010, 2009]
    assert not are_dates(labels)
    assert are_dates(pd.Index(["2010-11", "2010-12", "2011-01"]))


def test_a_column_decides_whether_labels_are_seasons():
    assert seasons_in_full(["2009-10", "1999-00"]) == {
        "2009-10": "2009-2010",
        "1999-00": "1999-2000",
    }
    assert seasons_in_full(["2009-10", "2010-11"]) == {}  # perhaps months
    assert seasons_in_full(["2009-10", "2012-14"]) == {}
    assert seasons_in_full(["2012-13", 2012]) == {}


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        (["2024-01-01", "03/04/2024"], "'03/04/2024' is not an unambiguous date"),
        (["soon"], "'soon' is not an unambiguous date"),
        (["today"], "'today' is not an unambiguous date"),
        (["NaT", "2024-01-01"], "'NaT' is not an unambiguous date"),
        (["2010-11", "2011-12"], "'2010-11' may be a month or a season of two years. Write months"),
        (["2012-13", "2010-11"], "'2010-11' may be a month or a season of two years. Write months"),
        (
            ["2012-13", "2014-16"],
            "'2014-16' is not a season of two successive years, but '2012-13'",
        ),
        (["2012-13", "2014-01-31"], "Write all of them as seasons, or all as dates"),
        (["2024-01-01T00:00Z", "2024-01-02"], "has a time zone but '2024-01-02' has none"),
        (["2024-01-01", "20240101"], "are the same time"),
        ([1.0, np.inf], "must be finite"),
        ([("a", 1)], "is not an unambiguous date"),
    ],
)
def test_labels_that_are_not_times_are_refused(labels, message):
    with pytest.raises(ValueError, match=message):
        label_times(pd.Index(labels, tupleize_cols=False), "day")


def test_unknown_units_are_refused():
    with pytest.raises(ValueError, match="`unit` is 'month'; it must be one of second, hour"):
        label_times(pd.Index([1]), "day", "month")
