"""The model of scores: what folds tell, the correlated t-test, families, and bad data."""

import numpy as np
import pandas as pd
import pymc as pm
import pytensor.tensor as pt
import pytest
from scipy import stats

import bayesrank as br
from bayesrank.analysis.scores import _per_fold, score_cells
from bayesrank.inference import sample

LONG = {"item": "model", "case": "task", "score": "score"}


def table_of(values, *, fold=True):
    """Write scores (n_cases, n_folds, n_items) as a long table, without missing ones."""
    rows = [
        (f"m{i}", f"t{c}", f, values[c, f, i])
        for c, f, i in np.ndindex(values.shape)
        if not np.isnan(values[c, f, i])
    ]
    out = pd.DataFrame(rows, columns=["model", "task", "fold", "score"])
    return out if fold else out.drop(columns="fold")


def simulated(seed, *, n_items=5, n_cases=12, n_folds=3, families=0, missing=0.0):
    """Simulate scores, with the true utilities."""
    rng = np.random.default_rng(seed)
    utility = rng.normal(0, 0.03, n_items)
    level = rng.uniform(0.4, 0.9, (n_cases, 1, 1))
    factor = 1 / rng.gamma(2.5, 1 / 2.5, (n_cases, 1, 1))
    apart = 0.03 * np.sqrt(factor) * rng.normal(size=(n_cases, 1, n_items))
    if families:
        apart += 0.03 * rng.normal(size=(families, 1, n_items))[np.arange(n_cases) % families]
    noise = 0.02 * rng.normal(size=(n_cases, n_folds, n_items))
    values = level + utility + apart + (noise if n_folds > 1 else 0)
    values[np.broadcast_to(rng.random((n_cases, 1, n_items)) < missing, values.shape)] = np.nan
    table = table_of(values)
    number = table["task"].str[1:].astype(int)
    table["family"] = "f" + (number % max(families, 1)).astype(str)
    return table, utility - utility.mean()


def rankings_of(table, **more):
    return br.Rankings.from_scores(table, **LONG, fold="fold", **more)


@pytest.mark.parametrize("correlation", [0.0, 0.1, None])
def test_two_items_and_one_case_give_the_correlated_t_test(correlation):
    """Corani and Benavoli (2015), with the variance of the folds marginalised numerically."""
    rng, n = np.random.default_rng(1), 10
    values = rng.normal(0.7, 0.02, (2, n, 2))
    cells = score_cells(rankings_of(table_of(values)))
    difference = values[0, :, 0] - values[0, :, 1]
    rho = 1 / n if correlation is None else correlation
    exact = stats.t(
        n - 1, difference.mean(), np.sqrt((1 / n + rho / (1 - rho)) * difference.var(ddof=1))
    )
    omega = np.exp(np.linspace(np.log(1e-6), 0, 4000))[:, None]  # p(omega) is 1 / omega
    leads = np.linspace(-0.05, 0.05, 7)
    sd = np.sqrt(omega * _per_fold(cells, correlation)[:2].sum())
    log_p = stats.norm.logpdf(cells.score[0] - cells.score[1], leads, sd)
    log_p = log_p + stats.gamma.logpdf(cells.squares[0], cells.dof[0] / 2, scale=2 * omega)
    found = np.log(np.exp(log_p).sum(axis=0))
    np.testing.assert_allclose(np.diff(found), np.diff(exact.logpdf(leads)), rtol=1e-6)


def test_effects_of_folds_do_not_count_as_noise():
    rng = np.random.default_rng(2)
    values = rng.normal(size=(3, 4, 5))
    plain = score_cells(rankings_of(table_of(values)))
    moved = score_cells(rankings_of(table_of(values + rng.normal(size=(3, 4, 1)))))
    np.testing.assert_allclose(plain.squares, moved.squares)
    assert plain.dof.tolist() == [12] * 3
    # with a missing score, by least squares; the hard fold lowers no item that was not run in it
    values[:, 0] -= 5
    values[0, 0, 1] = np.nan
    cells = score_cells(rankings_of(table_of(values)))
    assert cells.dof.tolist() == [11, 12, 12]
    np.testing.assert_allclose(cells.squares[1:], plain.squares[1:])
    assert abs(cells.score[1] - cells.score[0]) < 3
    assert cells.n_folds[:3].tolist() == [4, 3, 4]


@pytest.mark.parametrize(("families", "n_folds"), [(0, 1), (3, 3)])
def test_gradients_are_finite_and_the_truth_is_more_probable(families, n_folds):
    table, utility = simulated(3, families=families, n_folds=n_folds, missing=0.1)
    rankings = rankings_of(table, by=["family"] if families else ())
    model = br.scores_model(rankings, family="family" if families else None)
    point = model.initial_point(random_seed=1)
    assert np.isfinite(model.compile_dlogp(mode="FAST_COMPILE")(point)).all()
    u = utility[[int(name[1:]) for name in model.coords["item"]]]
    with model:
        values = {rv.name: rv for rv in model.free_RVs}
        transform = model.rvs_to_transforms[values["utility"]]
    log_p = model.compile_logp(mode="FAST_COMPILE")
    name = model.rvs_to_values[values["utility"]].name
    at = [log_p(point | {name: transform.forward(pt.as_tensor(x)).eval()}) for x in (u, -u)]
    assert at[0] > at[1]


def test_names_of_dims_and_variables_are_those_of_the_data():
    table, _ = simulated(3, families=3)
    model = br.scores_model(rankings_of(table, by=["family"]), family="family")
    assert [*model.coords["family"]] == ["f0", "f1", "f2"]
    assert model.named_vars_to_dims["family_deviation"] == ("family", "item")
    assert [rv.name for rv in model.observed_RVs] == ["within", "score"]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"fold_correlation": 1.0}, "`fold_correlation` is 1.0; it must be at least 0"),
        ({"family": "size"}, "`cluster` is 'size', but the groups of the data are none"),
    ],
)
def test_bad_arguments_get_a_sentence(change, message):
    rankings = rankings_of(simulated(1)[0])
    with pytest.raises(ValueError, match=message):
        br.scores_model(rankings, **change)


def test_bad_data_get_a_sentence():
    with pytest.raises(ValueError, match=r"have no scores.*br\.read_scores"):
        br.scores_model(br.Rankings.from_orderings([["a", "b"]]))
    table = simulated(1)[0].assign(weight=lambda x: 1.0 + (x["task"] == "t3"))
    with pytest.raises(ValueError, match=r"case 't3' has 2\. If cases are variants"):
        br.scores_model(rankings_of(table, weight="weight"))
    both = simulated(1)[0]
    both["family"] = both["fold"].astype(str)
    with pytest.raises(ValueError, match=r"case 't0' has several labels of 'family'"):
        br.scores_model(rankings_of(both, by=["family"]), family="family")
    alone = pd.DataFrame({"model": ["a", "b", "c"], "task": ["x", "y", "z"], "score": [1.0, 2, 3]})
    with pytest.warns(br.data.UninformativeRankingWarning):
        rankings = br.Rankings.from_scores(alone, **LONG)
    with pytest.raises(ValueError, match="No case has scores of two items"):
        br.scores_model(rankings)


def test_selections_keep_the_scores():
    rankings = rankings_of(simulated(1)[0])
    some = rankings.drop_items(["m1"])[:6]
    expected = rankings.scores.of(rankings.items)[:6, rankings.items != "m1"]
    np.testing.assert_array_equal(some.scores.of(some.items), expected)
    assert rankings.collapse().scores is None


@pytest.mark.slow
def test_sampled_draws_agree_with_the_correlated_t_test():
    """The prior of the variance of the folds is replaced by 1 / omega, with importance weights."""
    rng, n = np.random.default_rng(5), 10
    values = rng.normal(0.7, 0.02, (2, n, 2))
    values[0, :, 0] += 0.01
    model = br.scores_model(rankings_of(table_of(values)))
    fixed = {
        "deviation_sd": 1e-6, "case_factor": np.array([1.0, 1e12]), "log_fold_sd": np.log(0.02),
        "fold_sd_spread": 1.0, "utility_scale": 10.0, "degrees": 5.0,
    }  # fmt: skip
    with pm.do(model, fixed):
        draws = sample(4000, tune=1000, chains=4, random_seed=1, nuts={"target_accept": 0.9})
    u = draws["posterior"]["utility"]
    lead = (u.isel(item=0) - u.isel(item=1)).values.ravel()
    weight = 1 / stats.norm.pdf(draws["posterior"]["fold_z"].isel(case=0).values.ravel())
    difference = values[0, :, 0] - values[0, :, 1]
    scale = np.sqrt((1 / n + (1 / n) / (1 - 1 / n)) * difference.var(ddof=1))
    exact = stats.t(n - 1, difference.mean(), scale)
    for at in (-0.01, 0.0, 0.01, 0.02):
        p = (weight * (lead < at)).sum() / weight.sum()
        n_effective = weight.sum() ** 2 / (weight**2).sum() / 4  # draws are correlated
        error = np.sqrt(exact.cdf(at) * exact.sf(at) / n_effective)
        assert abs(p - exact.cdf(at)) < 5 * error


@pytest.mark.slow
def test_intervals_cover_the_truth():
    inside = []
    for seed in range(4):
        families = 6 * (seed % 2)
        table, utility = simulated(
            seed, n_items=8, n_cases=24, n_folds=1 + 2 * (seed % 2), families=families, missing=0.1
        )
        rankings = rankings_of(table, by=["family"] if families else ())
        model = br.scores_model(
            rankings, family="family" if families else None, fold_correlation=0.0
        )
        with model:
            draws = sample(500, tune=500, chains=2, random_seed=1, nuts={"target_accept": 0.9})
        u = draws["posterior"]["utility"]
        truth = utility[[int(name[1:]) for name in u["item"].values]]
        low, high = u.quantile([0.05, 0.95], ("chain", "draw")).values
        inside += [*((low <= truth) & (truth <= high))]
    n = len(inside)
    # utilities of one table depend on each other, so the standard error is doubled
    assert abs(np.mean(inside) - 0.9) < 5 * 2 * np.sqrt(0.09 / n)
