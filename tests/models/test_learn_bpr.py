"""LearnBPR: steps of factors and of correlations follow the gradient of the objective."""

import numpy as np
import pandas as pd
import pytensor
import pytensor.tensor as pt
import pytest

from bayesrank.data import Interactions
from models.bpr.learn_bpr import (
    NeighbourPenalties,
    Penalties,
    learn_bpr_neighbours,
    prior_penalties,
)
from models.bpr.learn_bpr_kernels import draw_triple, step_factors, step_neighbours
from models.bpr.neighbours import neighbour_utility, symmetric_correlations
from tests.oracles import gradient

# Ann has a and c, Bo b, Cy a, b and d; Di has nothing
HAVE = Interactions.from_frame(
    pd.DataFrame({"user": ["Ann", "Ann", "Bo", "Cy", "Cy", "Cy"], "page": list("acbabd")}),
    user="user",
    item="page",
    users=["Ann", "Bo", "Cy", "Di"],
)


def log_sigmoid(x):
    return -np.logaddexp(0, -x)


SHAPES = [(4, 2), (4, 2), (4,)]  # W, H, b
N_PARAMETERS = 20


def parts(flat):
    """W, H and b of a flat vector."""
    pieces = np.split(np.asarray(flat, dtype=float), [8, 16])
    return [x.reshape(shape).copy() for x, shape in zip(pieces, SHAPES, strict=True)]


def one_triple(flat, triple, penalties):
    """Objective of a triple by the definition."""
    (W, H, b), (u, i, j) = parts(flat), triple
    user, positive, negative, bias = penalties
    lead = b[i] + W[u] @ H[i] - b[j] - W[u] @ H[j]
    squares = user * W[u] @ W[u] + positive * H[i] @ H[i] + negative * H[j] @ H[j]
    return log_sigmoid(lead) - (squares + bias * (b[i] ** 2 + b[j] ** 2)) / 2


def move(flat, triple, penalties, rate=1.0, biased=True):
    """Take one step, and give what it added for a rate of one."""
    fit = parts(flat)
    on = [np.full(4, x) if np.ndim(x) == 0 else np.asarray(x, float) for x in penalties]
    step_factors(*fit, *map(np.uintp, triple), *on, biased, rate)
    return (np.concatenate([x.ravel() for x in fit]) - flat) / rate


def test_a_step_is_that_of_the_formulas():
    # lead = 0.5 - 0 + 2 (1 - 3) = -3.5 for one factor, and g = sigmoid(3.5)
    W, H, b = np.array([[2.0]]), np.array([[1.0], [3.0]]), np.array([0.5, 0.0])
    on = [np.array([0.1]), np.array([0.2, 9]), np.array([9, 0.3]), np.array([0.4, 0.4])]
    step_factors(W, H, b, np.uintp(0), np.uintp(0), np.uintp(1), *on, True, 0.05)
    g = 1 / (1 + np.exp(-3.5))
    np.testing.assert_allclose(W, [[2 + 0.05 * (g * (1 - 3) - 0.1 * 2)]], rtol=1e-14)
    np.testing.assert_allclose(
        H, [[1 + 0.05 * (g * 2 - 0.2)], [3 + 0.05 * (-g * 2 - 0.3 * 3)]], rtol=1e-14
    )
    np.testing.assert_allclose(b, [0.5 + 0.05 * (g - 0.4 * 0.5), -0.05 * g], rtol=1e-14)


@pytest.mark.parametrize("evidence", [None, 3.5])
def test_with_prior_penalties_the_mean_step_climbs_the_log_posterior(rng, evidence):
    flat, scales = rng.normal(size=N_PARAMETERS), (0.7, 1.3, 0.4)
    triples, weight = HAVE.all_triples(), 6 if evidence is None else evidence
    user, item, bias = scales

    def log_posterior(x):
        W, H, b = parts(x)
        prior = (W[:3] ** 2).sum() / user**2 + (H**2).sum() / item**2 + (b**2).sum() / bias**2
        # Di is in no triple: nothing moves the factors, which start where the prior has its mode
        return weight * np.mean([one_triple(x, t, Penalties(0, 0, 0, 0)) for t in triples]) - (
            prior / 2
        )

    penalties = prior_penalties(
        HAVE, user_scale=user, item_scale=item, bias_scale=bias, evidence=evidence
    )
    mean = np.mean(
        [move(flat, (u, i, j), penalties) for u, i, j in triples],
        axis=0,
    )
    np.testing.assert_allclose(weight * mean, gradient(log_posterior, flat), atol=1e-8)


def test_the_triples_drawn_are_uniform_over_all():
    n, state = 100_000, np.array([1], dtype=np.uint64)
    where = HAVE.start, HAVE.user_idx, HAVE.item, HAVE.n_items, state
    drawn = np.array([draw_triple(*where) for _ in range(n)])
    listed, times = np.unique(drawn, axis=0, return_counts=True)
    np.testing.assert_array_equal(listed, HAVE.all_triples())
    np.testing.assert_allclose(times / n, 0.1, atol=5 * np.sqrt(0.09 / n))


BELOW = np.tril_indices(4, -1)
PENALTIES = NeighbourPenalties(0.3, 0.2, 0.1)


def correlations_of(flat):
    """Correlations and biases of a flat vector of 6 + 4 numbers."""
    C = np.zeros((4, 4))
    C[BELOW] = flat[:6]
    return C + C.T, np.array(flat[6:])


def one_triple_of_neighbours(flat, triple):
    """Objective of a triple by the definition."""
    (C, b), (u, i, j) = correlations_of(flat), triple
    mine = [HAVE.items.get_loc(item) for item in HAVE.items_of(HAVE.users[u])]
    others = [other for other in mine if other != i]
    lead = b[i] + C[i, others].sum() - b[j] - C[j, mine].sum()
    positive, negative, bias = PENALTIES
    squares = positive * (C[i, others] ** 2).sum() + negative * (C[j, mine] ** 2).sum()
    return log_sigmoid(lead) - (squares + bias * (b[i] ** 2 + b[j] ** 2)) / 2


def move_neighbours(flat, triple):
    """Take one step, and give what it added for a rate of one."""
    (C, b), (u, i, j) = correlations_of(flat), triple
    mine = HAVE.item[HAVE.start[u] : HAVE.start[u + 1]]
    on = [np.full(4, x) for x in PENALTIES]
    step_neighbours(C, b, mine, np.uintp(i), np.uintp(j), *on, True, 1.0)
    np.testing.assert_array_equal(C, C.T)
    assert (np.diag(C) == 0).all()
    return np.concatenate([C[BELOW], b]) - flat


def test_the_mean_step_over_all_triples_is_the_gradient_of_the_whole_objective(rng):
    flat, triples = rng.normal(size=10), HAVE.all_triples()
    mean = np.mean([move_neighbours(flat, t) for t in triples], axis=0)
    slope = gradient(lambda x: sum(one_triple_of_neighbours(x, t) for t in triples), flat)
    np.testing.assert_allclose(len(triples) * mean, slope, atol=1e-8)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_a_fit_is_symmetric_reproducible_and_read_as_the_graph_reads_it(dtype):
    one, again = (learn_bpr_neighbours(HAVE, dtype=dtype, seed=3) for _ in range(2))
    np.testing.assert_array_equal(one.correlation, again.correlation)
    np.testing.assert_array_equal(one.correlation, one.correlation.T)
    assert (np.diag(one.correlation) == 0).all()
    assert one.correlation.dtype == one.item_bias.dtype == dtype
    have = HAVE.to_matrix()
    graph = neighbour_utility(one.correlation, have, item_bias=one.item_bias).eval()
    np.testing.assert_allclose(one.utility(have), graph, rtol=1e-5)
    other = learn_bpr_neighbours(HAVE, dtype=dtype, seed=4)
    assert (one.correlation != other.correlation).any()


def by_definition(flat):
    """Utilities: the bias, and the correlations with the other items that a user has."""
    C, b = correlations_of(flat)
    return b + HAVE.to_matrix().astype(float) @ C


# a large product: without BLAS, as the C backend may be, it is not meant to run
@pytest.mark.parametrize("mode", ["FAST_COMPILE", "JAX"])
def test_an_item_is_worth_what_the_other_items_of_the_user_say(rng, mode):
    below, bias = pt.dvector("below"), pt.dvector("bias")
    utility = neighbour_utility(symmetric_correlations(below, 4), HAVE.to_matrix(), item_bias=bias)
    wrt = [below, bias]
    f = pytensor.function(wrt, [utility, *pt.grad(pt.sum(utility**2), wrt)], mode=mode)
    point = rng.normal(size=10)
    value, *slopes = (np.asarray(x) for x in f(point[:6], point[6:]))
    np.testing.assert_allclose(value, by_definition(point), rtol=1e-12)
    numeric = gradient(lambda x: float(np.sum(by_definition(x) ** 2)), point)
    np.testing.assert_allclose(np.concatenate(slopes), numeric, rtol=1e-6, atol=1e-8)
