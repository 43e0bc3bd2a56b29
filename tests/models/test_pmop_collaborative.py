"""Collaborative filtering: the objective by hand, two ways to each mode, bad input."""

import numpy as np
import pandas as pd
import pymc as pm
import pytest
from scipy.special import logsumexp
from scipy.stats import kendalltau

from models.pmop_collaborative.model import build, fit_adam, fit_map, observe, predict
from models.pmop_collaborative.protocol import split, to_rankings
from models.shared.rating_factors import item_mean
from tests.models.rated import QUICK, TWO, six, six_objective, taste


def log_mean_worth_stage(chosen, remainder):
    """Equation of the arithmetic mean: log mean worth over the sum for all subsets."""
    n = len(remainder)
    score = logsumexp(chosen) - np.log(len(chosen))
    return score - (np.log(2**n - 1) - np.log(n) + logsumexp(remainder))


def test_the_objective_is_equation_25():
    W, H = np.array([[0.5, -1.0], [2.0, 0.3]]), np.array([[1.0, 0.2], [-0.4, 0.7], [0.1, -1.5]])
    model = build(
        TWO, n_factors=2, beta=0.2, ranker_scale=0.5, item_scale=2.0,
        item_bias_scale=None, level_scale=None,
    )  # fmt: skip
    w = W @ H.T
    (a, b, c), (_, bo_b, bo_c) = w
    log_p = log_mean_worth_stage([c], [a, b, c]) + log_mean_worth_stage([a, b], [a, b])
    log_p += log_mean_worth_stage([bo_b], [bo_b, bo_c])  # what is left then is certain
    squares = np.sum((np.array([3, 3, 5, 4, 1]) - [a, b, c, bo_b, bo_c]) ** 2)
    ridge = np.sum(W**2) / (2 * 0.25) + np.sum(H**2) / (2 * 4.0)
    constant = 4 * np.log(0.5) + 6 * np.log(2.0) + 10 * np.log(2 * np.pi) / 2
    ours = model.compile_logp(mode=QUICK)({"ranker_factor": W, "item_factor": H})
    assert ours == pytest.approx(0.2 * log_p - 0.4 * squares - ridge - constant, rel=1e-12)


def test_minibatches_that_make_up_the_whole_have_its_gradient_on_average(rng):
    rankings, model = six()
    logp = six_objective()
    x = rng.normal(size=6 * 2 + 8 * 2 + 8 + 6)
    whole, slope = logp(x)
    parts = []
    for rows in ([0, 3], [1, 5], [2, 4]):
        observe(model, rankings.subset(rows))
        parts.append(logp(x))
    observe(model, rankings)
    np.testing.assert_allclose(np.mean([value for value, _ in parts]), whole, rtol=1e-10)
    np.testing.assert_allclose(np.mean([s for _, s in parts], axis=0), slope, rtol=1e-8, atol=1e-9)
    assert not np.allclose(parts[0][1], slope)
    assert logp(x)[0] == pytest.approx(whole, rel=1e-12)


@pytest.mark.parametrize("likelihood", ["pmop", "plackett_luce"])
def test_factors_tell_what_item_means_cannot(likelihood):
    train, test = split(taste(), [20], at_least=30, seed=1)
    items = pd.Index(range(30))
    rankings, held_out = to_rankings(train, items), to_rankings(test, items)
    (found,) = fit_map(
        build(rankings, likelihood=likelihood, n_factors=2, ranker_scale=1.0, beta=0.5)
    )

    def agreement(point):
        score = predict(point, held_out.ranker_idx[:, None], held_out.item)
        taus = [
            kendalltau(s[m], -r[m]).statistic
            for s, r, m in zip(score, held_out.ranks, held_out.mask, strict=True)
        ]
        return np.mean(taus)

    assert agreement(found) > 0.7
    assert agreement(item_mean(rankings)) < 0.3


def test_tied_denominators_leave_tied_items_in_each_others_remainder():
    model = build(TWO, likelihood="tied_denominators", n_factors=1)
    point = {rv.name: np.zeros(rv.shape.eval()) for rv in model.free_RVs}
    point["item_bias"] = np.array([0.3, -0.2, 1.0])
    a, b, c = point["item_bias"]
    ann = (c - logsumexp([a, b, c])) + (a - logsumexp([a, b])) + (b - logsumexp([a, b]))
    bo = b - logsumexp([b, c])
    logp = dict(
        zip(
            [v.name for v in (*model.basic_RVs, *model.potentials)],
            model.compile_logp(sum=False, mode=QUICK)(point),
            strict=True,
        )
    )
    assert float(logp["y"]) == pytest.approx(ann + bo, rel=1e-12)


# Studies


@pytest.mark.slow
def test_adam_on_minibatches_finds_the_mode_of_l_bfgs():
    rankings, model = six()
    scales = {"ranker_scale": 0.05, "item_scale": 0.05}  # factors vanish: one mode
    (by_newton,) = fit_map(model, [scales])
    by_steps = fit_adam(model, rankings, batch_size=2, n_epochs=400, learning_rate=0.05)
    pm.set_data({"ranker_scale": 0.5, "item_scale": 1.0}, model=model)
    for name in ("item_bias", "ranker_level", "ranker_factor"):
        np.testing.assert_allclose(by_steps[name], by_newton[name], atol=0.01)
    assert np.ptp(by_newton["item_bias"]) > 0.2
