"""The best mode of a mixture, and memberships: plain EM, simulated rankers, bad data."""

import functools

import numpy as np
import pymc as pm
import pytensor
import pytest
import xarray as xr
from scipy.optimize import linear_sum_assignment
from scipy.special import softmax

import bayesrank as br
from bayesrank.inference import MixtureWarning, component_probabilities, fit_mixture
from bayesrank.inference.mixtures import em as components
from bayesrank.likelihoods.mixture import joint_logp
from tests import builders
from tests.inference.plain_em import plain_em, plain_logp
from tests.likelihoods.mallows.permutations import every_ranking

ITEMS = list("abcdef")
WEIGHTS = np.array([0.3, 0.7])
UTILITY = np.array([[2.0, 1.0, 0.0, 0.0, -1.0, -2.0], [-1.5, 0.0, 0.5, -0.5, 0.5, 1.0]])
N = 600


def simulated(n=N, turns=1, seed=5):
    """Full rankings of people of two components, and the component of each person."""
    rng = np.random.default_rng(seed)
    component = rng.choice(2, size=n, p=WEIGHTS)
    noise = rng.gumbel(size=(n, turns, len(ITEMS)))
    ordering = (-(UTILITY[component][:, None] + noise)).argsort(axis=2)
    rankers = np.repeat(np.arange(n), turns)
    orderings = [[ITEMS[i] for i in one] for one in ordering.reshape(-1, len(ITEMS))]
    return br.Rankings.from_orderings(orderings, rankers=rankers, items=ITEMS), component


def model_of(rankings, n_components=2, unit="ranking", sd=None):
    """Components with flat priors, or normal ones."""
    with pm.Model(coords={**rankings.coords, "component": range(n_components)}) as model:
        weights = pm.Dirichlet("weights", np.ones(n_components), dims="component")
        dims = ("component", "item")
        utility = (
            pm.Flat("utility", dims=dims) if sd is None else pm.Normal("utility", 0, sd, dims=dims)
        )
        br.Mixture("y", weights, br.PlackettLuce.dist(utility), observed=rankings, unit=unit)
    return model


@functools.cache
def found():
    rankings, component = simulated()
    model = model_of(rankings)
    return rankings, component, model, fit_mixture(n_starts=3, random_seed=1, model=model)


def in_order(utility, of):
    """Components in the order in which they are nearest to those of another."""
    return linear_sum_assignment(((of[:, None] - utility[None]) ** 2).sum(axis=2))[1]


def test_the_mode_without_priors_is_that_of_a_plain_em():
    rankings, component, _, best = found()
    exact = plain_em(rankings.item, 0.1 + 0.8 * np.eye(2)[component], tolerance=1e-9)
    assert best.log_likelihood == pytest.approx(exact.log_likelihood, abs=1e-4)
    utility = best.mode["posterior"]["utility"].to_numpy()[0, 0]
    utility -= utility.mean(axis=1, keepdims=True)
    order = in_order(utility, exact.utility)
    np.testing.assert_allclose(utility[order], exact.utility, atol=2e-3)
    np.testing.assert_allclose(best.initvals["weights"][order], exact.weights, atol=1e-3)
    np.testing.assert_allclose(best.share[order], exact.weights, atol=1e-3)


def test_weights_and_memberships_of_people_are_recovered():
    _, component, model, best = found()
    order = in_order(best.initvals["utility"], UTILITY)
    # three standard errors of a share, and as many of a component's utilities
    np.testing.assert_allclose(best.initvals["weights"][order], WEIGHTS, atol=3 * 0.5 / N**0.5)
    member = component_probabilities(best.mode, model=model)
    assert member.dims == ("ranking", "component")
    np.testing.assert_allclose(member.sum("component"), 1, atol=1e-12)
    p_first = member.isel(component=int(order[0])).to_numpy()
    # calibrated: of those said to be of the first component with probability p, a share p is
    for low in (0.0, 0.2, 0.8):
        inside = (p_first >= low) & (p_first <= low + 0.2)
        error = np.sqrt(0.25 / inside.sum())
        assert abs((component[inside] == 0).mean() - p_first[inside].mean()) < 4 * error
    assert ((p_first > 0.5) == (component == 0)).mean() > 0.9


def test_memberships_are_of_the_definition():
    rankings, _, model, best = found()
    exact = softmax(
        np.log(best.initvals["weights"])
        + np.stack([plain_logp(rankings.item, np.exp(u)) for u in best.initvals["utility"]], 1),
        axis=1,
    )
    np.testing.assert_allclose(component_probabilities(best.mode, model=model), exact, atol=1e-9)


def test_it_says_how_many_starts_reached_the_mode_and_what_it_is_worth():
    _, _, _, best = found()
    assert (np.diff(best.log_posterior) <= 0).all()
    assert best.n_reached == (best.log_posterior > best.log_posterior[0] - 0.01).sum() >= 2
    n_parameters = 1 + 2 * len(ITEMS)
    assert (best.n_parameters, best.n_units) == (n_parameters, pytest.approx(N))
    assert best.bic == pytest.approx(-2 * best.log_likelihood + n_parameters * np.log(N))
    assert str(best).startswith(f"The best mode was reached from {best.n_reached} of 3 starts (log")


def test_the_mode_is_where_the_log_posterior_is_flat_whatever_the_priors():
    rankings, _ = simulated(80)
    model = model_of(rankings, sd=1.0)
    best = fit_mixture(n_starts=2, random_seed=1, model=model)
    slope = model.compile_fn(model.dlogp(jacobian=False))(best.point)
    assert abs(slope).max() < 1e-2
    height = model.compile_logp(jacobian=False)(best.point)
    assert best.log_posterior[0] == pytest.approx(float(height), abs=1e-8)


def test_a_ranker_is_one_unit():
    rankings, component = simulated(60, turns=4)
    model = model_of(rankings, unit="ranker", sd=2.0)
    best = fit_mixture(n_starts=2, random_seed=1, model=model)
    assert best.n_units == pytest.approx(60)
    member = component_probabilities(best.mode, model=model)
    assert member.dims == ("ranker", "component")
    order = in_order(best.initvals["utility"], UTILITY)
    assert (
        (member.isel(component=int(order[0])) > 0.5).to_numpy() == (component == 0)
    ).mean() > 0.95


@pytest.mark.slow
def test_evidence_weights_count_as_so_many_rankings():
    orderings = [["a", "b", "c"], ["a", "c", "b"], ["c", "b", "a"], ["b", "a", "c"]]
    weighted = br.Rankings.from_orderings(orderings, count=[5, 1, 4, 2])
    one, other = (
        fit_mixture(n_starts=4, random_seed=2, model=model_of(x, sd=1.0))
        for x in (weighted, weighted.expand())
    )
    assert one.n_units == pytest.approx(12)
    assert one.log_likelihood == pytest.approx(other.log_likelihood, abs=1e-3)


# Components of Mallows models, whose consensus has no gradient

FOUR = br.Rankings.from_orderings(
    [list("abcd"), list("bacd"), list("abdc"), list("dcba"), list("dcab"), list("cdba"),
     list("acbd"), list("badc"), list("abcd")], weight=[3, 1, 2, 4, 1, 1, 1, 1, 2],
)  # fmt: skip
TOPS = br.Rankings.from_orderings(
    [["a", "b", {"c", "d"}], ["b", {"a", "c", "d"}], ["a", {"b", "c", "d"}],
     ["d", "c", {"a", "b"}], ["d", {"a", "b", "c"}], ["c", "d", "b", "a"], ["a", "c", "b", "d"]],
)  # fmt: skip


def mallows_components(
    rankings, distance, n_components=2, alpha=None, weights=None, unit="ranking"
):
    with pm.Model(coords={**rankings.coords, "component": range(n_components)}) as model:
        if weights is None:
            weights = pm.Dirichlet("weights", np.full(n_components, 2.0), dims="component")
        if alpha is None:
            alpha = pm.Exponential("alpha", 0.2, dims="component")
        flat = np.zeros((n_components, rankings.n_items))
        consensus = br.PlackettLuce("consensus", flat, dims=("component", "item"))
        components = br.Mallows.dist(consensus, alpha, distance=distance)
        br.Mixture("y", weights, components, observed=rankings, unit=unit)
    return model


@pytest.mark.parametrize("distance", [pytest.param("footrule", marks=pytest.mark.slow), "kendall"])
def test_the_best_of_all_pairs_of_orders_is_found(distance):
    is_among_the_best(FOUR, distance)


@pytest.mark.slow
def test_top_lists_end_close_by():
    is_among_the_best(TOPS, "kendall", 0.99)  # of so few, the starts end at other modes


def is_among_the_best(rankings, distance, best_of=1.0):
    model = mallows_components(rankings, distance, alpha=[4.0, 3.0], weights=[0.6, 0.4])
    best = fit_mixture(n_starts=6, mode="FAST_COMPILE", random_seed=1, model=model)
    (free,) = model.free_RVs
    (terms,) = model.logp(vars=[model["y"]], sum=False)
    # every ranking under every order, at both concentrations
    every = every_ranking(4)
    joint = pytensor.function([model.rvs_to_values[free]], joint_logp(terms), mode="FAST_COMPILE")
    logps = np.array([joint(np.stack([rho, rho])) for rho in every])
    both = np.logaddexp(logps[:, None, :, 0], logps[None, :, :, 1]) @ rankings.weight
    assert (both <= best.log_likelihood + 1e-9).mean() >= best_of
    found = tuple(find_row(every, rho) for rho in best.initvals["consensus"])
    assert best.log_likelihood == pytest.approx(both[found], abs=1e-9)
    assert best.n_parameters == 2  # one for each consensus
    assert 1 <= best.n_reached <= 6


@pytest.mark.slow
def test_neighbours_are_exchanged_where_that_is_better_for_all():
    model = mallows_components(FOUR, "kendall")
    em = components._compile(model, "y", "FAST_COMPILE")
    (of,) = em.orders
    x = em.start.data.copy()
    x[of.where] = [1, 2, 4, 3, 4, 3, 1, 2]
    before = float(em.height(x)[0])
    assert of.exchange(x, lambda x: float(em.height(x)[0]))
    after = float(em.height(x)[0])
    assert after > before + 1
    for row in (0, 1):  # of what was exchanged nothing is left
        for place in (1, 2, 3):
            ranks = x[of.where].reshape(2, 4).copy()
            both = [int((ranks[row] == r).argmax()) for r in (place, place + 1)]
            ranks[row, both] = ranks[row, both[::-1]]
            other = x.copy()
            other[of.where] = ranks.ravel()
            assert float(em.height(other)[0]) <= after + 1e-2


def find_row(rows, row):
    return int((rows == row).all(axis=1).argmax())


@pytest.mark.slow
def test_components_of_mallows_models_are_recovered_with_weights_and_concentrations():
    rng = np.random.default_rng(4)
    component = rng.choice(2, size=300, p=[0.35, 0.65])
    rho, alpha = np.array([[1, 2, 3, 4, 5, 6], [6, 1, 5, 2, 4, 3]]), np.array([9.0, 6.0])
    ranks = pm.draw(
        br.Mallows.dist(rho[component], alpha[component], distance="kendall"), random_seed=1
    )
    orderings = [[ITEMS[i] for i in one] for one in ranks.argsort(axis=1)]
    rankings = br.Rankings.from_orderings(orderings, items=ITEMS)
    model = mallows_components(rankings, "kendall")
    best = fit_mixture(n_starts=5, random_seed=1, model=model)
    order = [find_row(best.initvals["consensus"], x) for x in rho]
    assert sorted(order) == [0, 1]
    np.testing.assert_allclose(best.initvals["weights"][order], [0.35, 0.65], atol=0.09)
    np.testing.assert_allclose(best.initvals["alpha"][order], alpha, rtol=0.2)
    assert best.n_reached >= 2
    free = [model["weights"], model["alpha"]]
    slope = model.compile_fn(model.dlogp(free, jacobian=False))(best.point)
    assert abs(slope).max() < 0.05
    member = component_probabilities(best.mode, model=model)
    assert ((member[:, order[0]] > 0.5).to_numpy() == (component == 0)).mean() > 0.85
    assert best.n_parameters == 1 + 2 + 2


def test_a_discrete_variable_that_components_share_raises():
    with pm.Model(coords={**FOUR.coords, "component": range(2)}) as model:
        consensus = br.PlackettLuce("consensus", np.zeros(4), dims="item")  # that both share
        components = [br.Mallows.dist(consensus, 1.0), br.Mallows.dist(consensus, 2.0)]
        br.Mixture("y", [0.5, 0.5], components, observed=FOUR)
    with pytest.raises(ValueError, match=r"'consensus' is discrete.*consensus of the Mallows"):
        fit_mixture(random_seed=1, model=model)


# Bad input


def test_models_without_a_mixture_and_posteriors_of_others_raise():
    rankings, _ = simulated(5)
    model = builders.model_of(rankings)
    with pytest.raises(ValueError, match=r"no Mixture named 'y' .*; it observes \['y'\]"):
        fit_mixture(random_seed=1, model=model)
    _, _, mixture, best = found()
    posterior = xr.DataTree.from_dict({"posterior": best.mode["posterior"].dataset[["weights"]]})
    with pytest.raises(ValueError, match="The posterior has no 'utility'"):
        component_probabilities(posterior, model=mixture)
    with pytest.raises(ValueError, match="`n_starts` is 0"):
        fit_mixture(n_starts=0, random_seed=1, model=mixture)
    with mixture.copy() as discrete:
        pm.Poisson("count", 3)
    with pytest.raises(ValueError, match="'count' is discrete"):
        fit_mixture(random_seed=1, model=discrete)


def test_more_components_than_rankings_raise():
    rankings, _ = simulated(3)
    with pytest.raises(ValueError, match="4 components but only 3 rankings"):
        fit_mixture(random_seed=1, model=model_of(rankings, 4, sd=1.0))


def test_rankings_that_are_all_the_same_warn_and_have_a_mode():
    rankings = br.Rankings.from_orderings([["a", "b", "c"]] * 10)
    with (
        pytest.warns(MixtureWarning, match="All 10 rankings of 'y' are equal"),
        pytest.warns(MixtureWarning, match=r"is empty .* Use fewer components"),
    ):
        best = fit_mixture(n_starts=2, random_seed=1, model=model_of(rankings, sd=1.0))
    assert np.isfinite(best.log_posterior).all()


def test_an_empty_component_warns():
    rankings, _ = simulated(40)
    with pm.Model(coords={**rankings.coords, "component": ["all", "nobody"]}) as model:
        first = pm.Beta("first", 1e4, 1.0)
        utility = pm.Normal("utility", 0, 1, dims=("component", "item"))
        weights = pm.math.stack([first, 1 - first])
        br.Mixture("y", weights, br.PlackettLuce.dist(utility), observed=rankings)
    with pytest.warns(MixtureWarning, match="Component 'nobody' of 'y' is empty at the best mode"):
        fit_mixture(n_starts=2, random_seed=1, model=model)


@pytest.mark.slow
def test_a_mode_that_one_start_reached_warns():
    rankings, _ = simulated(12, seed=8)
    with pytest.warns(MixtureWarning, match=r"Only 1 of 2 starts reached .* there may be better"):
        fit_mixture(n_starts=2, random_seed=1, model=model_of(rankings, 4, sd=3.0))
