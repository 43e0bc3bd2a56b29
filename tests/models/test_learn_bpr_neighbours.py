"""LearnBPR of correlations: steps against the gradient of the objective, fits, arguments."""

import numpy as np
import pytest

from models.bpr.learn_bpr import NeighbourPenalties, learn_bpr_neighbours
from models.bpr.learn_bpr_kernels import step_neighbours
from models.bpr.neighbours import neighbour_utility
from tests.models.interactions import HAVE, log_sigmoid
from tests.oracles import gradient

BELOW = np.tril_indices(4, -1)
PENALTIES = NeighbourPenalties(0.3, 0.2, 0.1)


def parts(flat):
    """Correlations and biases of a flat vector of 6 + 4 numbers."""
    C = np.zeros((4, 4))
    C[BELOW] = flat[:6]
    return C + C.T, np.array(flat[6:])


def one_triple(flat, triple):
    """Objective of a triple by the definition."""
    (C, b), (u, i, j) = parts(flat), triple
    mine = [HAVE.items.get_loc(item) for item in HAVE.items_of(HAVE.users[u])]
    others = [other for other in mine if other != i]
    lead = b[i] + C[i, others].sum() - b[j] - C[j, mine].sum()
    positive, negative, bias = PENALTIES
    squares = positive * (C[i, others] ** 2).sum() + negative * (C[j, mine] ** 2).sum()
    return log_sigmoid(lead) - (squares + bias * (b[i] ** 2 + b[j] ** 2)) / 2


def move(flat, triple):
    """Take one step, and give what it added for a rate of one."""
    (C, b), (u, i, j) = parts(flat), triple
    mine = HAVE.item[HAVE.start[u] : HAVE.start[u + 1]]
    on = [np.full(4, x) for x in PENALTIES]
    step_neighbours(C, b, mine, np.uintp(i), np.uintp(j), *on, True, 1.0)
    np.testing.assert_array_equal(C, C.T)
    assert (np.diag(C) == 0).all()
    return np.concatenate([C[BELOW], b]) - flat


def test_the_mean_step_over_all_triples_is_the_gradient_of_the_whole_objective(rng):
    flat, triples = rng.normal(size=10), HAVE.all_triples()
    mean = np.mean([move(flat, t) for t in triples], axis=0)
    slope = gradient(lambda x: sum(one_triple(x, t) for t in triples), flat)
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
