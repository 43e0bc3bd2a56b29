"""Quick answers for rankings with one utility per item."""

import numpy as np
import pymc as pm
import pytest
from scipy.special import expit, logsumexp

import bayesrank as br
from bayesrank import priors
from bayesrank.inference.dynamic.chains import find_mode

N = 4 * 1000  # draws by default
OVER = ("chain", "draw")


def weak_orders(seed=0, n_rankings=30, n_items=7, n_ranks=4):
    """Rankings with ties of up to seven items, which differ in strength."""
    rng = np.random.default_rng(seed)
    noisy = np.linspace(1.5, -1.5, n_items) + rng.gumbel(size=(n_rankings, n_items))
    ratings = np.clip(np.round(noisy), -n_ranks / 2, n_ranks / 2)
    shown = np.argsort(rng.random(ratings.shape), axis=1)[:, :5]
    items = [f"item {k}" for k in range(n_items)]
    return br.Rankings.from_orderings(
        [
            [{items[k] for k in row if rating[k] == r} for r in sorted({*rating[row]})[::-1]]
            for row, rating in zip(shown, ratings, strict=True)
        ],
        items=items,
    )


def test_given_a_scale_it_is_the_normal_of_constant_strengths():
    rankings = weak_orders()
    fit = br.fit_rankings(rankings, utility_scale=0.8, random_seed=1)["posterior"]
    at_once = rankings.grouped({"day": np.zeros(rankings.n_rankings)})
    known = {"scale": 0.8}
    other = br.fit_dynamic(at_once, time="day", dynamics="constant", hyperparameters=known)
    normal = find_mode(other.normal.information.chains, other.observations)
    mode = normal.x - normal.x.mean()
    # (1 / 0.8² + H)^-1, of utilities minus their mean
    centred = np.eye(7) - 1 / 7
    covariance = np.linalg.inv(np.eye(7) / 0.8**2 + normal.information.H.toarray())
    sd = np.sqrt(np.diag(centred @ covariance @ centred))
    assert (abs(fit["utility"].mean(OVER) - mode) < 5.5 * sd / np.sqrt(N)).all()
    np.testing.assert_allclose(fit["utility"].std(OVER), sd, rtol=5.5 / np.sqrt(2 * N))
    assert list(fit["item"].values) == list(rankings.items)
    assert fit.attrs["approximation"] == "Laplace"
    assert "utility_scale" not in fit


def test_a_learned_scale_is_integrated_over():
    # two items: the posterior of their lead and of the scale, summed over a grid
    rankings = br.Rankings.from_orderings([["a", "b"]] * 14 + [["b", "a"]] * 6)
    lead, scale = np.linspace(-12, 12, 4001), np.exp(np.linspace(-7, 4, 1501))[:, None]
    sd = np.sqrt(2) * scale
    logp = 14 * np.log(expit(lead)) + 6 * np.log(expit(-lead)) - (lead / sd) ** 2 / 2 - np.log(sd)
    logp = logp - scale**2 / priors.LEARNED**2 / 2 + np.log(scale)
    p = np.exp(logp - logsumexp(logp))
    fit = br.fit_rankings(rankings, random_seed=1)["posterior"]
    drawn = fit["utility"].sel(item="a") - fit["utility"].sel(item="b")
    # tolerances allow for Laplace's approximation as well: a tenth of a standard deviation
    for found, value in ((drawn, lead), (np.log(fit["utility_scale"]), np.log(scale))):
        mean = (p * value).sum()
        spread = np.sqrt((p * (value - mean) ** 2).sum())
        assert abs(float(found.mean()) - mean) < (0.1 + 5.5 / np.sqrt(N)) * spread
        assert float(found.std()) == pytest.approx(spread, rel=0.1 + 5.5 / np.sqrt(2 * N))


@pytest.mark.parametrize("column", ["weight", "count"])
def test_weights_and_counts_count_and_the_seed_decides(column):
    orders = [["a", "b", "c"], ["b", "a", "c"]]
    rankings = br.Rankings.from_orderings(orders, **{column: [3, 1]})
    repeated = br.Rankings.from_orderings([["a", "b", "c"]] * 3 + [["b", "a", "c"]])
    one, other, more = (
        br.fit_rankings(data, utility_scale=1, draws=5, chains=2, random_seed=seed)["posterior"]
        for data, seed in ((rankings, 1), (repeated, 1), (rankings, 2))
    )
    assert one["utility"].shape == (2, 5, 3)
    np.testing.assert_allclose(one["utility"], other["utility"], atol=1e-9)
    assert abs(one["utility"] - more["utility"]).max() > 0.01


def test_an_item_that_is_always_first_has_a_mode_by_its_prior():
    rankings = br.Rankings.from_orderings([["a", "b"]] * 1_000_000)
    utility = br.fit_rankings(rankings, utility_scale=1, random_seed=1)["posterior"]["utility"]
    a = float(utility.mean(OVER).sel(item="a"))
    # the slopes of likelihood and prior are equal: 1e6 sigma(-2a) = a
    assert 1e6 / (1 + np.exp(2 * a)) == pytest.approx(a, rel=0.2)


def test_bad_settings_are_refused():
    rankings = br.Rankings.from_orderings([["a", "b"]])
    with pytest.raises(ValueError, match="`draws` is 0; it must be a whole number, 1 or more"):
        br.fit_rankings(rankings, draws=0)
    for scale in (0, -1.0, np.inf, np.nan):
        with pytest.raises(ValueError, match=r"`utility_scale` is .*; it must be positive and fin"):
            br.fit_rankings(rankings, utility_scale=scale)
    with pytest.raises(TypeError, match=r"Expected Rankings; got Pairs\. Use fit_pairs for Pairs"):
        br.fit_rankings(br.Pairs.from_matrix([[0, 1], [1, 0]], items=["a", "b"]))


@pytest.mark.slow
def test_means_and_deviations_are_those_of_nuts():
    rankings = br.load_nascar()
    with pm.Model(coords=rankings.coords) as model:
        utility = priors.utility_prior("normal", "utility", sigma=None, dims="item")
        br.PlackettLuce("y", utility, observed=rankings)
        nuts = pm.sample(
            1000, chains=4, cores=1, random_seed=1, nuts_sampler="nutpie", progressbar=False
        )["posterior"]
    assert set(model.named_vars) >= {"utility", "utility_scale"}
    quick = br.fit_rankings(rankings, random_seed=1)["posterior"]
    centred = nuts["utility"] - nuts["utility"].mean("item")
    for mine, theirs in (
        (quick["utility"], centred),
        (quick["utility_scale"], nuts["utility_scale"]),
    ):
        sd = theirs.std(OVER)
        assert float((abs(mine.mean(OVER) - theirs.mean(OVER)) / sd).max()) < 0.3
        ratio = mine.std(OVER) / sd
        assert 0.85 < float(ratio.min()) <= float(ratio.max()) < 1.15
