"""Ordered grades: definitions, special cases, parameters by group, checks, and calibration."""

import functools
import warnings

import numpy as np
import pandas as pd
import pymc as pm
import pytensor.tensor as pt
import pytest
from scipy import stats

import bayesrank as br
from bayesrank.distributions.core.observed import set_observed
from bayesrank.match_outcomes import FAMILIES, grade_derivatives, grade_probabilities
from tests.distributions.calibration import bins_of_ranks, sample, uniformity
from tests.distributions.pair_examples import FAMILIES as OF_WINS
from tests.distributions.pair_examples import UTILITY, pairs_of
from tests.fake_draws import fake_draws

GRADES = ["A>>B", "A>B", "A=B", "B>A", "B>>A"]
QUICK = "FAST_COMPILE"
CUTS = np.array([-1.3, -0.2, 0.5, 1.1])
each_family = pytest.mark.parametrize("family", FAMILIES)
# the battery of `tests/cases.py` has all families of `.dist`
one_family = pytest.mark.parametrize(
    "family", [FAMILIES[0], *(pytest.param(x, marks=pytest.mark.slow) for x in FAMILIES[1:])]
)


@functools.cache
def votes(n_grades=5, seed=1):
    """Votes of two judges in two categories, with a feature."""
    rng = np.random.default_rng(seed)
    first = rng.integers(0, 4, 40)
    table = pd.DataFrame(
        {
            "one": np.array([*"abcd"])[first],
            "two": np.array([*"abcd"])[(first + rng.integers(1, 4, 40)) % 4],
            "verdict": rng.integers(0, n_grades, 40),
            "who": rng.choice(["u", "v"], 40),
            "kind": rng.choice(["x", "y"], 40),
            "length": rng.integers(-1, 2, 40) / 2,
        }
    )
    grades = GRADES if n_grades == 5 else [f"grade {k}" for k in range(n_grades)]
    table["verdict"] = np.array(grades)[table["verdict"]]
    return br.Pairs.from_frame(
        table, first="one", second="two", outcome="verdict", grades=grades, judge="who",
        by="kind", features=["length"], items=[*"abcd"],
    )  # fmt: skip


def exact(pairs, lead, cuts, family):
    """Log-probability of each pair, from that of each grade."""
    logp, _, _ = grade_derivatives(lead, cuts, family)
    counts = pairs.by_grade[1]
    return stats.multinomial.logpmf(counts, counts.sum(axis=1), np.exp(logp))


def rich_model(family, pairs=None):
    """All parameters by groups, so that the log density is the likelihood."""
    pairs = votes() if pairs is None else pairs
    with pm.Model(coords=pairs.coords) as model:
        model.add_coord("kind_item", pairs.seen("kind").labels)
        br.OrderedPairs(
            "y",
            pm.Flat("utility", dims="item"),
            cutpoints=pm.Flat("cut", dims=("boundary", "judge")),
            family=family,
            adherence=pm.Flat("adherence", dims="judge"),
            order_effect=pm.Flat("order"),
            slope=pm.Flat("slope", dims="feature"),
            deviation=pm.Flat("deviation", dims="kind_item"),
            observed=pairs,
        )
    return model


def point_at(pairs, seed=3):
    rng = np.random.default_rng(seed)
    return {
        "utility": UTILITY,
        "cut": np.stack([CUTS, CUTS * 1.4 + 0.1], axis=1),
        "adherence": np.array([0.7, 1.5]),
        "order": np.array(0.3),
        "slope": np.array([0.4]),
        "deviation": rng.normal(0, 0.5, len(pairs.seen("kind").labels)),
    }


def lead_at(pairs, point):
    first, second = pairs.seen("kind").first, pairs.seen("kind").second
    gap = point["utility"][pairs.first] - point["utility"][pairs.second]
    gap = gap + point["deviation"][first] - point["deviation"][second]
    slope = pairs.features[:, 0] * point["slope"][0]
    return point["adherence"][pairs.judge_idx] * gap + point["order"] + slope


@one_family
def test_every_parameter_has_the_value_and_the_gradient_of_the_definition(family):
    pairs, model = votes(), rich_model(family)
    y, point = model["y"], point_at(votes())

    def logp(x):
        return exact(pairs, lead_at(pairs, x), x["cut"].T[pairs.judge_idx], family)

    given = {value.name: point[value.name] for value in model.value_vars}
    by_pair = model.compile_logp(vars=y, sum=False, mode=QUICK)(given)[0]
    np.testing.assert_allclose(by_pair, logp(point), rtol=1e-12)
    total, slopes = model.logp_dlogp_function(ravel_inputs=True, mode=QUICK)(
        pm.blocking.DictToArrayBijection.map(given).data
    )
    assert total == pytest.approx(logp(point).sum(), rel=1e-12)
    h, expected = 1e-6, []
    for name in given:
        for at in np.ndindex(point[name].shape):
            move = np.zeros(point[name].shape)
            move[at] = h
            up, down = ({**point, name: point[name] + x} for x in (move, -move))
            expected.append((logp(up).sum() - logp(down).sum()) / (2 * h))
    np.testing.assert_allclose(slopes, expected, atol=1e-7)


THREE = [
    ("cumulative_logit", "RaoKupper", lambda cut: np.exp(cut)),
    ("adjacent_logit", "Davidson", lambda cut: np.exp(cut / 2)),
]


@pytest.mark.parametrize(("family", "name", "tie"), THREE)
def test_three_grades_are_the_models_with_ties(family, name, tie):
    pairs, cut = pairs_of(), np.array([-0.8, 0.8])
    wins = OF_WINS[name]
    lead = UTILITY[pairs.first] - UTILITY[pairs.second]
    with pm.Model(coords=pairs.coords) as model:
        utility = pm.Flat("utility", dims="item")
        br.OrderedPairs("y", utility, cutpoints=cut, family=family, observed=pairs)
        options = {"dims": ("match", "end"), **wins.options(tie(0.8))}
        wins.distribution("z", utility, observed=pairs, **options)
    expected = wins.logp(pairs.counts, lead, tie(0.8))
    f = model.compile_logp(vars=model.observed_RVs, sum=False, mode=QUICK)
    for found in f({"utility": UTILITY}):
        np.testing.assert_allclose(found, expected, rtol=1e-12)


@pytest.mark.parametrize(
    ("family", "name"),
    [
        ("cumulative_logit", "BradleyTerry"),
        ("adjacent_logit", "BradleyTerry"),
        ("cumulative_probit", "Thurstone"),
    ],
)
def test_two_grades_are_the_models_without_ties(family, name):
    counts, lead = np.array([[3, 1], [0, 2]]), np.array([0.9, -0.4])
    utility = np.stack([lead, np.zeros(2)], axis=1)
    y = br.OrderedPairs.dist(utility, cutpoints=[0.0], family=family)
    found = pm.logp(y, counts).eval(mode=QUICK)
    np.testing.assert_allclose(found, OF_WINS[name].logp(counts, lead), rtol=1e-12)


@one_family
def test_draws_have_the_probabilities_of_the_grades(family):
    n = 20_000
    y = br.OrderedPairs.dist([0.8, 0.3], cutpoints=CUTS, family=family, total=n)
    logp, _, _ = grade_derivatives(0.5, CUTS, family)
    drawn = pm.draw(y, random_seed=4, mode=QUICK)
    assert drawn.sum() == n
    assert stats.chisquare(drawn, n * np.exp(logp)).pvalue > 1e-8
    one = br.OrderedPairs.dist([0.8, 0.3], cutpoints=CUTS, family=family, shape=(7, 5))
    assert pm.draw(one, random_seed=4, mode=QUICK).sum(axis=1).tolist() == [1] * 7


def test_impossible_values_and_cutpoints():
    y = br.OrderedPairs.dist([0.8, 0.3], cutpoints=CUTS, total=2)
    values = np.array([[2, 0, 0, 0, 0], [1, 0, 0, 0, 0], [3, -1, 0, 0, 0]])
    found = [pm.logp(y, value).eval(mode=QUICK) for value in values]
    assert np.isfinite(found).tolist() == [True, False, False]
    falling = br.OrderedPairs.dist([0.8, 0.3], cutpoints=CUTS[::-1])
    message = "utilities and effects must be finite, cutpoints finite and increasing"
    with pytest.raises(pm.logprob.utils.ParameterValueError, match=message):
        pm.logp(falling, [1, 0, 0, 0, 0]).eval(mode=QUICK)
    free = br.OrderedPairs.dist([0.8, 0.3], cutpoints=CUTS[::-1], family="adjacent_logit")
    assert np.isfinite(pm.logp(free, [1, 0, 0, 0, 0]).eval(mode=QUICK))


def observe(**options):
    pairs = options.pop("observed", votes())
    with pm.Model(coords=pairs.coords):
        utility = pm.Normal("utility", 0, 1, dims="item")
        br.OrderedPairs("y", utility, observed=pairs, **options)


@pytest.mark.parametrize(
    ("error", "message", "make"),
    [
        (
            ValueError,
            r"`family` is 'logit'; it must be one of 'cumulative_logit', 'cumulative_probit'",
            lambda: br.OrderedPairs.dist([0.0, 1.0], cutpoints=[0.0], family="logit"),
        ),
        (
            ValueError,
            r"`family` is 'probit'; it must be one of",
            lambda: br.cutpoints("cut", votes(), family="probit"),
        ),
        (TypeError, "OrderedPairs needs cutpoints=", lambda: br.OrderedPairs.dist([0.0, 1.0])),
        (
            ValueError,
            "`cutpoints` is a single number; give a list",
            lambda: br.OrderedPairs.dist([0.0, 1.0], cutpoints=1.0),
        ),
        (
            ValueError,
            "`cutpoints` is empty; give at least one",
            lambda: br.OrderedPairs.dist([0.0, 1.0], cutpoints=[]),
        ),
        (ValueError, "`cutpoints` holds nan; it must be finite", lambda: observe(
            cutpoints=[-1.0, np.nan, 0.5, 1.0])),
        (
            ValueError,
            r"`cutpoints` of 'y' has shape \(2,\); with these pairs it is one per boundary, sha",
            lambda: observe(cutpoints=[-1.0, 1.0]),
        ),
        (
            TypeError,
            "OrderedPairs got an unexpected keyword argument 'tie_effect'",
            lambda: observe(cutpoints=CUTS, tie_effect=1.0),
        ),
        (
            ValueError,
            r"have shape \(2, 3\); their last axis must be the 5 outcomes: grade 1, grade 2",
            lambda: observe_array(np.ones((2, 3), int)),
        ),
    ],
)  # fmt: skip
def test_a_bad_argument_is_refused_with_the_reason(error, message, make):
    with pytest.raises(error, match=message):
        make()


def observe_array(counts):
    with pm.Model() as model:
        utility = pm.Normal("utility", 0, 1, shape=2)
        br.OrderedPairs("y", utility, cutpoints=CUTS, observed=counts)
    return model


def test_arrays_of_counts_have_the_outcome_space_of_their_grades():
    model = observe_array([[1, 0, 2, 0, 0]])
    assert model.coords["y_outcome"] == ("pair outcomes of 5 grades given the pairs",)


def test_new_data_must_have_the_same_grades():
    model = rich_model("cumulative_logit")
    given = {x.name: point_at(votes())[x.name] for x in model.value_vars}
    half = votes()[:10]
    set_observed("y", half, model=model)
    point, logp = point_at(votes()), model.compile_logp(vars=model["y"], mode=QUICK)
    expected = exact(half, lead_at(votes(), point)[:10], point["cut"].T[half.judge_idx],
                     "cumulative_logit")  # fmt: skip
    assert float(logp(given)) == pytest.approx(expected.sum(), rel=1e-12)
    with pytest.raises(
        ValueError, match=r"'y' has the grades 'A>>B', .* but the new pairs have 'g"
    ):
        set_observed("y", votes(4), model=model)


@pytest.mark.parametrize(("n_grades", "by"), [(2, None), (3, None), (5, "judge"), (6, None)])
@each_family
def test_default_cutpoints_are_symmetric(n_grades, by, family):
    pairs = votes(n_grades)
    with pm.Model(coords=pairs.coords) as model:
        cut = br.cutpoints("cut", pairs, family=family, by=by)
    found = pm.draw(cut, draws=20, random_seed=1, mode=QUICK)
    assert found.shape == (20, *([2] if by else []), n_grades - 1)
    np.testing.assert_allclose(found, -found[..., ::-1], atol=1e-15)
    assert model.named_vars_to_dims["cut"] == (*([by] if by else []), "boundary")
    if family != "adjacent_logit":
        assert (np.diff(found, axis=-1) > 0).all()
    with model, pytest.raises(ValueError, match="The model has the boundaries"):
        br.cutpoints("other", votes(4))


# Results


def graded_model(pairs, family="cumulative_logit", **options):
    with pm.Model(coords=pairs.coords) as model:
        utility = pm.Normal("utility", 0, 1, dims="item")
        cut = br.cutpoints("cutpoint", pairs, family=family)
        br.OrderedPairs("y", utility, cutpoints=cut, family=family, observed=pairs, **options)
    return model


def with_ties(pairs):
    with pm.Model(coords=pairs.coords) as model:
        utility = pm.Normal("utility", 0, 1, dims="item")
        br.RaoKupper("y", utility, theta=1 + pm.HalfNormal("more", 1), observed=pairs)
    return model


@functools.cache
def results_of(make, pairs_name="votes", **options):
    """Draws of the prior stand for those of a posterior, with log-likelihoods and predictions."""
    pairs = votes() if pairs_name == "votes" else pairs_of()
    with make(pairs, **options):
        prior = pm.sample_prior_predictive(120, random_seed=2, compile_kwargs={"mode": QUICK})
        idata = fake_draws(chains=1, draws=120)
        idata["posterior"] = prior["prior"]
        pm.compute_log_likelihood(idata, progressbar=False, compile_kwargs={"mode": QUICK})
    idata["posterior_predictive"] = prior["prior_predictive"]
    return idata


def test_checks_are_by_grade_and_points_say_who_won():
    idata, pairs = results_of(graded_model), votes()
    assert idata["log_likelihood"]["y"].dims == ("chain", "draw", "pair")
    found = br.match_checks(idata, by=["judge"])
    outcomes = found.loc["outcome", "observed"].droplevel("n_items")
    assert outcomes.index.tolist() == GRADES
    np.testing.assert_allclose(outcomes, pairs.grade_counts.sum(axis=0) / pairs.n_matches)
    points = pairs.counts[:, 0] + pairs.counts[:, 2] / 2
    won = np.bincount(pairs.first, points, 4)
    won += np.bincount(pairs.second, pairs.counts.sum(axis=1) - points, 4)
    expected = won / pairs.matches_by_item.to_numpy()
    np.testing.assert_allclose(found.loc["points", "observed"], expected)
    assert "A>>B, judge u" in found.loc["group outcome"].index.get_level_values("label")
    assert br.plot_match_checks(found) is not None


def test_models_of_other_grades_are_not_compared():
    message = "pair outcomes of 5 grades given the pairs"
    with pytest.raises(ValueError, match=message):
        br.compare({"five": results_of(graded_model), "ties": results_of(with_ties)})


@pytest.mark.slow
def test_models_of_the_same_grades_are_compared():
    models = {
        "cumulative": results_of(graded_model),
        "adjacent": results_of(graded_model, family="adjacent_logit"),
    }
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # draws of the prior have large Pareto k
        assert set(br.compare(models, baseline=True).index) >= set(models)
        three = {
            "grades": results_of(graded_model, "wins"),
            "ties": results_of(with_ties, "wins"),
        }
        assert set(br.compare(three).index) >= set(three)


def test_probabilities_of_wins_and_ties_refuse_grades():
    with pytest.raises(ValueError, match=r"The matches have 5 grades, .* use win_probability\."):
        br.match_probability(results_of(graded_model))
    assert br.win_probability(results_of(graded_model)).shape == (4, 4)


@pytest.mark.slow
@each_family
def test_posteriors_of_simulated_votes_are_calibrated(family):
    # every simulation has items and a judge of its own
    n, rng = 80, np.random.default_rng(6)
    truth = rng.normal(size=(n, 3))
    upper = np.abs(rng.normal(size=(n, 2))).cumsum(axis=1)
    cuts = np.concatenate([-upper[:, ::-1], upper], axis=1)
    table = []
    for judge in range(n):
        for one, other in [(0, 1), (1, 2), (2, 0)] * 5:
            p = grade_probabilities(truth[judge, one] - truth[judge, other], cuts[judge], family)
            verdict = GRADES[rng.choice(5, p=p)]
            table.append((3 * judge + one, 3 * judge + other, judge, verdict))
    pairs = br.Pairs.from_frame(
        pd.DataFrame(table, columns=["one", "two", "who", "verdict"]),
        first="one", second="two", judge="who", outcome="verdict", grades=GRADES,
    )  # fmt: skip
    with pm.Model(coords=pairs.coords):
        utility = pm.Normal("utility", 0, 1, dims="item")
        gap = pm.HalfNormal("gap", 1, shape=(n, 2))
        top = pt.cumsum(gap, axis=1)
        cut = pt.concatenate([-top[:, ::-1], top], axis=1)
        cut = pm.Deterministic("cut", cut, dims=("judge", "boundary"))
        br.OrderedPairs("y", utility, cutpoints=cut, family=family, observed=pairs)
        idata = sample(500)
    posterior = idata["posterior"].dataset
    by_judge = posterior["utility"].values.reshape(*posterior["utility"].shape[:2], n, 3)
    lead = by_judge[..., 0] - by_judge[..., 1]
    idata["posterior"] = posterior.assign(lead=(("chain", "draw", "judge"), lead))
    true = [truth[:, 0] - truth[:, 1], np.diff(upper, axis=1, prepend=0)]
    bins = bins_of_ranks(true, ["lead", "gap"], idata)
    assert (uniformity(bins) > 1e-7).all()
