"""Part-worths: utilities of slots from features, for all rankers or for each."""

import numpy as np
import pandas as pd
import pymc as pm
import pytest
from scipy.optimize import minimize

import bayesrank as br

ALTERNATIVES = ["PC", "GameBoy", "GameCube", "PSPortable", "PlayStation", "Xbox"]
# mlogit 1.1-1 (R), ch ~ own | hours + age, reflevel = "PC": the vignette's estimates
PUBLISHED = {
    "alternative": (1.570379, 1.404095, 2.583563, 2.278506, 2.733774),
    "own": (0.963367,),
    "alternative:hours": (-0.235611, -0.187070, -0.233688, -0.129196, -0.173006),
    "alternative:age": (-0.073587, -0.067574, -0.088669, -0.067006, -0.066659),
}


@pytest.fixture(scope="module")
def tasks():
    """Two respondents rank three phones twice."""
    frame = pd.DataFrame(
        {
            "id": np.repeat(["u", "v"], 6),
            "set": np.tile(np.repeat([1, 2], 3), 2),
            "phone": np.tile(list("pqr"), 4),
            "rank": [1, 2, 3, 3, 1, 2, 2, 1, 3, 1, 3, 2],
            "brand": list("ABCBCAACBCAB"),
            "price": [1.0, 2.0, 4.0, 3.0, 3.0, 1.0, 2.0, 5.0, 1.0, 4.0, 2.0, 2.0],
        }
    )
    return br.Rankings.from_choices(
        frame,
        respondent="id",
        task="set",
        alternative="phone",
        rank="rank",
        attributes=["brand", "price"],
    )


def built(tasks, **options):
    with pm.Model(coords=tasks.coords) as model:
        utility = br.part_worths(tasks, **options)
        br.PlackettLuce("choice", utility, observed=tasks)
    return model


def exploded(features, worths):
    """Return the log-likelihood of full rankings, stage by stage."""
    total = 0.0
    for x, worth in zip(features, worths, strict=True):
        u = x @ worth
        total += sum(u[k] - np.logaddexp.reduce(u[k:]) for k in range(len(u)))
    return total


def test_part_worths_for_all_give_the_rank_ordered_logit(tasks):
    model = built(tasks)
    assert model.named_vars_to_dims["part_worth"] == ("feature",)
    worth = np.array([0.3, -0.2, 0.7])
    logp = model.compile_logp(vars=model["choice"], mode="FAST_COMPILE")
    assert logp({"part_worth": worth}) == pytest.approx(exploded(tasks.features, [worth] * 4))
    np.testing.assert_array_equal(model["part_worth_features"].get_value(), tasks.features)


def test_part_worths_by_ranker_are_pooled(tasks):
    model = built(tasks, by_ranker=True, scale=1.5, spread=0.5)
    assert [rv.name for rv in model.free_RVs] == [
        "part_worth_mean",
        "part_worth_offset",
        "part_worth_spread",
    ]
    assert model.named_vars_to_dims["part_worth"] == ("ranker", "feature")
    assert model.coords["feature"] == ("brand[B]", "brand[C]", "price")
    mean, spread = np.array([0.3, -0.2, 0.7]), np.array([0.5, 1.0, 2.0])
    offset = np.array([[0.1, 0.2, -0.3], [-1.0, 0.5, 0.4]])
    at = {"part_worth_mean": mean, "part_worth_offset": offset}
    at["part_worth_spread_log__"] = np.log(spread)
    logp = model.compile_logp(vars=model["choice"], mode="FAST_COMPILE")
    worths = mean + spread * offset
    expected = exploded(tasks.features, worths[tasks.ranker_idx])
    assert logp(at) == pytest.approx(expected)


def test_priors_are_for_a_level_or_a_standard_deviation():
    frame = pd.DataFrame({"set": [1, 1, 2, 2], "x": list("abab"), "cents": [100, 300, 200, 400]})
    raw = br.Rankings.from_choices(
        frame.assign(chosen=[1, 0, 0, 1]),
        task="set",
        alternative="x",
        chosen="chosen",
        attributes=["x", "cents"],
        standardise=False,
    )
    with pm.Model():
        br.part_worths(raw, scale=3.0)
        model = pm.modelcontext(None)
    sigma = model["part_worth"].owner.inputs[-1].eval()
    np.testing.assert_allclose(sigma, [3.0, 3.0 / np.std(frame["cents"])])


def test_correlated_part_worths_have_an_lkj_prior(tasks):
    model = built(tasks, by_ranker=True, correlated=True)
    names = ("part_worth", "part_worth_spread", "part_worth_correlation")
    with model:
        draws = pm.draw(
            [model[name] for name in names], draws=3, random_seed=1, mode="FAST_COMPILE"
        )
    worth, spread, correlation = draws
    assert worth.shape == (3, 2, 3)
    assert (spread > 0).all()
    np.testing.assert_allclose(np.diagonal(correlation, axis1=1, axis2=2), 1.0)
    assert model.named_vars_to_dims["part_worth_correlation"] == ("feature", "other_feature")


def test_correlations_need_rankers(tasks):
    message = "give by_ranker=True and at least two features"
    with pm.Model(coords=tasks.coords), pytest.raises(ValueError, match=message):
        br.part_worths(tasks, correlated=True)


def test_rankings_need_features_and_the_model_their_coords(tasks):
    with (
        pm.Model(),
        pytest.raises(ValueError, match=r"have no features\. Read them with attributes="),
    ):
        br.part_worths(br.Rankings.from_orderings([["a", "b"]]))
    with (
        pm.Model(coords={"feature": ["a", "b", "c"]}),
        pytest.raises(ValueError, match=r"coord 'feature' has the labels 'a', 'b', 'c', but the r"),
    ):
        br.part_worths(tasks)


def test_the_published_fit_of_game_is_reproduced(data_dir):
    path = data_dir / "Game" / "Game.csv"
    if not path.exists():
        pytest.skip("needs Game.csv of the R package mlogit in the folder Game of BAYESRANK_DATA")
    tasks = br.Rankings.from_choices_wide(
        pd.read_csv(path),
        alternatives=ALTERNATIVES,
        varying=["own", "ch"],
        rank="ch",
        naming="{attribute}.{alternative}",
        attributes=[*PUBLISHED],
        standardise=False,
    )
    model = built(tasks)
    logp = model.compile_logp(vars=model["choice"], mode="FAST_COMPILE")
    with model:
        pm.Potential("no_prior", -pm.logp(model["part_worth"], model["part_worth"]).sum())
    dlogp = model.compile_dlogp(vars=model["part_worth"], mode="FAST_COMPILE")
    fit = minimize(
        lambda worth: -float(logp({"part_worth": worth})),
        np.zeros(16),
        jac=lambda worth: -dlogp({"part_worth": worth}),
        options={"gtol": 1e-6},
    )
    assert -fit.fun == pytest.approx(-516.552027, abs=1e-6)
    published = np.concatenate([*PUBLISHED.values()])
    np.testing.assert_allclose(fit.x, published, atol=1e-4)
