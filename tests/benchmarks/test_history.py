"""Strengths that change: 100,000 matches of 1,000 items on 1,000 days, and what kickscore can do.

From a table of text to the posterior of today's ranks, hyperparameters learned. Walks are
simulated, so that the truth is known: the posterior must contain it.
"""

import numpy as np
import pandas as pd
import pytest

import bayesrank as br
from tests.benchmarks.book import Book, megabytes, run_fresh, seconds, time_text
from tests.benchmarks.fresh import dated_matches


def test_a_hundred_thousand_matches_take_less_than_a_minute(book: Book):
    run_fresh({}, "fit_dynamic", "500", "20", "50")  # compiles the kernels
    found: dict[str, float] = {}
    book.once(lambda: found.update(run_fresh({}, "fit_dynamic", "100_000", "1_000", "1_000")))
    # truth less mean, over the standard deviation: 1 if all were independent and normal
    assert 0.9 < found["off"] < 1.1
    what = "100,000 matches of 1,000 items on 1,000 days, text to today's ranks"
    book.budget(
        what, found["cpu"], time_text, wall=found["seconds"], at_most=60.0,
        peer="; ".join(f"{name} {time_text(found[name])}" for name in ("fit", "draws")),
    )  # fmt: skip
    book.budget(f"{what}: peak of the process", found["peak"], megabytes, at_most=2e9)


def test_a_size_that_kickscore_can_do(book: Book):
    ks = pytest.importorskip("kickscore")
    table, _ = dated_matches(2_000, 100, 100, ties=False)
    pairs = br.Pairs.from_frame(
        table, first="x", second="y", outcome="won", by="day", collapse=False
    )
    given = {"scale": 1.0, "drift": 0.5}
    day = pd.to_datetime(table["day"])
    years = ((day - day.min()).dt.days / 365.25).to_numpy()

    def theirs():
        model = ks.BinaryModel(obs_type="logit")
        for name in pairs.items:
            is_player = (table["x"] == name) | (table["y"] == name)
            kernel = ks.kernel.Wiener(var=0.25, t0=years[is_player].min(), var_t0=1.0)
            model.add_item(name, kernel=kernel)
        for row, year in zip(table.itertuples(), years, strict=True):
            ends = (row.x, row.y) if row.won == "first" else (row.y, row.x)
            model.observe(winners=ends[:1], losers=ends[1:], t=year)
        assert model.fit()
        found = {name: model.item[name].predict([years[-1]]) for name in pairs.items}
        return pd.DataFrame({k: (m[0], v[0]) for k, (m, v) in found.items()}).T

    def mode():
        return br.fit_dynamic(
            pairs, time="day", hyperparameters=given, order_effect=False, random_seed=1
        )

    def ours():
        return mode().draws(random_seed=1)

    mean = ours()["posterior"]["utility"].mean(["chain", "draw"]).to_series()
    ep = theirs()
    # a mode is not a mean: some tenths of a standard deviation lie between them
    off = (mean - (ep[0] - ep[0].mean())[mean.index]) / np.sqrt(ep[1])[mean.index]
    assert np.sqrt((off**2).mean()) < 0.3
    # kickscore has a mean and a variance of each item by itself: no covariances, no ranks
    what = "2,000 matches of 100 items on 100 days, hyperparameters given"
    cost = book.race(ours, 3, kickscore=theirs, mode=mode)
    book.ratio(f"{what}: the mode", cost["mode"], cost["kickscore"], "kickscore 0.2")
    book.ratio(f"{what}: 1,000 draws of today", cost["ours"], cost["kickscore"], "kickscore 0.2")


def test_time_is_linear_in_the_matches(book: Book):
    sizes, cost = (5_000, 20_000, 80_000), []

    def measure() -> None:
        for n in sizes:
            table, _ = dated_matches(n, 200, n // 100)  # as many on a day
            pairs = br.Pairs.from_frame(table, first="x", second="y", outcome="won", by="day")
            given = {"scale": 1.0, "drift": 0.3}
            one = br.fit_dynamic(pairs, time="day", hyperparameters=given, random_seed=1)
            cost.append(
                seconds(lambda one=one: (one.log_evidence, one.draws(draws=50, random_seed=1))).cpu
            )

    book.once(measure)
    what = "evidence and 200 draws of 5,000 to 80,000 matches"
    book.exponent(what, sizes, cost, at_most=1.3)
