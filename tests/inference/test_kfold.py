"""K-fold cross-validation against exact predictions by quadrature; folds, groups and bad input."""

import itertools
import warnings

import numpy as np
import nutpie
import pandas as pd
import pymc as pm
import pytest
import xarray as xr

import bayesrank as br
from bayesrank.inference import FoldWarning, kfold
from tests.builders import matches
from tests.likelihoods.loops import for_each
from tests.likelihoods.mallows.permutations import every_ranking

ORDERS = [["a", "b", "c"], ["b", "a", "c"], ["c", "a", "b"], ["b", "c", "a"], ["a", {"b", "c"}]]
RANKERS = ["ann", "bob", "bob", "cy", "cy"]
SAMPLING = {"draws": 1200, "tune": 500, "chains": 2}
LEAST_EFFECTIVE = 600  # of 2,400 draws; NUTS has more on two smooth dimensions


def rankings():
    return br.Rankings.from_orderings(ORDERS, rankers=RANKERS)


def model_of(observed):
    with pm.Model(coords=observed.coords) as model:
        utility = pm.ZeroSumNormal("utility", 1.0, dims="item")
        br.PlackettLuce("y", utility, observed=observed)
    return model


@pytest.fixture(scope="module")
def compiled():
    """Keep the model of the rankings, compiled for nutpie."""
    return []


@pytest.fixture
def once(compiled, monkeypatch):
    """Compile the model of the rankings for nutpie once, by JAX: numba takes half a minute."""
    compile_model = nutpie.compile_pymc_model

    def first_of(*args, **kwargs):
        if not compiled:
            compiled.append(compile_model(*args, **kwargs, backend="jax"))
        return compiled[0]

    monkeypatch.setattr(nutpie, "compile_pymc_model", first_of)


class Exact:
    """Predictions from the posterior on a grid of the two free dimensions."""

    def __init__(self, observed):
        axis = np.linspace(-7, 7, 281)
        x, y = np.meshgrid(axis, axis)
        # orthonormal, so that the density of the prior is that of two standard normals
        basis = np.array([[1, -1, 0], [1, 1, -2]]) / np.sqrt([[2], [6]])
        w = np.exp(x[..., None] * basis[0] + y[..., None] * basis[1]).reshape(-1, 3)
        self.prior = np.exp(-0.5 * (x**2 + y**2)).ravel()
        self.likelihood = np.array(
            [self._of(w, *row) for row in zip(observed.item, observed.ranks, strict=True)]
        )

    @staticmethod
    def _of(w, item, ranks):
        """Sum the probabilities of the orders that a weak order leaves open."""
        total = 0.0
        for order in itertools.permutations(range(3)):
            if list(ranks[list(order)]) == sorted(ranks):
                worth = w[:, item[list(order)]]
                total += worth[:, 0] / worth.sum(1) * worth[:, 1] / worth[:, 1:].sum(1)
        return total

    def left_out(self, units):
        """Log probability of each unit's rows given the rest, and the relative sd of its terms."""
        out = []
        for rows in units:
            rest = [row for row in range(len(self.likelihood)) if row not in rows]
            weight = self.prior * self.likelihood[rest].prod(0)
            weight /= weight.sum()
            p = self.likelihood[rows].prod(0)
            mean = weight @ p
            out.append((np.log(mean), np.sqrt(weight @ (p - mean) ** 2) / mean))
        return np.array(out).T


@pytest.mark.slow
@pytest.mark.parametrize(
    ("by", "units", "labels"),
    [
        ("ranking", [[row] for row in range(5)], range(5)),
        ("ranker", [[0], [1, 2], [3, 4]], ["ann", "bob", "cy"]),
    ],
)
def test_as_many_folds_as_units_leave_one_out_exactly(once, by, units, labels):
    observed = rankings()
    found = kfold(model_of(observed), by=by, k=len(units), **SAMPLING)
    assert found.elpd_i.dims == (by,)
    assert found.elpd_i[by].values.tolist() == list(labels)
    exact, spread = Exact(observed).left_out(units)
    error = np.abs(found.elpd_i.to_numpy() - exact)
    assert (error < 5.5 * spread / np.sqrt(LEAST_EFFECTIVE)).all()
    assert found.elpd == pytest.approx(found.elpd_i.sum())
    assert found.se == pytest.approx(np.sqrt(len(units) * found.elpd_i.to_numpy().var(ddof=1)))
    assert found.elpd_i.attrs["outcome"] == "weak orders given their block sizes"


def test_all_folds_share_one_compiled_model_which_is_left_as_it_was(once, monkeypatch):
    compiled = []
    of_nutpie, of_pymc = nutpie.compile_pymc_model, pm.Model.compile_fn
    monkeypatch.setattr(
        nutpie, "compile_pymc_model", lambda *a, **k: compiled.append("fit") or of_nutpie(*a, **k)
    )
    monkeypatch.setattr(
        pm.Model, "compile_fn", lambda *a, **k: compiled.append("terms") or of_pymc(*a, **k)
    )
    model = model_of(rankings())
    before = model.compile_logp()({"utility_zerosum__": [0.3, -0.1]})
    compiled.clear()
    one = kfold(model, k=3, random_seed=4, draws=50, chains=1)
    assert sorted(compiled) == ["fit", "terms"]
    assert model.compile_logp()({"utility_zerosum__": [0.3, -0.1]}) == before
    assert [rv.name for rv in model.observed_RVs] == ["y"]

    folds = one.elpd_i.attrs["folds"]
    assert sorted(folds) == [0, 0, 1, 1, 2]
    again = kfold(model, folds=folds, random_seed=4, draws=50, chains=1)
    assert again.elpd_i.values.tolist() == one.elpd_i.values.tolist()


@pytest.mark.slow
def test_folds_are_the_same_on_processes_and_on_a_cluster():
    distributed = pytest.importorskip("distributed")
    model = model_of(rankings())
    small = {"k": 3, "seed": 4, "draws": 50, "chains": 2}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of few draws, and of what the cluster leaves open
        alone = kfold(model, **small)
        shared = kfold(model, n_jobs=2, **small)
        with (
            distributed.LocalCluster(
                n_workers=2, threads_per_worker=1, dashboard_address=None
            ) as cluster,
            distributed.Client(cluster) as client,
        ):
            far = kfold(model, client=client, **small)
    for found in (shared, far):
        xr.testing.assert_identical(found.elpd_i, alone.elpd_i)
        assert found.warning == alone.warning


@pytest.mark.slow
def test_matches_are_left_out_by_judge_whose_adherence_is_then_its_prior():
    won = ["first", "second", "first", "second", "first"]
    judges = ["ann", "ann", "bob", "bob", "cy"]
    pairs = matches([*"abacb"], [*"bccaa"], won, judge=judges)
    with pm.Model(coords=pairs.coords) as model:
        utility = pm.ZeroSumNormal("utility", 1.0, dims="item")
        care = pm.LogNormal("care", 0, 1, dims="judge")[pairs.judge_idx]
        sides = utility[np.stack([pairs.first, pairs.second], axis=1)]
        br.BradleyTerry("y", care[:, None] * sides, observed=pairs)
    found = kfold(model, by="judge", k=3, draws=500, chains=2, random_seed=1)
    assert found.elpd_i["judge"].values.tolist() == ["ann", "bob", "cy"]
    assert (found.elpd_i < 0).all()
    # a judge at random is right half of the time; these are consistent, but for the last
    assert found.elpd_i.sel(judge="cy") < np.log(0.5)


def test_chains_that_disagree_are_told(once):
    with pytest.warns(FoldWarning, match=r"^The chains disagree in \d of 2 folds \(largest R-hat"):
        kfold(model_of(rankings()), k=2, draws=20, tune=50, chains=2, random_seed=1)


def test_the_number_of_folds_must_fit_the_units():
    model = model_of(rankings())
    with pytest.raises(ValueError, match=r"^`k` is 6; it must be a whole number from 2 to the 5"):
        kfold(model, k=6, random_seed=1)
    with pytest.raises(ValueError, match=r"^`k` is 1; "):
        kfold(model, k=1, random_seed=1)
    with pytest.raises(ValueError, match=r"from 2 to the 3 units \(ranker\)"):
        kfold(model, k=4, by="ranker", random_seed=1)
    with pytest.raises(
        ValueError, match=r"^`folds` has shape \(2,\) and dtype int64; it must be one wh"
    ):
        kfold(model, folds=[0, 1], random_seed=1)
    with pytest.raises(ValueError, match=r"^`folds` must have one value .* no value for ranker"):
        kfold(model, folds=pd.Series([0, 1, 0], index=list("xyz")), by="ranker", random_seed=1)
    with pytest.raises(ValueError, match=r"^`folds` has the numbers \[0, 2\]; they must be 0, 1, "):
        kfold(model, folds=[0, 2, 0, 2, 0], random_seed=1)


def test_what_is_left_out_must_be_observed_and_grouped():
    model = model_of(rankings())
    with pytest.raises(ValueError, match=r"^The model observes no 'z'; it observes \['y'\]\.$"):
        kfold(model, var_name="z", random_seed=1)
    with pytest.raises(
        ValueError, match=r"^'y' is not grouped by 'day'; it is grouped by 'ranker'\.$"
    ):
        kfold(model, by="day", random_seed=1)
    with pm.Model() as other:
        pm.Normal("y", pm.Normal("x"), observed=[1.0, 2.0])
    with pytest.raises(ValueError, match=r"^'y' does not observe rankings, pairs or counts by a"):
        kfold(other, random_seed=1)


# Rankings among the parameters

FULL = [list("abc"), list("acb"), list("abc"), list("cba"), list("bac"), list("cab")]


def around(unit, alpha=3.0):
    """Kinds around orders, or one order, that are parameters."""
    observed = br.Rankings.from_orderings(
        FULL, rankers=list("xyyzzz") if unit == "ranker" else None
    )
    with pm.Model(coords=observed.coords | {"kind": range(2)}) as model:
        if unit is None:
            consensus = br.PlackettLuce("consensus", np.zeros(3), dims="item")
            br.Mallows("y", consensus, alpha, observed=observed)
        else:
            consensus = br.PlackettLuce("consensus", np.zeros((2, 3)), dims=("kind", "item"))
            kinds = br.Mallows.dist(consensus, alpha)
            br.Mixture("y", [0.4, 0.6], kinds, observed=observed, unit=unit)
    return model


def over_all_orders(model, unit):
    """Log-likelihood of every unit at all that the consensus may be, and the values of that."""
    every = every_ranking(3)
    values = every if unit is None else [np.stack(x) for x in itertools.product(every, every)]
    logp = model.compile_logp(vars=model["y"], sum=False)
    return np.array([logp({"consensus": x})[0] for x in values])


def predicts_what_all_orders_do(unit, draws):
    model = around(unit)
    each = over_all_orders(model, unit)
    folds = np.arange(each.shape[1]) % 2
    found = kfold(model, folds=folds, draws=draws, tune=50, chains=1, random_seed=1)
    for f in (0, 1):
        rest, p = each[:, folds != f].sum(axis=1), np.exp(each[:, folds == f])
        share = np.exp(rest - rest.max()) / np.exp(rest - rest.max()).sum()
        mean = share @ p
        spread = np.sqrt(share @ (p - mean) ** 2) / mean
        error = np.abs(found.elpd_i.to_numpy()[folds == f] - np.log(mean))
        assert (error < 5.5 * spread / np.sqrt(draws / 4)).all()
    assert (model["y_weight"].get_value() == 1).all()


def test_steps_of_a_consensus_predict_what_all_orders_do():
    predicts_what_all_orders_do(None, 300)


@pytest.mark.slow
@for_each("unit", [None, "ranking", "ranker"])
def test_steps_of_a_consensus_predict_exactly_what_all_orders_do(unit):
    predicts_what_all_orders_do(unit, 6000)


@pytest.mark.slow
def test_kinds_around_orders_are_sampled_with_all_that_is_continuous():
    rng = np.random.default_rng(2)
    rho = np.array([[1, 2, 3, 4, 5], [5, 3, 4, 1, 2]])[rng.choice(2, 60)]
    ranks = pm.draw(br.Mallows.dist(rho, 6.0, distance="kendall"), random_seed=1)
    observed = br.Rankings.from_orderings([["abcde"[i] for i in x.argsort()] for x in ranks])
    elpd = {}
    for n_kinds in (1, 2):
        with pm.Model(coords=observed.coords | {"kind": range(n_kinds)}) as model:
            weights = pm.Dirichlet("weights", np.full(n_kinds, 2.0), dims="kind")
            alpha = pm.Exponential("alpha", 0.2, dims="kind")
            flat = np.zeros((n_kinds, 5))
            consensus = br.PlackettLuce("consensus", flat, dims=("kind", "item"))
            kinds = br.Mallows.dist(consensus, alpha, distance="kendall")
            br.Mixture("y", weights, kinds, observed=observed)
        start = br.fit_mixture(model, n_starts=4, random_seed=1).initvals
        elpd[n_kinds] = kfold(
            model, k=3, draws=1500, tune=500, chains=2, initvals=start, random_seed=1
        )
    table = br.compare_components(kfold={str(n): x for n, x in elpd.items()})
    assert table["elpd_kfold"]["2"] - table["elpd_kfold"]["1"] > 10


def test_what_is_discrete_and_no_ranking_is_refused():
    observed = rankings()
    with pm.Model(coords=observed.coords) as model:
        n = pm.Poisson("count", 3.0)
        br.PlackettLuce("y", n * np.arange(3.0), observed=observed)
    with pytest.raises(ValueError, match=r"^'count' is discrete and not a ranking\. kfold samples"):
        kfold(model, k=3, random_seed=1)
