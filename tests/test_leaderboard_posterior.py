"""Posteriors of the leaderboard are calibrated: all that it learns, of judges and categories.

The model draws its own truths and matches. By NUTS each simulation is a posterior of its own; in
the short form draws of the prior, weighted by the likelihood, stand for those of the posterior.
"""

import itertools

import numpy as np
import pandas as pd
import pymc as pm
import pytest
import xarray as xr

import bayesrank as br
from bayesrank.inference import sample
from bayesrank.leaderboard import leaderboard_model, nuts_settings
from tests.distributions.calibration import THINNED, bins_by_weight, bins_of_ranks, uniformity

LEARNED = (
    "utility", "utility_scale", "category_utility", "category_spread", "adherence",
    "adherence_spread", "order_effect", "judge_order_effect", "order_spread", "nu", "judge_nu",
    "tie_spread",
)  # fmt: skip
FALSE_ALARM = 1e-9  # of each of the numbers, some thirty
QUICK = {"mode": "FAST_COMPILE"}


def board(counts=None):
    """Three items, two judges and two categories: each two items meet once in each of them."""
    two = [("a", "b"), ("b", "c"), ("c", "a")]
    cells = [(*pair, *where) for pair in two for where in itertools.product(("ann", "bob"), "pq")]
    table = pd.DataFrame(cells, columns=["first", "second", "judge", "category"])
    each = np.tile([0, 0, 1], (len(table), 1)) if counts is None else counts
    rows = [
        table.assign(outcome=outcome, count=each[:, k])
        for k, outcome in enumerate(("first", "second", "tie"))
    ]
    return br.Pairs.from_frame(
        pd.concat(rows), first="first", second="second", outcome="outcome", count="count",
        judge="judge", by="category",
    )  # fmt: skip


def model_of(pairs):
    return leaderboard_model(pairs, category="category")


def simulated(n, seed):
    """Draw truths by name, and counts (n, n_cells, 3), of the model's own."""
    with model_of(board()):
        found = pm.sample_prior_predictive(n, random_seed=seed, compile_kwargs=QUICK)
    truth = [found["prior"][name].to_numpy()[0] for name in LEARNED]
    return truth, found["prior_predictive"]["y"].to_numpy()[0]


def drawn_with_chances(n, seed):
    """Draws of the prior, and the log-probability that each gives every outcome of every cell."""
    with model_of(board()):
        found = pm.sample_prior_predictive(n, random_seed=seed, compile_kwargs=QUICK)
        prior = [found["prior"][name].to_numpy()[0] for name in LEARNED]
        tree = xr.DataTree.from_dict({"posterior": found["prior"].to_dataset()})
        each = []
        for outcome in np.eye(3, dtype=int):
            br.set_observed("y", board(np.tile(outcome, (len(board().counts), 1))))
            found = pm.compute_log_likelihood(
                tree, progressbar=False, compile_kwargs=QUICK, extend_inferencedata=False
            )
            each.append(found["y"].to_numpy()[0])
    return prior, np.array(each)


def weighed(truth, counts, prior, log_chance):
    """Posterior probabilities below the truths, by weighted draws of the prior."""
    logp = np.einsum("sco,okc->sk", counts, log_chance)
    return bins_by_weight(truth, prior, logp)


def wins_of_the_first(counts):
    """Take ties for wins of the first item."""
    first, second, tie = np.moveaxis(counts, -1, 0)
    return np.stack([first + tie, second, 0 * tie], axis=-1)


def test_the_board_has_its_cells_in_the_order_of_its_counts():
    counts = np.random.default_rng(0).multinomial(5, [0.3, 0.3, 0.4], size=12)
    np.testing.assert_array_equal(board(counts).counts, counts)


def test_weighted_draws_of_the_prior_are_calibrated():
    truth, counts = simulated(100, seed=5)
    prior = drawn_with_chances(500, seed=7)
    assert (uniformity(weighed(truth, counts, *prior)) > FALSE_ALARM).all()
    assert uniformity(weighed(truth, wins_of_the_first(counts), *prior)).min() < FALSE_ALARM


@pytest.mark.slow
def test_posteriors_of_boards_are_calibrated():
    truth, counts = simulated(100, seed=6)
    bins = []
    model = model_of(board())
    for k, each in enumerate(counts):
        br.set_observed("y", board(each), model=model)
        found = sample(
            50 * THINNED, tune=500, chains=2, random_seed=k, nuts=nuts_settings(model), model=model
        )
        bins.append(bins_of_ranks([x[k : k + 1] for x in truth], LEARNED, found))
    assert (uniformity(np.concatenate(bins)) > FALSE_ALARM).all()
