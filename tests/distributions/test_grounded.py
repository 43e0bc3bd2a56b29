"""Votes of "both bad": parameters by group, data, results, checks, and calibration."""

import functools

import numpy as np
import pandas as pd
import pymc as pm
import pytest
from scipy import stats

import bayesrank as br
from bayesrank.distributions.core.observed import set_observed
from bayesrank.match_outcomes import grounded_derivatives
from tests.distributions.pair_examples import UTILITY, pairs_of
from tests.fake_draws import fake_draws

QUICK = "FAST_COMPILE"
OUTCOMES = ["first", "second", "tie", "neither"]


@functools.cache
def votes(seed=1, n=60):
    """Votes of two judges in two categories, with a feature."""
    rng = np.random.default_rng(seed)
    first = rng.integers(0, 4, n)
    table = pd.DataFrame(
        {
            "one": np.array([*"abcd"])[first],
            "two": np.array([*"abcd"])[(first + rng.integers(1, 4, n)) % 4],
            "vote": rng.choice(OUTCOMES, n),
            "who": rng.choice(["u", "v"], n),
            "kind": rng.choice(["x", "y"], n),
            "length": rng.integers(-1, 2, n) / 2,
        }
    )
    return br.Pairs.from_frame(
        table, first="one", second="two", outcome="vote", both_bad="neither", judge="who",
        by="kind", features=["length"], items=[*"abcd"],
    )  # fmt: skip


def rich_model(pairs=None, **more):
    """All parameters by groups, so that the log density is the likelihood."""
    pairs = votes() if pairs is None else pairs
    with pm.Model(coords=pairs.coords) as model:
        model.add_coord("kind_item", pairs.seen("kind").labels)
        br.GroundedRaoKupper(
            "y",
            pm.Flat("utility", dims="item"),
            theta=pm.Flat("theta", dims="judge"),
            threshold=pm.Flat("threshold", dims="judge"),
            adherence=pm.Flat("adherence", dims="judge"),
            order_effect=pm.Flat("order"),
            slope=pm.Flat("slope", dims="feature"),
            deviation=pm.Flat("deviation", dims="kind_item"),
            tie_effect=pm.Flat("ties", dims="kind"),
            observed=pairs,
        )
    return model


def point_at(seed=3):
    rng = np.random.default_rng(seed)
    return {
        "utility": UTILITY + 0.4,
        "theta": np.array([1.4, 2.5]),
        "threshold": np.array([0.3, -0.6]),
        "adherence": np.array([0.7, 1.5]),
        "order": np.array(0.3),
        "slope": np.array([0.4]),
        "deviation": rng.normal(0, 0.5, len(votes().seen("kind").labels)),
        "ties": np.array([0.2, -0.7]),
    }


def exact(pairs, x, seen=None):
    """Log-probability of each pair, from the sizes of the two worths."""
    first, second = pairs.seen("kind").first, pairs.seen("kind").second
    a, tau = x["adherence"][pairs.judge_idx], x["threshold"][pairs.judge_idx]
    effect = (x["order"] + pairs.features[:, 0] * x["slope"][0]) / 2
    p = np.exp(a * (x["utility"][pairs.first] + x["deviation"][first]) + effect - tau)
    q = np.exp(a * (x["utility"][pairs.second] + x["deviation"][second]) - effect - tau)
    kind = pairs.group_idx("kind")
    t = 1 + (x["theta"][pairs.judge_idx] - 1) * np.exp(x["ties"][kind])
    wins, losses, bad = p / (p + t * q + 1), q / (q + t * p + 1), 1 / (1 + p + q)
    counts = pairs.with_both_bad
    chances = np.stack([wins, losses, 1 - wins - losses - bad, bad], axis=1)
    return stats.multinomial.logpmf(counts, counts.sum(axis=1), chances)


def test_every_parameter_has_the_value_and_the_gradient_of_the_definition():
    pairs, model, point = votes(), rich_model(), point_at()
    given = {value.name: point[value.name] for value in model.value_vars}
    by_pair = model.compile_logp(vars=model["y"], sum=False, mode=QUICK)(given)[0]
    np.testing.assert_allclose(by_pair, exact(pairs, point), rtol=1e-11)
    total, slopes = model.logp_dlogp_function(ravel_inputs=True, mode=QUICK)(
        pm.blocking.DictToArrayBijection.map(given).data
    )
    assert total == pytest.approx(exact(pairs, point).sum(), rel=1e-12)
    h, expected = 1e-6, []
    for name in given:
        for at in np.ndindex(point[name].shape):
            move = np.zeros(point[name].shape)
            move[at] = h
            up, down = ({**point, name: point[name] + x} for x in (move, -move))
            expected.append((exact(pairs, up).sum() - exact(pairs, down).sum()) / (2 * h))
    np.testing.assert_allclose(slopes, expected, atol=1e-7)


def test_without_an_order_mirrored_matches_are_one_cell():
    pairs = votes()
    with pm.Model(coords=pairs.coords) as model:
        br.GroundedRaoKupper("y", pm.Flat("utility", dims="item"), theta=1.5, observed=pairs)
    counts, first, second = pairs.with_both_bad, *UTILITY[[pairs.first, pairs.second]]
    logp, _ = grounded_derivatives(first - second, (first + second) / 2, 1.5)
    expected = stats.multinomial.logpmf(counts, counts.sum(axis=1), np.exp(logp))
    f = model.compile_logp(vars=model["y"], mode=QUICK)
    assert float(f({"utility": UTILITY})) == pytest.approx(expected.sum(), rel=1e-12)
    assert len(model["y"].owner.op.structure["layout"].coded) == 0


def test_draws_have_the_probabilities_of_the_outcomes():
    n = 20_000
    options = {"theta": 1.8, "threshold": 0.4, "adherence": 0.5, "order_effect": 0.3}
    y = br.GroundedRaoKupper.dist([0.8, 0.3], **options, total=n)
    logp, _ = grounded_derivatives(0.55, -0.125, 1.8)
    drawn = pm.draw(y, random_seed=4, mode=QUICK)
    assert drawn.sum() == n
    assert stats.chisquare(drawn, n * np.exp(logp)).pvalue > 1e-8
    never = br.GroundedRaoKupper.dist([0.8, 0.3], theta=1.0, total=n)
    assert pm.draw(never, random_seed=4, mode=QUICK)[2] == 0


def test_new_data_and_subsets_keep_the_outcomes():
    pairs = votes()
    with pm.Model(coords=pairs.coords) as model:
        br.GroundedRaoKupper("y", pm.Flat("utility", dims="item"), theta=1.5, observed=pairs)
    before = model.compile_logp(vars=model["y"], sum=False, mode=QUICK)({"utility": UTILITY})
    set_observed("y", pairs[:10], model=model)
    found = model.compile_logp(vars=model["y"], mode=QUICK)({"utility": UTILITY})
    assert float(found) == pytest.approx(before[0][:10].sum(), rel=1e-12)
    with pytest.raises(ValueError, match="'y' do not tell which votes"):
        set_observed("y", pairs_of(), model=model)


# Results


def simple_model(pairs):
    with pm.Model(coords=pairs.coords) as model:
        utility = pm.Normal("utility", 0, 1, dims="item")
        br.GroundedRaoKupper("y", utility, theta=1 + pm.HalfNormal("more", 1), observed=pairs)
    return model


def with_ties(pairs):
    with pm.Model(coords=pairs.coords) as model:
        utility = pm.Normal("utility", 0, 1, dims="item")
        pairs = pairs.with_counts(pairs.counts)
        br.RaoKupper("y", utility, theta=1 + pm.HalfNormal("more", 1), observed=pairs)
    return model


@functools.cache
def results_of(make):
    """Draws of the prior stand for those of a posterior, with log-likelihoods and predictions."""
    with make(votes()):
        prior = pm.sample_prior_predictive(120, random_seed=2, compile_kwargs={"mode": QUICK})
        idata = fake_draws(chains=1, draws=120)
        idata["posterior"] = prior["prior"]
        idata["posterior_predictive"] = prior["prior_predictive"]
        idata["constant_data"], idata["observed_data"] = (
            prior["constant_data"],
            prior["observed_data"],
        )
    return idata


def with_log_likelihood(make):
    idata = results_of(make)
    with make(votes()):
        pm.compute_log_likelihood(idata, progressbar=False, compile_kwargs={"mode": QUICK})
    return idata


def test_checks_are_by_outcome_and_both_bad_counts_half_a_point():
    idata, pairs = results_of(simple_model), votes()
    found = br.match_checks(idata, by=["judge"])
    outcomes = found.loc["outcome", "observed"].droplevel("n_items")
    assert outcomes.index.tolist() == ["first", "second", "tie", "both bad"]
    np.testing.assert_allclose(outcomes, pairs.with_both_bad.sum(axis=0) / pairs.n_matches)
    points = pairs.counts[:, 0] + pairs.counts[:, 2] / 2
    won = np.bincount(pairs.first, points, 4)
    won += np.bincount(pairs.second, pairs.counts.sum(axis=1) - points, 4)
    np.testing.assert_allclose(
        found.loc["points", "observed"], won / pairs.matches_by_item.to_numpy()
    )
    assert "both bad, judge u" in found.loc["group outcome"].index.get_level_values("label")
    assert br.plot_match_checks(found) is not None


@pytest.mark.slow
def test_models_without_both_bad_are_not_compared():
    bad, ties = with_log_likelihood(simple_model), with_log_likelihood(with_ties)
    assert bad["log_likelihood"]["y"].dims == ("chain", "draw", "pair")
    with pytest.raises(ValueError, match="pair outcomes with ties and both bad given the pairs"):
        br.compare({"bad": bad, "ties": ties})


def test_the_outcome_space_is_one_of_its_own():
    baseline = br.baseline_elpd(results_of(simple_model))
    counts = votes().with_both_bad
    chance = stats.multinomial.logpmf(counts, counts.sum(axis=1), [0.25] * 4)
    np.testing.assert_allclose(baseline, chance)


@pytest.mark.parametrize(
    ("error", "message", "make"),
    [
        (
            ValueError,
            r"`theta` holds 0\.9; it must be finite and at least 1",
            lambda: br.GroundedRaoKupper.dist([0.0, 1.0], theta=0.9),
        ),
        (
            TypeError,
            "GroundedRaoKupper needs theta=, its tie parameter",
            lambda: br.GroundedRaoKupper.dist([0.0, 1.0]),
        ),
        (
            ValueError,
            "The pairs of 'y' do not tell which votes say that both items are bad",
            lambda: simple_model(pairs_of()),
        ),
        (
            ValueError,
            r"'y' have \d+ votes that both items are bad, the first about '.' and '.'\. This mo",
            lambda: observe(br.Davidson, nu=1.0),
        ),
        (
            ValueError,
            r"not have that outcome\. Use GroundedRaoKupper\. Or count these votes as ",
            lambda: observe(br.OrderedPairs, cutpoints=[-1.0, 1.0]),
        ),
        (
            TypeError,
            "Davidson got an unexpected keyword argument 'threshold'",
            lambda: observe(br.Davidson, nu=1.0, threshold=0.0),
        ),
        (
            ValueError,
            r"have shape \(2, 3\); their last axis must be the 4 outcomes: .*, ties, both bad",
            lambda: observe_array(np.ones((2, 3), int)),
        ),
    ],
)
def test_a_bad_argument_is_refused_with_the_reason(error, message, make):
    with pytest.raises(error, match=message):
        make()


def observe(family, **options):
    pairs = votes()
    with pm.Model(coords=pairs.coords):
        family("y", pm.Normal("utility", 0, 1, dims="item"), observed=pairs, **options)


def observe_array(counts):
    with pm.Model():
        br.GroundedRaoKupper("y", pm.Normal("u", 0, 1, shape=2), theta=1.5, observed=counts)
