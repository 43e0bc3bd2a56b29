"""The study of forecasts, and of intervals in simulated tables."""

import numpy as np
import pytest
from scipy import stats
from scipy.special import softmax

import bayesrank as br
from models.history.study import (
    DESIGNS,
    DYNAMICS,
    PROB,
    ROWS,
    WHEN,
    Design,
    covered,
    main,
    season,
    true_nodes,
)


@pytest.mark.slow
def test_the_study_in_its_reduced_size(data_dir):
    tables = main([str(data_dir / "football"), "--quick"])
    rows = tables["forecasts"].rows
    assert {"Elo", "Glicko-style", *DYNAMICS} <= {*rows.index}
    # three outcomes; the last 76 matches, standard error .055
    assert (rows["log loss"].astype(float) < 1.2).all()
    assert list(tables["evidence"].rows.index) == list(DYNAMICS)
    assert (tables["evidence"].rows["log loss of later matches"] < 1.1).all()
    assert list(tables["intervals"].rows.index) == [*ROWS]


@pytest.mark.slow
@pytest.mark.parametrize("name", DESIGNS)
def test_intervals_contain_the_truth_as_often_as_they_say(name):
    found = covered(DESIGNS[name], range(150), seed=31)
    error = found[[*WHEN]].std() / np.sqrt(len(found))
    assert (abs(found[[*WHEN]].mean() - PROB) < 5 * error + 0.01).all()


def test_intervals_contain_strengths_that_change_fast():
    """A thin tail of the prior of the drift, or the normal around the mode, cover about half."""
    n_items, n_tables = 4, 8
    found = covered(Design(n_items, 60, 6, scale=2.0, drift=4.0), range(n_tables), seed=7)
    # utilities of one table sum to zero, so one item less is independent
    n = (n_items - 1) * n_tables
    assert found["last day"].mean() * n > stats.binom.ppf(1e-6, n, PROB)


def test_nodes_with_the_true_prior_have_the_weights_of_a_grid():
    """Evidence times the true prior, on a grid, has the means of scale and drift of the nodes."""
    design = Design(3, 30, 4, sds=(0.5, 0.5))
    pairs, *_ = season(design, np.random.default_rng(2))
    options = {"time": "day", "order_effect": False, "random_seed": 1}
    fit = br.fit_dynamic(pairs, **options)
    nodes = true_nodes(fit, design)
    z = np.stack(np.meshgrid(*[np.linspace(-2.5, 2.5, 6)] * 2), axis=-1).reshape(-1, 2)
    logs = np.log([design.scale, design.drift]) + z * design.sds
    evidence = [
        br.fit_dynamic(pairs, hyperparameters={"scale": a, "drift": b}, **options).log_evidence
        for a, b in np.exp(logs).tolist()
    ]
    weight = softmax(np.array(evidence) - (z**2).sum(axis=1) / 2)
    at = np.log(nodes[["scale", "drift"]].to_numpy())
    off = (np.stack([nodes["weight"], fit.nodes["weight"]]) @ at - weight @ logs) / design.sds
    # in standard deviations of the prior; eight effective nodes know a mean to about a third of one
    assert abs(off[0]).max() < 0.5
    assert abs(off[1]).max() > 1  # without the ratio of the priors
