"""A million matches between 200 systems: reading, gradients, maximum likelihood, posterior.

Rows collapse to counts of 39,800 pairs, and these to 19,900 where the order does not matter: what a
gradient costs does not depend on the number of matches.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

import arviz as az
import choix
import numpy as np
import pandas as pd
import pymc as pm
import pytest

import bayesrank as br
from bayesrank.analysis.leaderboard import leaderboard_model
from bayesrank.inference import climb, fit_inla, fit_matches, objective
from tests.benchmarks.book import Book, gradient_function, seconds, time_text
from tests.benchmarks.peers import random_matches, read_matches

N_SYSTEMS, N_MATCHES = 200, 1_000_000


@pytest.fixture(scope="module")
def table() -> pd.DataFrame:
    return random_matches(N_MATCHES, N_SYSTEMS)


@pytest.fixture(scope="module")
def decided(table: pd.DataFrame) -> br.Pairs:
    return read_matches(table, "winner")


@pytest.fixture(scope="module")
def tied(table: pd.DataFrame) -> br.Pairs:
    return read_matches(table)


def davidson(pairs: br.Pairs, order_effect: bool = False) -> pm.Model:
    with pm.Model(coords=pairs.coords) as model:
        utility = pm.ZeroSumNormal("utility", 1, dims="item")
        nu = pm.LogNormal("nu", 0, 1)
        order = pm.Normal("order_effect", 0, 0.5) if order_effect else None
        br.Davidson("y", utility, nu=nu, order_effect=order, observed=pairs)
    return model


def bradley_terry(pairs: br.Pairs, order_effect: bool = False) -> pm.Model:
    with pm.Model(coords=pairs.coords) as model:
        utility = pm.Flat("utility", dims="item")
        order = pm.Normal("order_effect", 0, 0.5) if order_effect else None
        br.BradleyTerry("y", utility, order_effect=order, observed=pairs)
    return model


def test_a_million_rows_are_read(book: Book, table: pd.DataFrame):
    what = "a million matches of 200 systems, rows to counts"
    book.cost(what, partial(read_matches, table), rounds=3, at_most=3.0)


@pytest.mark.parametrize("order_effect", [False, True], ids=["", "order effect"])
@pytest.mark.parametrize("family", [bradley_terry, davidson], ids=["Bradley-Terry", "Davidson"])
def test_a_gradient_takes_less_than_a_millisecond(
    book: Book, decided: br.Pairs, tied: br.Pairs, family, order_effect: bool
):
    model = family(decided if family is bradley_terry else tied, order_effect)
    function = gradient_function(model)
    start = model.initial_point()
    point = np.concatenate([np.ravel(start[rv.name]) for rv in model.value_vars])
    name = "Bradley-Terry" if family is bradley_terry else "Davidson, with nu"
    what = f"a million matches, {name}{', order effect' if order_effect else ''}"
    book.cost(what, lambda: function(point), at_most=1e-3)


def test_the_maximum_is_that_of_choix(book: Book, table: pd.DataFrame, decided: br.Pairs):
    """From counts: ours with the precision around it, choix's the scores alone."""
    wins = np.zeros((N_SYSTEMS, N_SYSTEMS))
    np.add.at(wins, (decided.first, decided.second), decided.counts[:, 0])
    np.add.at(wins, (decided.second, decided.first), decided.counts[:, 1])

    pairs = br.Pairs.from_matrix(wins)

    def ours() -> np.ndarray:
        return fit_matches(pairs, utility_scale=1e4, order_effect=False).utility

    def theirs() -> np.ndarray:
        return choix.ilsr_pairwise_dense(wins, tol=1e-10)

    mine, its = ours(), theirs()
    error = np.abs((mine - mine.mean()) - (its - its.mean())).max()
    assert error < 1e-6
    what = f"maximum of Bradley-Terry, a million matches, within {error:.1e} of choix"
    book.beat(what, ours, "choix.ilsr_pairwise_dense", theirs)


def test_the_same_from_a_table_where_choix_has_its_list(book: Book, table: pd.DataFrame):
    """From rows to utilities, compilation included; choix gets a hundredth of the rows."""
    rows = table.iloc[: N_MATCHES // 100]
    first = rows["winner"] == "first"
    better, worse = (
        pd.Categorical(x).codes.tolist()
        for x in (
            rows["left"].where(first, rows["right"]),
            rows["right"].where(first, rows["left"]),
        )
    )
    pairs = list(zip(better, worse, strict=True))

    def ours() -> np.ndarray:
        logp, start = objective(bradley_terry(read_matches(table, "winner")), random_seed=1)
        return climb(logp, start.data, least_gain=1e-15, tolerance=np.inf)

    ours()
    a_hundredth = seconds(lambda: choix.opt_pairwise(N_SYSTEMS, pairs, alpha=1e-6)).cpu
    what = "a million rows to their maximum, model built and compiled"
    peer = f"choix.opt_pairwise on a hundredth of the rows: {time_text(a_hundredth)}"
    book.cost(what, ours, rounds=1, at_most=10.0, peer=peer)


def arena_rank_scores(table: pd.DataFrame) -> Callable[[], dict[str, Any]]:
    """Bradley-Terry with the intervals of a sandwich estimator, by JAX."""
    fit = pytest.importorskip("arena_rank.models.bradley_terry", reason="arena-rank is not there")
    data = pytest.importorskip("arena_rank.utils.data_utils")
    share = {"first": 1.0, "second": 0.0, "tie": 0.5}

    def run() -> dict[str, Any]:
        rows = data.PairDataset.from_pandas(table, ["left", "right"], "judged", share.__getitem__)
        return fit.BradleyTerry(len(rows.competitors)).compute_ratings_and_cis(rows)

    return run


def evalica_scores(table: pd.DataFrame) -> Callable[[], pd.Series]:
    """Ties as half a win for each: scores alone."""
    evalica = pytest.importorskip("evalica", reason="evalica is not there")
    winner = evalica.Winner
    outcomes = {"first": winner.X, "second": winner.Y, "tie": winner.Draw}

    def run() -> pd.Series:
        winners = [outcomes[x] for x in table["judged"]]
        return evalica.bradley_terry(table["left"], table["right"], winners).scores

    return run


@pytest.mark.parametrize("name", ["evalica", "arena-rank"])
def test_rows_to_scores_and_intervals(book: Book, table: pd.DataFrame, name: str):
    """Ours are draws of the posterior of Davidson's model, which has a parameter for ties."""
    peer = {"evalica": evalica_scores, "arena-rank": arena_rank_scores}[name](table)

    def ours() -> pd.DataFrame:
        return br.rank_summary(br.fit_pairs(read_matches(table), order_effect=False, random_seed=1))

    mean = ours()["mean"]
    if name == "evalica":
        assert abs(np.corrcoef(mean, np.log(peer()[mean.index]))[0, 1]) > 0.999
    cost = book.race(ours, 3, peer=peer)
    what = "a million rows to scores and intervals of ranks"
    book.ratio(what, cost["ours"], cost["peer"], name, at_least=1.0)


def test_counts_take_less_time_than_the_same_posterior_by_inla(book: Book):
    table = random_matches(N_MATCHES, 150)
    mine = book.once(lambda: br.rank_summary(br.fit_pairs(read_matches(table), random_seed=1)))
    pairs = read_matches(table)
    fit_inla(draws=10, random_seed=1, model=leaderboard_model(pairs))  # compiles the kernels
    inla = seconds(lambda: fit_inla(random_seed=1, model=leaderboard_model(pairs)))
    what = "a million matches of 150 systems to scores and intervals, from their counts"
    book.ratio(what, mine, inla, "fit_inla")


def test_the_posterior_takes_less_than_a_minute(book: Book, tied: br.Pairs):
    model = davidson(tied)
    kept = []

    def sample() -> None:
        with model:
            kept.append(
                pm.sample(
                    draws=1000, tune=500, chains=2, cores=2, nuts_sampler="nutpie",
                    random_seed=1, progressbar=False, quiet=True,
                )
            )  # fmt: skip

    cost = book.once(sample)
    posterior = kept[0]["posterior"].dataset[["utility", "nu"]]
    least = min(float(x.min()) for x in az.ess(posterior).data_vars.values())
    most = max(float(x.max()) for x in az.rhat(posterior).data_vars.values())
    assert most < 1.02
    assert least > 400
    what = f"NUTS, Davidson, a million matches: 2 x (500 + 1,000), least ESS {least:.0f}"
    book.budget(what, cost.wall, time_text, at_most=60.0)
