"""Posteriors of the leaderboard are calibrated: judges, categories, features, prompts, opinions.

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
from bayesrank.analysis.leaderboard import leaderboard_model, nuts_settings
from bayesrank.inference import sample
from tests.distributions.calibration import THINNED, bins_by_weight, bins_of_ranks, uniformity

OF_ALL = (
    "utility", "utility_scale", "adherence", "adherence_spread", "order_effect",
    "judge_order_effect", "order_spread", "nu", "judge_nu", "tie_spread",
    "judge_spread", "judge_deviation",
)  # fmt: skip
# what is said of the second column, and what is learned then
MODELS = {
    "categories": ({"category": "category"}, (*OF_ALL, "category_utility", "category_spread")),
    "style": (
        {"groups": ["prompt"], "ties_by": ["item", "strength"]},
        (
            *OF_ALL, "feature_effect", "judge_feature_effect", "feature_spread",
            "prompt_deviation", "prompt_spread", "prompt_tie_effect", "prompt_tie_spread",
            "item_tie_effect", "item_tie_spread", "strength_tie_slope",
        ),
    ),
    "grades": (
        {},
        (*OF_ALL[:7], *OF_ALL[10:], "cutpoint_gap", "judge_cutpoint", "cutpoint_spread"),
    ),
    "both bad": (
        {},
        (
            *OF_ALL[:7], *OF_ALL[10:], "tie_theta", "judge_theta", "tie_spread", "threshold",
            "judge_threshold", "threshold_spread", "p_bad",
        ),
    ),
}  # fmt: skip
OUTCOMES = ("first", "second", "tie")
GRADES = ("A>>B", "A>B", "A=B", "B>A", "B>>A")
OF_KIND = {"grades": GRADES, "both bad": (*OUTCOMES, "both bad")}
each_model = pytest.mark.parametrize("kind", MODELS)
FALSE_ALARM = 1e-9  # of each of the numbers, some thirty
QUICK = {"mode": "FAST_COMPILE"}


def board(kind, counts=None):
    """Three items, two judges and two categories: each two items meet once in each of them.

    Or two prompts, at which the longer of two answers is the first or the second.
    """
    by = "prompt" if kind == "style" else "category"
    two = [("a", "b"), ("b", "c"), ("c", "a")]
    cells = [(*pair, *where) for pair in two for where in itertools.product(("ann", "bob"), "pq")]
    table = pd.DataFrame(cells, columns=["first", "second", "judge", by])
    table["length"] = np.where(table[by] == "p", 1.0, -0.5)
    outcomes = OF_KIND.get(kind, OUTCOMES)
    cell_counts = np.tile(np.eye(len(outcomes))[2], (len(table), 1)) if counts is None else counts
    rows = [
        table.assign(outcome=outcome, count=cell_counts[:, k]) for k, outcome in enumerate(outcomes)
    ]
    return br.Pairs.from_frame(
        pd.concat(rows), first="first", second="second", outcome="outcome", count="count",
        judge="judge", by=by, features=["length"] if kind == "style" else [],
        grades=GRADES if kind == "grades" else None,
        both_bad="both bad" if kind == "both bad" else None,
    )  # fmt: skip


def model_of(kind):
    return leaderboard_model(board(kind), **MODELS[kind][0])


def simulated(kind, n, seed):
    """Draw truths by name, and counts (n, n_cells, 3), of the model's own."""
    with model_of(kind):
        found = pm.sample_prior_predictive(n, random_seed=seed, compile_kwargs=QUICK)
    truth = [found["prior"][name].to_numpy()[0] for name in MODELS[kind][1]]
    return truth, found["prior_predictive"]["y"].to_numpy()[0]


def drawn_with_chances(kind, n, seed):
    """Draws of the prior, and the log-probability that each gives every outcome of every cell."""
    with model_of(kind):
        found = pm.sample_prior_predictive(n, random_seed=seed, compile_kwargs=QUICK)
        prior = [found["prior"][name].to_numpy()[0] for name in MODELS[kind][1]]
        tree = xr.DataTree.from_dict({"posterior": found["prior"].to_dataset()})
        drawn = []
        for outcome in np.eye(len(OF_KIND.get(kind, OUTCOMES)), dtype=int):
            br.set_observed("y", board(kind, np.tile(outcome, (len(board(kind).counts), 1))))
            found = pm.compute_log_likelihood(
                tree, progressbar=False, compile_kwargs=QUICK, extend_inferencedata=False
            )
            drawn.append(found["y"].to_numpy()[0])
    return prior, np.array(drawn)


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
    np.testing.assert_array_equal(board("categories", counts).counts, counts)


@pytest.mark.parametrize(
    "kind", ["categories", *(pytest.param(x, marks=pytest.mark.slow) for x in [*MODELS][1:])]
)
def test_weighted_draws_of_the_prior_are_calibrated(kind):
    truth, counts = simulated(kind, 60, seed=5)
    prior = drawn_with_chances(kind, 500 if kind == "categories" else 1000, seed=7)
    assert (uniformity(weighed(truth, counts, *prior)) > FALSE_ALARM).all()
    if kind == "categories":
        assert uniformity(weighed(truth, wins_of_the_first(counts), *prior)).min() < FALSE_ALARM


@pytest.mark.slow
@each_model
def test_posteriors_of_boards_are_calibrated(kind):
    truth, counts = simulated(kind, 100, seed=6)
    bins = []
    model = model_of(kind)
    for k, drawn in enumerate(counts):
        br.set_observed("y", board(kind, drawn), model=model)
        found = sample(
            50 * THINNED, tune=500, chains=2, random_seed=k, nuts=nuts_settings(model), model=model
        )
        bins.append(bins_of_ranks([x[k : k + 1] for x in truth], MODELS[kind][1], found))
    assert (uniformity(np.concatenate(bins)) > FALSE_ALARM).all()
