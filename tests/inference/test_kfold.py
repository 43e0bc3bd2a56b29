"""K-fold cross-validation against exact predictions by quadrature; folds, groups and bad input."""

import functools
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
from tests import builders
from tests.builders import matches

ORDERS = [["a", "b", "c"], ["b", "a", "c"], ["c", "a", "b"], ["b", "c", "a"], ["a", {"b", "c"}]]
RANKERS = ["ann", "bob", "bob", "cy", "cy"]
SAMPLING = {"draws": 1200, "tune": 500, "chains": 2}
LEAST_EFFECTIVE = 600  # of 2,400 draws; NUTS has more on two smooth dimensions


def rankings():
    return br.Rankings.from_orderings(ORDERS, rankers=RANKERS)


model_of = functools.partial(builders.model_of, prior=pm.ZeroSumNormal)


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
    found = kfold(by=by, k=len(units), **SAMPLING, model=model_of(observed))
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
    nutpie_compile, pymc_compile = nutpie.compile_pymc_model, pm.Model.compile_fn
    monkeypatch.setattr(
        nutpie,
        "compile_pymc_model",
        lambda *a, **k: compiled.append("fit") or nutpie_compile(*a, **k),
    )
    monkeypatch.setattr(
        pm.Model, "compile_fn", lambda *a, **k: compiled.append("terms") or pymc_compile(*a, **k)
    )
    model = model_of(rankings())
    before = model.compile_logp()({"utility_zerosum__": [0.3, -0.1]})
    compiled.clear()
    one = kfold(k=3, random_seed=4, draws=50, chains=1, model=model)
    assert sorted(compiled) == ["fit", "terms"]
    assert model.compile_logp()({"utility_zerosum__": [0.3, -0.1]}) == before
    assert [rv.name for rv in model.observed_RVs] == ["y"]

    folds = one.elpd_i.attrs["folds"]
    assert sorted(folds) == [0, 0, 1, 1, 2]
    again = kfold(folds=folds, random_seed=4, draws=50, chains=1, model=model)
    assert again.elpd_i.values.tolist() == one.elpd_i.values.tolist()


@pytest.mark.slow
def test_folds_are_the_same_on_processes():
    model = model_of(rankings())
    small = {"k": 3, "random_seed": 4, "draws": 50, "chains": 2}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of few draws
        alone, shared = (kfold(n_jobs=n_jobs, **small, model=model) for n_jobs in (None, 2))
    xr.testing.assert_identical(shared.elpd_i, alone.elpd_i)
    assert shared.warning == alone.warning


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
    found = kfold(by="judge", k=3, draws=500, chains=2, random_seed=1, model=model)
    assert found.elpd_i["judge"].values.tolist() == ["ann", "bob", "cy"]
    assert (found.elpd_i < 0).all()
    # a judge at random is right half of the time; these are consistent, but for the last
    assert found.elpd_i.sel(judge="cy") < np.log(0.5)


def test_chains_that_disagree_warn(once):
    with pytest.warns(FoldWarning, match=r"^The chains disagree in \d of 2 folds \(largest R-hat"):
        kfold(k=2, draws=20, tune=50, chains=2, random_seed=1, model=model_of(rankings()))


def test_the_number_of_folds_must_fit_the_units():
    model = model_of(rankings())
    with pytest.raises(ValueError, match=r"^`k` is 6; it must be a whole number from 2 to the 5"):
        kfold(k=6, random_seed=1, model=model)
    with pytest.raises(ValueError, match=r"^`k` is 1; "):
        kfold(k=1, random_seed=1, model=model)
    with pytest.raises(ValueError, match=r"from 2 to the 3 units \(ranker\)"):
        kfold(k=4, by="ranker", random_seed=1, model=model)
    with pytest.raises(
        ValueError, match=r"^`folds` has shape \(2,\) and dtype int64; it must be one wh"
    ):
        kfold(folds=[0, 1], random_seed=1, model=model)
    with pytest.raises(ValueError, match=r"^`folds` must have one value .* no value for ranker"):
        kfold(
            folds=pd.Series([0, 1, 0], index=list("xyz")), by="ranker", random_seed=1, model=model
        )
    with pytest.raises(ValueError, match=r"^`folds` has the numbers \[0, 2\]; they must be 0, 1, "):
        kfold(folds=[0, 2, 0, 2, 0], random_seed=1, model=model)


def test_units_left_out_must_be_observed_and_grouped():
    model = model_of(rankings())
    with pytest.raises(ValueError, match=r"^The model observes no 'z'; it observes \['y'\]\.$"):
        kfold(var_name="z", random_seed=1, model=model)
    with pytest.raises(
        ValueError, match=r"^'y' is not grouped by 'day'; it is grouped by 'ranker'\.$"
    ):
        kfold(by="day", random_seed=1, model=model)
    with pm.Model() as other:
        pm.Normal("y", pm.Normal("x"), observed=[1.0, 2.0])
    with pytest.raises(ValueError, match=r"^'y' does not observe rankings, pairs or counts by a"):
        kfold(random_seed=1, model=other)


def test_a_discrete_parameter_is_refused():
    observed = rankings()
    with pm.Model(coords=observed.coords) as model:
        n = pm.Poisson("count", 3.0)
        br.PlackettLuce("y", n * np.arange(3.0), observed=observed)
    with pytest.raises(ValueError, match=r"^'count' is discrete, but kfold samples by NUTS\. Marg"):
        kfold(k=3, random_seed=1, model=model)
