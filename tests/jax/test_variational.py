"""Normals from some rows at a time: unbiased, and where closed forms and Laplace say."""

import jax
import jax.numpy as jnp
import numpy as np
import pymc as pm
import pytensor.tensor as pt
import pytest
import xarray as xr

import bayesrank as br
from bayesrank.inference import hessian, objective, posterior_modes
from bayesrank.jax import checkpoints

N = 400
RNG = np.random.default_rng(2)
X = RNG.normal(size=(N, 2)) @ [[1.0, 0.6], [0.0, 0.8]]
Y = X @ [1.5, -0.5] + RNG.normal(size=N)
FIT = {"batch_size": 40, "n_steps": 1200, "n_rounds": 6}


def regression(x, y):
    """Two slopes that are correlated: their posterior is normal, and known."""
    with pm.Model(coords={"row": range(len(x))}) as model:
        slope = pm.Normal("slope", 0.0, 2.0, shape=2)
        features = pm.Data("x", x, dims=("row", "feature"))
        pm.Normal("y", features @ slope, 1.0, observed=pm.Data("seen", y, dims="row"), dims="row")
    return model


PRECISION = X.T @ X + np.eye(2) / 4
MEAN = np.linalg.solve(PRECISION, X.T @ Y)


@pytest.fixture(scope="module")
def density():
    return br.jax.compile(regression(X, Y), "row", chunk=90)  # the last block is not full


@pytest.fixture(scope="module")
def fit(density):
    return br.jax.svi(density, density.put(), **FIT)


@pytest.mark.slow
def test_it_ends_at_the_normal_of_the_closed_form(fit):
    slope = fit["posterior"]["slope"]
    assert slope.dims == ("chain", "draw", "slope_dim_0")
    sd = 1 / np.sqrt(np.diag(PRECISION))  # given the other one
    n = slope.sizes["chain"] * slope.sizes["draw"]
    off = abs(slope.mean(["chain", "draw"]).values - MEAN) / sd
    assert (off < 0.05 + 5.5 / np.sqrt(n)).all()
    ratio = slope.std(["chain", "draw"]).values / sd
    np.testing.assert_allclose(ratio, 1.0, atol=0.05 + 5.5 / np.sqrt(2 * n))
    # the evidence less the divergence of the best independent normals
    evidence = pm_evidence()
    lost = np.log(np.diag(PRECISION)).sum() / 2 - np.linalg.slogdet(PRECISION)[1] / 2
    bound = fit["training"]["bound"].values
    assert bound[-1] == pytest.approx(evidence - lost, abs=0.5)


def pm_evidence():
    from scipy.stats import multivariate_normal

    return multivariate_normal(np.zeros(N), np.eye(N) + 4 * X @ X.T).logpdf(Y)


def test_a_sum_over_drawn_rows_is_that_of_all_on_average(density):
    row = np.arange(N)[:7]
    data = density.put({"x": np.c_[row, row].astype(float), "seen": np.zeros(7)})

    def count(x, block):
        return jax.nn.one_hot(block["x"][:, 0].astype(int), 7).sum(0) * x

    n_rows = density.rows_by_device(data)
    assert n_rows.tolist() == [7]

    def drawn(key, size):
        return density.of_drawn_rows(count, size, n_rows, jnp.ones(()), key, data)

    keys = jax.random.split(jax.random.key(0), 4000)
    found = np.asarray(jax.jit(jax.vmap(lambda key: drawn(key, 3)))(keys))
    assert set(found.sum(1).round(9)) == {7.0}
    np.testing.assert_allclose(found.mean(0), 1.0, atol=5.5 * found.std(0).max() / np.sqrt(4000))
    np.testing.assert_allclose(drawn(keys[0], 7), 1.0)  # as many as there are: all of them


@pytest.mark.slow
def test_a_search_that_was_cut_off_ends_as_if_it_had_not_been(density, fit, tmp_path, monkeypatch):
    path = tmp_path / "svi.npz"
    write = checkpoints.Checkpoint.write

    def until(self, state):
        write(self, state)
        if state.n == 4:
            raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(checkpoints.Checkpoint, "write", until)
        with pytest.raises(KeyboardInterrupt):
            br.jax.svi(density, density.put(), checkpoint=path, **FIT)
    assert [x.name for x in tmp_path.iterdir()] == ["svi.npz"]
    again = br.jax.svi(density, density.put(), checkpoint=path, **FIT)
    xr.testing.assert_equal(again["posterior"].dataset, fit["posterior"].dataset)
    xr.testing.assert_equal(again["training"].dataset, fit["training"].dataset)

    other = density.put({"x": X[:50], "seen": Y[:50]})
    with pytest.raises(ValueError, match=r"svi.npz' is of another search.* Delete the file to"):
        br.jax.svi(density, other, checkpoint=path, **FIT)


def test_a_file_is_written_whole_or_not_at_all(tmp_path, monkeypatch):
    path = tmp_path / "kept.npz"
    kept = checkpoints.Checkpoint(path, "a search", 1.0)
    kept.write({"x": np.arange(3), "n": 1})

    def cut(file, **arrays):
        file.write(b"PK")
        raise OSError("no space left on device")

    monkeypatch.setattr(np, "savez", cut)
    with pytest.raises(OSError, match="no space left"):
        kept.write({"x": np.arange(3) + 1, "n": 2})
    assert [x.name for x in tmp_path.iterdir()] == ["kept.npz"]
    found = kept.read({"x": np.zeros(3, dtype=int), "n": np.array(0)})
    assert found["x"].tolist() == [0, 1, 2]
    assert found["n"] == 1


def test_numbers_out_of_range_are_refused(density):
    data = density.put()
    with pytest.raises(ValueError, match="`batch_size` is 0; it is a whole number, 1 or more"):
        br.jax.svi(density, data, batch_size=0)
    with pytest.raises(ValueError, match="`learning_rate` is -1; it is positive"):
        br.jax.svi(density, data, learning_rate=-1)


@pytest.mark.slow
def test_normals_that_have_a_way_to_go_are_named(density):
    with pytest.warns(
        UserWarning, match="2 of 2 normals still have a way to go: one of 'slope' by"
    ):
        br.jax.svi(density, density.put(), batch_size=40, n_steps=20, n_rounds=2)
    with pytest.raises(FloatingPointError, match="not finite in round 1 of 20"):
        br.jax.svi(density, density.put(), start={"slope": [np.inf, 0.0]})


@pytest.mark.slow
def test_rankings_end_beside_their_mode_with_laplaces_conditional_spreads():
    rng = np.random.default_rng(4)
    items = [f"i{k}" for k in range(12)]
    truth = rng.normal(size=12)
    orderings = []
    for _ in range(20_000):
        some = rng.choice(12, 4, replace=False)
        orderings.append([items[k] for k in some[np.argsort(-truth[some] - rng.gumbel(size=4))]])
    rankings = br.Rankings.from_orderings(orderings, items=items)
    with pm.Model(coords=rankings.coords) as model:
        scale = pm.HalfNormal("scale", 1.0)
        utility = pm.ZeroSumNormal("utility", scale, dims="item")
        br.PlackettLuce("y", utility, observed=rankings)
    density = br.jax.compile(model, chunk=3000)
    # from where PyMC begins, far from where it ends
    fit = br.jax.svi(density, density.put(), batch_size=500)
    (mode,) = posterior_modes(model)
    at = np.concatenate([np.ravel(mode[name]) for name in density.names])
    logp, _ = objective(model)
    sd = 1 / np.sqrt(-np.diag(hessian(lambda x: logp(x)[1], at)))
    # of the first eleven, as PyMC has what sums to zero; the scale's posterior is no normal
    drawn = fit["posterior"]["utility"].values.reshape(-1, 12)
    transform = model.rvs_to_transforms[model["utility"]]
    drawn = transform.forward(pt.as_tensor(drawn)).eval(mode="FAST_COMPILE")
    off = abs(drawn.mean(0) - at[1:]) / sd[1:]
    assert off.max() < 0.2 + 5.5 / np.sqrt(4000), off
    np.testing.assert_allclose(drawn.std(0) / sd[1:], 1.0, atol=0.1 + 5.5 / np.sqrt(8000))

    summary = br.rank_summary(fit)
    assert [str(x) for x in summary.index[:3]] == [items[k] for k in np.argsort(-truth)[:3]]
    br.plot_ranks(fit)
    assert fit["observed_data"]["y"].sizes["ranking"] == 20_000
    few = br.jax.svi(density, density.put({"y": rankings.subset(np.arange(99))}), n_steps=200)
    assert set(few.children) == {"posterior", "training"}  # the model's data are others
