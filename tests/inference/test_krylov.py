"""Precisions of many variables, known by products, against dense ones, and fits with them."""

import tracemalloc

import numpy as np
import pytest
from scipy.linalg import eigh
from scipy.sparse import csr_array

import bayesrank as br
from bayesrank.inference import fit_matches, fit_pairs, learned_scales
from bayesrank.inference.approximation import fit_pairs as of_pairs
from bayesrank.inference.approximation import fit_rankings as of_rankings
from bayesrank.inference.approximation import inner_gaussian, krylov, nested
from bayesrank.inference.approximation.block_precision import Dense
from bayesrank.inference.approximation.krylov import N_PROBES, Krylov
from bayesrank.inference.approximation.modes import objective
from bayesrank.inference.approximation.nested import _joint
from bayesrank.likelihoods.plackett_luce import per_item
from tests.builders import matches

# items without a match, and rankings of one block, are among the data
pytestmark = pytest.mark.filterwarnings("ignore:.*never compared", "ignore:.*or one block")


def laplacian(n, n_edges, rng, *, largest=3.0, prior=0.5):
    """The precision of items that meet at random: weights of matches, and a prior."""
    i = rng.integers(n, size=n_edges)
    j = (i + rng.integers(1, n, size=n_edges)) % n
    weight = rng.uniform(0.01, largest, n_edges)
    out = np.diag(np.full(n, prior))
    np.add.at(out, (i, i), weight)
    np.add.at(out, (j, j), weight)
    np.add.at(out, (i, j), -weight)
    np.add.at(out, (j, i), -weight)
    return out


def chain(n, weight):
    """The precision of a long chain of well-known differences."""
    edges = np.diff(np.eye(n), axis=0)
    return 0.1 * np.eye(n) + weight * edges.T @ edges


def precisions(matrix):
    """Both forms: by products, and of a sparse matrix."""
    return Krylov(lambda v: matrix @ v, np.diag(matrix)), Krylov.of_sparse(csr_array(matrix))


MATRICES = {
    "random": lambda rng: laplacian(40, 90, rng),
    "few matches": lambda rng: laplacian(40, 10, rng),
    "chain": lambda rng: chain(40, 1e4),
    "diagonal": lambda rng: np.diag(rng.uniform(0.1, 10.0, 40)),
}


@pytest.mark.parametrize("name", MATRICES)
def test_solutions_are_those_of_the_dense_precision(name, rng):
    matrix = MATRICES[name](rng)
    dense = Dense(matrix)
    for found in precisions(matrix):
        for right in (rng.normal(size=40), rng.normal(size=(40, 70)), np.zeros(40)):
            expected = dense.solve(right)
            np.testing.assert_allclose(found.solve(right), expected, rtol=1e-6, atol=1e-8)
        noise = rng.normal(size=(5, 40))
        np.testing.assert_allclose(found.squares(noise), dense.squares(noise))


@pytest.mark.parametrize("name", MATRICES)
def test_the_determinant_has_the_error_of_random_signs(name, rng):
    matrix = MATRICES[name](rng)
    scale = np.diag(matrix) ** -0.5
    values, vectors = eigh(scale[:, None] * matrix * scale)
    log_matrix = (vectors * np.log(values)) @ vectors.T
    # z' L z varies only by the products of two different signs
    apart = log_matrix - np.diag(np.diag(log_matrix))
    error = np.sqrt(2 * (apart**2).sum() / N_PROBES)
    for found in precisions(matrix):
        assert abs(found.log_det - Dense(matrix).log_det) < 6 * error + 1e-6


@pytest.mark.parametrize("name", MATRICES)
def test_draws_have_its_covariance(name, rng):
    matrix = MATRICES[name](rng)[:12, :12]
    expected, draws = np.linalg.inv(matrix), 4_000
    spread = np.sqrt(np.outer(np.diag(expected), np.diag(expected)) + expected**2)
    for found in precisions(matrix):
        noise = found.noise(draws, np.random.default_rng(1))
        error = noise @ noise.T / draws - expected
        assert (abs(error) < 6 * spread / np.sqrt(draws)).all()
    assert found.noise(0, np.random.default_rng(1)).shape == (12, 0)


def test_a_matrix_that_bends_upwards_is_refused():
    with pytest.raises(ValueError, match=r"not an isolated mode.*least curvature -1\)"):
        Krylov.of_sparse(csr_array(np.diag([1.0, -1.0])))
    saddle = np.array([[1.0, 2.0], [2.0, 1.0]])
    for precision in precisions(saddle):
        with pytest.raises(ValueError, match=r"not an isolated mode.*Give every variable a proper"):
            precision.solve(np.array([1.0, -1.0]))
        with pytest.raises(ValueError, match=r"not an isolated mode"):
            precision.noise(3, np.random.default_rng(1))


def test_equations_that_are_not_solved_need_a_smaller_standard_deviation(monkeypatch, rng):
    monkeypatch.setattr(krylov, "MOST_STEPS", 60)
    monkeypatch.setattr(of_pairs, "MOST_DENSE", 0)
    n = 300
    first = np.repeat(np.arange(n - 1), 100)
    pairs = matches(first, first + 1, rng.choice(["first", "second"], first.size))
    with pytest.raises(
        ValueError, match=r"300 variables were not solved in 60 steps.*smaller stand"
    ):
        fit_matches(pairs, utility_scale=50.0, order_effect=False)
    fit_matches(pairs, utility_scale=0.1, order_effect=False)


def graph(name, n, rng):
    """Matches of n items, with ties: first and second items, and outcomes."""
    m = 3 * n
    first = rng.integers(n, size=m)
    second = (first + rng.integers(1, n, size=m)) % n
    if name == "some items without a match":
        first, second = first // 2, n // 2 - 1 - second // 2
    elif name == "two parts":
        second = np.where(first < n // 2, second % (n // 2), n // 2 + second % (n - n // 2))
    elif name == "one item has all matches":
        first = np.zeros(m, dtype=int)
        second = 1 + rng.integers(n - 1, size=m)
    apart = first != second
    outcome = rng.choice(["first", "second", "tie"], m, p=[0.5, 0.3, 0.2])
    return first[apart], second[apart], outcome[apart]


GRAPHS = ("random", "some items without a match", "two parts", "one item has all matches")


def agree(n, name, monkeypatch, rng):
    """Fit matches with and without a dense matrix, and compare modes and covariances."""
    pairs = matches(*graph(name, n, rng), options={"items": range(n)})
    fits = []
    for most in (10**9, 0):
        monkeypatch.setattr(of_pairs, "MOST_DENSE", most)
        fits.append(fit_matches(pairs, utility_scale=2.0))
    dense, found = fits
    assert (type(dense.precision), type(found.precision)) == (Dense, Krylov)
    assert found.mode.size == n + 2
    np.testing.assert_allclose(found.mode, dense.mode, atol=1e-6)
    some = np.append(rng.choice(n, 8), [n, n + 1])
    unit = np.eye(n + 2)[:, some]
    np.testing.assert_allclose(found.precision.solve(unit), dense.precision.solve(unit), atol=1e-6)
    assert found.order_effect == pytest.approx(dense.order_effect, abs=1e-6)


@pytest.mark.parametrize("name", GRAPHS)
def test_many_items_have_the_mode_and_covariance_of_a_dense_matrix(name, monkeypatch, rng):
    agree(60, name, monkeypatch, rng)


@pytest.mark.slow
@pytest.mark.parametrize("name", GRAPHS)
def test_a_thousand_items_have_the_mode_and_covariance_of_a_dense_matrix(name, monkeypatch, rng):
    agree(1000, name, monkeypatch, rng)


def test_draws_of_many_items_have_the_spread_of_a_dense_matrix(monkeypatch, rng):
    pairs = matches(*graph("random", 30, rng), options={"items": range(30)})
    draws = []
    for most in (10**9, 0):
        monkeypatch.setattr(of_pairs, "MOST_DENSE", most)
        fit = fit_pairs(pairs, random_seed=1)["posterior"].to_dataset()
        draws.append(fit.stack(sample=("chain", "draw")))
    dense, found = draws
    n = dense.sizes["sample"]
    assert set(found.data_vars) == {"utility", "order_effect", "nu"}
    np.testing.assert_allclose(found["utility"].sum("item"), 0, atol=1e-12)
    for name in found.data_vars:
        a, b = (np.log(x[name]) if name == "nu" else x[name] for x in draws)
        sd = b.std("sample")
        assert (abs(a.mean("sample") - b.mean("sample")) < 5.5 * sd * np.sqrt(2 / n)).all()
        np.testing.assert_allclose(a.std("sample"), sd, rtol=5.5 / np.sqrt(n))


@pytest.mark.slow
def test_memory_is_linear_in_many_items(rng):
    n = 4_000
    first = rng.integers(n, size=n)
    second = (first + rng.integers(1, n, size=n)) % n
    pairs = matches(first, second, ["first"] * n, options={"items": range(n)})
    rankings = br.Rankings(
        np.argsort(rng.random((40, n)), axis=1)[:, :50], np.tile(np.arange(1, 51), (40, 1)),
        items=range(n),
    )  # fmt: skip
    for fit in (
        lambda: fit_pairs(pairs, draws=5, random_seed=1),
        lambda: br.fit_rankings(rankings, utility_scale=1.0, draws=5, random_seed=1),
    ):
        fit()  # compiles
        tracemalloc.start()
        fit()
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert peak < 8 * n * n / 2  # half of one dense matrix


def weak_orders(n_items, n_rankings, rng):
    """Rankings of up to 12 items in grades, some with few items, some items in none."""
    rows = []
    for _ in range(n_rankings):
        items = rng.permutation(n_items - 2)[: rng.integers(2, 13)]
        grade = rng.integers(4, size=items.size)
        rows.append([{int(i) for i in items[grade == g]} for g in range(4) if (grade == g).any()])
    return br.Rankings.from_orderings(rows, rest=(), items=range(n_items))


def agree_on_rankings(rankings, monkeypatch):
    """Fit rankings with and without a dense matrix, and compare modes and covariances."""
    nodes = []
    for most in (10**9, 0):
        monkeypatch.setattr(of_rankings, "MOST_DENSE", most)
        monkeypatch.setattr(per_item, "MOST_DENSE", most)
        problem = of_rankings._Utilities(rankings)
        nodes.append(problem.node(np.log(1.5), problem.node(0.0)))
    dense, found = nodes
    assert (type(dense.precision), type(found.precision)) == (Dense, Krylov)
    np.testing.assert_allclose(found.mode, dense.mode, atol=1e-6)
    unit = np.eye(rankings.n_items)[:, :20]
    np.testing.assert_allclose(found.precision.solve(unit), dense.precision.solve(unit), atol=1e-6)
    # random signs: at most an error of 0.6 nats for each root of an item, far above what is found
    error = abs(found.log_marginal - dense.log_marginal)
    assert error < 0.6 * np.sqrt(rankings.n_items)


def test_rankings_of_many_items_have_the_mode_and_covariance_of_a_dense_matrix(monkeypatch, rng):
    agree_on_rankings(weak_orders(40, 60, rng), monkeypatch)


@pytest.mark.slow
def test_rankings_of_a_thousand_items_have_those_of_a_dense_matrix(monkeypatch, rng):
    agree_on_rankings(weak_orders(1000, 1500, rng), monkeypatch)


def test_a_learned_scale_of_many_items_is_that_of_a_dense_matrix(monkeypatch, rng):
    rankings = weak_orders(30, 80, rng)
    found = []
    for most in (10**9, 0):
        monkeypatch.setattr(of_rankings, "MOST_DENSE", most)
        monkeypatch.setattr(per_item, "MOST_DENSE", most)
        found.append(br.fit_rankings(rankings, random_seed=1)["posterior"])
    dense, sparse = (np.log(x["utility_scale"]) for x in found)
    sd = float(dense.std())
    # the determinant is estimated, so the scale may be off by a part of its spread
    assert float(sparse.mean()) == pytest.approx(float(dense.mean()), abs=0.5 * sd)
    assert float(sparse.std()) == pytest.approx(sd, rel=0.3)


def agree_on_a_model(model, monkeypatch, rng):
    """Find inner Gaussians of `fit_inla` with and without dense matrices, and compare them."""
    monkeypatch.setattr(inner_gaussian, "ENOUGH", 1e-11)
    monkeypatch.setattr(nested, "FEW", 0)  # as with more variables, no differences of gradients
    names = learned_scales(model)
    logp, start = objective(model, random_seed=1)
    found = []
    for most in (10**9, 0):
        for module in (inner_gaussian, per_item):
            monkeypatch.setattr(module, "MOST_DENSE", most)
        joint = _joint(model, logp, start, names, [])
        assert joint.blocks is None
        near = joint.gaussian(np.zeros(len(names)))
        given = joint.gaussian(np.full(len(names), 0.2), near)
        found.append((given, joint.averaged(given)))
    (dense, moved), (sparse, moved_by_products) = found
    for given, form in zip((dense, moved, sparse, moved_by_products), "ddkk", strict=True):
        assert type(given.precision) is {"d": Dense, "k": Krylov}[form]
    np.testing.assert_allclose(sparse.x, dense.x, atol=1e-6)
    np.testing.assert_allclose(sparse.shift, dense.shift, atol=1e-5)
    right = rng.normal(size=(joint.latent.size, 3))
    expected = dense.precision.solve(right)
    np.testing.assert_allclose(sparse.precision.solve(right), expected, atol=1e-6)
    # the means nearest to the posterior are found from draws, which differ
    sd = np.sqrt(np.diag(dense.precision.solve(np.eye(joint.latent.size))))
    assert (abs(moved.x - moved_by_products.x)[joint.latent] < 0.5 * sd).all()
    assert np.isfinite(moved_by_products.log_marginal)


def test_the_inner_gaussian_of_many_items_is_that_of_a_dense_matrix(monkeypatch, rng):
    agree_on_a_model(br.ranking_model(weak_orders(12, 40, rng)), monkeypatch, rng)


@pytest.mark.slow
def test_the_inner_gaussian_of_many_players_is_that_of_a_dense_matrix(monkeypatch, rng):
    pairs = matches(*graph("random", 20, rng), options={"items": range(20)})
    agree_on_a_model(br.leaderboard_model(pairs), monkeypatch, rng)
