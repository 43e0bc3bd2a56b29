"""LearnBPR: its triples, its steps against the gradient of the whole objective, its arguments."""

import numpy as np
import pytest

from models.bpr.learn_bpr import Penalties, learn_bpr, prior_penalties
from models.bpr.learn_bpr_kernels import draw_triple, step_factors
from tests.models.interactions import HAVE, log_sigmoid
from tests.oracles import gradient

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


# Fits


def test_of_biases_alone_it_finds_the_mode():
    triples, scale = HAVE.all_triples(), 0.8
    penalties = prior_penalties(HAVE, user_scale=1, item_scale=1, bias_scale=scale)
    b = learn_bpr(
        HAVE, n_factors=0, n_epochs=300_000, learning_rate=0.002, last_rate=0.0,
        penalties=penalties, dtype="float64",
    ).item_bias  # fmt: skip

    def log_posterior(b):
        lead = b[triples[:, 1]] - b[triples[:, 2]]
        return 6 * np.mean(log_sigmoid(lead)) - b @ b / 2 / scale**2

    np.testing.assert_allclose(gradient(log_posterior, b), 0, atol=0.01)
    assert np.ptp(b) > 0.3
